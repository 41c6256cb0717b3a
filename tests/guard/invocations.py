"""How the recorded commands are started by the guards: good arguments, and a world in which nothing is."""

import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.parity.command_lines import IID, command_line, good_values

NOBODY = "http://127.0.0.1:9"
"""Address of a server that is not there: nothing may be asked of it before admission anyway."""
ROOTS = {
    "attest": "attest/r",
    "campaign resume": "campaign/r",
    "campaign run": "campaign/r",
    "exec": "demo/r",
    "gate": "programbench/r/gate",
    "prepare": f"programbench/r/{IID}",
    "swe-bench-pro": "grade/r",
}
"""Below the runs root, by command: the directory that it locks and writes, if not the run's."""
READS = {
    "export": ("--source-run-id",),
    "prepare": ("--workspace",),
    "swe-bench-pro": ("--predictions", "--raw-sample", "--summary"),
}
"""By command: options that name what it reads, or writes beside its run root; confinement resolves their links."""


@dataclass(frozen=True)
class World:
    """The directories of one invocation."""

    base: Path
    """Everything lies below it; symbolic links resolved."""

    @property
    def checkout(self) -> Path:
        """What --repo-dir names."""
        return self.base / "workspace" / "ouroboros"

    @property
    def runs(self) -> Path:
        """What --runs-root names."""
        return self.base / "runs"

    @property
    def elsewhere(self) -> Path:
        """The current directory."""
        return self.base / "elsewhere"

    def run_root(self, command: str) -> Path:
        """Return where a command writes."""
        return self.runs / ROOTS.get(command, ROOTS.get(verb(command), "programbench/r"))

    def manifest(self, command: str) -> Path:
        """Return the manifest of a command."""
        below = "eval" if verb(command) == "eval" else ""
        return self.run_root(command) / below / "run_manifest.json"

    def reads(self, command: str) -> list[Path]:
        """Return what a command names beside its run root, as confinement sees it."""
        values = good_values(self.checkout, self.runs, NOBODY)
        return [self.runs / "programbench" / (values[name] or "") for name in READS.get(verb(command), ())]

    def arguments(self, command: str, *more: str) -> list[str]:
        """Return the command line of a recorded command; what it would read is not there."""
        line = command_line(command, good_values(self.checkout, self.runs, NOBODY))
        # What follows a launcher's name is the launcher's.
        return [*line[:-1], *more, line[-1]] if command == "exec" else [*line, *more]

    def prepare(self) -> "World":
        """Make the directories; the checkout is a file system of no use to anybody who looks into it."""
        self.elsewhere.mkdir(parents=True)
        (self.checkout / ".git").mkdir(parents=True)
        (self.checkout / "VERSION").write_text("6.75.0\n")
        (self.checkout.parent / "data").mkdir()
        (self.checkout.parent / "data" / "settings.json").write_text("{}")
        return self

    def environment(self) -> dict[str, str]:
        """Return the environment: the caller's, without what names other places; byte code is not written."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("OUROBOROS_", "PYTHON"))}
        return kept | {"PYTHONDONTWRITEBYTECODE": "1"}

    def start(self, argv: Sequence[str], cwd: Path | None = None) -> "subprocess.CompletedProcess[str]":
        """Run a program in this world."""
        return subprocess.run(
            list(argv),
            cwd=cwd or self.elsewhere,
            env=self.environment(),
            capture_output=True,
            text=True,
            errors="replace",
            timeout=120,
            check=False,
        )


def verb(command: str) -> str:
    """Return the last word of a command's name."""
    return command.rpartition(" ")[2]


def python(*options: str) -> list[str]:
    """Return the interpreter that runs the tests; the current directory stays out of its search path."""
    return [sys.executable, "-P", *options]
