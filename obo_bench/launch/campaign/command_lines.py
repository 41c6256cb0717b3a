"""What a plan is held against."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol


class CommandLines(Protocol):
    """What the real command line says; handed in by whoever knows it."""

    def options(self, command: str) -> Mapping[str, bool]:
        """Return a command's options and arguments by name, `ids_file` for --ids-file: whether it takes no value."""

    def complaint(self, command: str, arguments: Sequence[str]) -> str | None:
        """Return what its parser has against these arguments; None when it takes them."""

    def wrong_values(
        self, kind: str, options: Mapping[str, Any], directory: Path, *, whole: bool
    ) -> list[tuple[str, str]]:
        """Return the options whose values its command would refuse before anything is started, each with the reason.

        What they ask for together is looked at only where they are all of the step's: `whole`.
        """

    def task_ids(self, kind: str, options: Mapping[str, Any], directory: Path) -> list[str] | None:
        """Return the ids that a step with these options asks for; None where that is not known beforehand."""
