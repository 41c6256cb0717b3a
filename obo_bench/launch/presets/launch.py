"""What a preset is told about one start of a launcher."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Extent:
    """What a file held before the launcher was started."""

    size: int
    """Bytes."""
    sha256: str
    """Hash of those bytes, in hexadecimal."""


@dataclass(frozen=True)
class Launch:
    """One start of a launcher: its command and the circumstances that its results are judged by."""

    command: tuple[str, ...]
    """The launcher's program and arguments."""
    cwd: Path
    """The directory it runs in; relative paths of its arguments begin there."""
    task_ids: tuple[str, ...] = ()
    """Ids that the operator named beside the command."""
    started_at_unix: float = 0.0
    """Wall-clock seconds at which it was started; a result that is older is not one of this start."""
    already: Mapping[Path, Extent] = field(default_factory=dict)
    """What its result files held before, as `Preset.extents` found it: lines of this part are not of this start."""

    def options(self, *names: str) -> list[str]:
        """Return each value that the command gives to an option of one of these names, in order.

        `--name VALUE` and `--name=VALUE` are read; the words of a wrapper before the launcher are passed over.
        """
        found: list[str] = []
        for word, following in zip(self.command, (*self.command[1:], None), strict=True):
            name, sign, value = word.partition("=")
            if name in names and sign:
                found.append(value)
            elif word in names and following is not None:
                found.append(following)
        return found

    def option(self, *names: str) -> str | None:
        """Return the value that counts: the last one, as command line parsers take it; None when there is none."""
        return next(reversed(self.options(*names)), None)

    def path(self, *names: str) -> Path | None:
        """Return the place that an option names, made absolute; None when the command does not have it."""
        value = self.option(*names)
        return self.cwd / value if value else None
