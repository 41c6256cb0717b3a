"""What a stand-in gateway is told at its start; nothing of it changes while it runs."""

import re
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.refusals import UsageError
from obo_bench.practice.standin.faults import Fault
from obo_bench.practice.standin.scenarios import SCENARIOS

HIGHEST_PORT = 65535
"""The last port there is."""

TASK_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,127}")
"""The shape of a task id, matched over its whole length."""

TASK_ID_ERROR = "task_id must match [A-Za-z0-9][A-Za-z0-9_.-]{0,127}"
"""The answer to any other id."""

_COUNTS = (
    "workers", "port", "start_delay_sec", "solve_delay_sec", "answer_delay_sec", "finalize_delay_sec",
    "orphan_delay_sec",
)  # fmt: skip


@dataclass(frozen=True)
class StandInConfig:
    """The settings of one stand-in; delays are seconds."""

    repo_dir: Path
    """The checkout it pretends to run from; `/api/health` shows the first line of its VERSION file."""
    data_dir: Path
    """Where all state lives; `tasks.jsonl` in it holds one line for each task that was accepted."""
    host: str = "127.0.0.1"
    """The address to listen on."""
    port: int = 0
    """The wanted port; 0 takes any free one, a busy one gives the next free one of the nine above it."""
    workers: int = 2
    """Tasks that run at once; 0 behaves like a server without a model provider."""
    version: str | None = None
    """Shown instead of the checkout's version."""
    scenario: str = "solved"
    """How every task ends: a name of `SCENARIOS`."""
    start_delay_sec: float = 0.0
    """Time until tasks are accepted; until then POST answers 503."""
    solve_delay_sec: float = 0.0
    """The least time that a task stays `running`."""
    answer_delay_sec: float = 0.0
    """Time between the admission of a task and the answer to the client that posted it."""
    finalize_delay_sec: float = 0.3
    """The least time that a task is shown as `finalizing`."""
    orphan_delay_sec: float = 1.0
    """Time after a start until tasks that a killed server left `running` are declared failed."""
    network_password: str | None = None
    """What remote clients must show; None asks nobody."""
    model: str = "practice::scripted-solver"
    """What the model slots of `/api/settings` hold."""
    sha: str = ""
    """The commit that `/api/state` shows; real servers often leave it empty."""
    sees_host_files: bool = True
    """False for a server in a sandbox or on another host, for which no workspace of ours exists."""

    faults: tuple[Fault, ...] = ()
    """What goes wrong from the start; more can be asked for while it runs."""
    seed: int = 0
    """Decides which requests and tasks the faults with a probability strike."""
    keep_waiting: bool = False
    """Tasks that waited when the server was killed run after its next start, as from 6.102 on; 6.75 loses them."""

    def check(self) -> None:
        """Raise UsageError for a scenario or port that does not exist, and for counts and delays below zero."""
        if self.scenario not in SCENARIOS:
            known = ", ".join(SCENARIOS)
            raise UsageError(f"scenario {self.scenario!r} is not known to the stand-in server; choose one of: {known}")
        for name in _COUNTS:
            if getattr(self, name) < 0:
                raise UsageError(f"{name} is {getattr(self, name)!r}, below zero; give zero or more")

        if self.port > HIGHEST_PORT:
            raise UsageError(f"port {self.port} does not exist; give one up to {HIGHEST_PORT}, or 0 for any free one")

    def runtime_version(self) -> str:
        """Return the version to show; raises UsageError when the checkout's VERSION cannot be read or is empty."""
        if self.version is not None:
            return self.version
        path = self.repo_dir / "VERSION"
        try:
            with path.open(encoding="utf-8", errors="replace") as stream:
                first = stream.readline(200).strip()
        except OSError as error:
            raise UsageError(f"{path} cannot be read ({error.strerror}); name a checkout that has it") from error
        if not first:
            raise UsageError(f"{path} holds no version on its first line; write one there")
        return first
