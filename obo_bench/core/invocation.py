"""What the command line of this process says beside the values themselves: where each comes from, and `--explain`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from obo_bench.core.admission import AdmissionRequest


@dataclass(frozen=True)
class Invocation:
    """The command that this process runs; empty where the core is used as a library."""

    origins: Mapping[str, str] = field(default_factory=dict)
    """By option: `flag`, `argument`, `environment NAME`, `settings` (the server's settings decide) or `default`."""
    explain: bool = False
    """Whether the operator only wants to know what would be asked for."""


class Explained(Exception):
    """Raised instead of an admission where the operator only asked what it would be of."""

    def __init__(self, request: "AdmissionRequest") -> None:
        super().__init__(f"{request.command} was to be explained, not run")
        self.request = request


_current: list[Invocation] = []


def begin(invocation: Invocation) -> None:
    """Set what is known of the command that is about to run."""
    _current[:] = [invocation]


def origins() -> dict[str, str]:
    """Return where the values of the command come from."""
    return dict(_current[0].origins) if _current else {}


def explain_instead(request: "AdmissionRequest") -> None:
    """Raise Explained where the operator asked for an explanation: nothing has been touched yet."""
    if _current and _current[0].explain:
        raise Explained(request)
