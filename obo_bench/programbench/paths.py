"""Where the files of one instance lie, and how an attempt is set aside."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.ledger import LEDGER_NAME
from obo_bench.gateway.checkpoint import CHECKPOINT_NAME

_KEPT = frozenset({LEDGER_NAME, "attempts"})


@dataclass(frozen=True)
class InstancePaths:
    """The files of one instance below its run root."""

    run_root: Path
    """The run."""
    instance_id: str
    """The instance."""

    @property
    def directory(self) -> Path:
        """The instance's directory."""
        return self.run_root / self.instance_id

    @property
    def workspace(self) -> Path:
        """The agent's workspace."""
        return self.directory / "workspace"

    @property
    def submission(self) -> Path:
        """The archive that is graded."""
        return self.directory / "submission.tar.gz"

    @property
    def instruction(self) -> Path:
        """The instruction as sent."""
        return self.directory / "instruction.txt"

    @property
    def body(self) -> Path:
        """The task body as sent."""
        return self.directory / "ouroboros_task_body.json"

    @property
    def checkpoint(self) -> Path:
        """The task checkpoint."""
        return self.directory / CHECKPOINT_NAME

    @property
    def result(self) -> Path:
        """The server's final record."""
        return self.directory / "ouroboros_task_result.json"

    def outputs(self) -> dict[str, str]:
        """Return the files that exist, relative to the run root, for the ledger."""
        named = {
            "submission": self.submission,
            "workspace": self.workspace,
            "task_body": self.body,
            "task_result": self.result,
        }
        return {name: str(path.relative_to(self.run_root)) for name, path in named.items() if path.exists()}

    def set_attempt_aside(self, attempt: int) -> None:
        """Move everything of an earlier attempt to `attempts/NN`, so that nothing that happened is lost."""
        if not self.directory.exists():
            return
        moved = [path for path in self.directory.iterdir() if path.name not in _KEPT and not path.name.startswith(".")]
        if not moved:
            return
        place = _unused(self.directory / "attempts" / f"{attempt:02d}")
        place.mkdir(parents=True)
        for path in moved:
            shutil.move(path, place / path.name)


def _unused(place: Path) -> Path:
    candidate, number = place, 2
    while candidate.exists():
        candidate, number = place.with_name(f"{place.name}-{number}"), number + 1
    return candidate
