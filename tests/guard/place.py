"""Where the walk is, and what is allowed there."""

import ast
from dataclasses import dataclass

from tests.guard import seam
from tests.guard.findings import Frame
from tests.guard.source import Scope


@dataclass(frozen=True)
class Place:
    """Where the walk is."""

    scope: Scope
    """The names that hold there."""
    acts: frozenset[str] = frozenset()
    """Calls that are allowed there, as spelled in the source."""
    in_seam: bool = False
    """Whether the seam has been entered."""
    building: bool = True
    """Whether the mention of a class may build an instance; not so in annotations, bases and type tests."""
    permitted: bool = False
    """Whether the call at hand is one of the acts."""
    typing: bool = False
    """Whether only types are named there, which is harmless for types of anybody."""


def keeps_seam(qualname: str, place: Place) -> bool:
    """Say whether what is called here may do its first acts: one that has such acts only where it is named."""
    return place.in_seam and (place.permitted or qualname not in seam.FIRST_ACTS or qualname in seam.ALWAYS)


def frame_of(node: ast.AST, place: Place) -> Frame:
    """Return the place of a node in the source."""
    return Frame(place.scope.module.file, getattr(node, "lineno", 1))
