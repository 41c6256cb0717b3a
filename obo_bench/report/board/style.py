"""How the board looks: its signs, its colours, and which columns fit."""

from collections.abc import Mapping
from dataclasses import dataclass

from obo_bench.core.run_changes import Phase
from obo_bench.report.board.cells import can_draw


@dataclass(frozen=True)
class Signs:
    """The signs that are no letters."""

    full: str
    """Done part of a bar."""
    empty: str
    """The rest of it."""
    dot: str
    """Between two facts of a line."""
    more: str
    """Where something is cut."""


PRETTY = Signs(full="━", empty="─", dot="·", more="…")
ASCII = Signs(full="#", empty="-", dot="|", more="~")

PHASE_STYLES: Mapping[Phase, str] = {
    Phase.WAITING: "dim",
    Phase.WORKER: "dim",
    Phase.RUNNING: "cyan",
    Phase.SETTLING: "blue",
    Phase.PACKAGING: "blue",
    Phase.EVALUATION: "magenta",
}
"""Phases that are not shown like plain text."""

OUTCOME_STYLES: Mapping[str, str] = {
    "completed": "green",
    "pass": "green",
    "failed": "red",
    "fail": "red",
    "blocked": "yellow",
    "ungraded": "yellow",
    "not_attempted": "yellow",
}
"""Outcomes that catch the eye."""


def signs_for(encoding: str) -> Signs:
    """Return signs that an encoding has."""
    return PRETTY if can_draw(encoding, f"{PRETTY.full}{PRETTY.empty}{PRETTY.dot}{PRETTY.more}") else ASCII
