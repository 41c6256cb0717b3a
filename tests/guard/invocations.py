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
BELOW_THE_RUN = {"prepare": IID, "eval": "eval", "gate": "gate"}
"""By command: where in a run's directory it writes its manifest, if not in the directory itself."""


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
        """Return where a command writes its manifest."""
        verb = command.rsplit(maxsplit=1)[-1]
        return self.runs / ("attest" if verb == "attest" else "programbench") / "r" / BELOW_THE_RUN.get(verb, "")

    def arguments(self, command: str, *more: str) -> list[str]:
        """Return the command line of a recorded command; what it would read is not there."""
        return [*command_line(command, good_values(self.checkout, self.runs, NOBODY)), *more]

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


def python(*options: str) -> list[str]:
    """Return the interpreter that runs the tests; the current directory stays out of its search path."""
    return [sys.executable, "-P", *options]
