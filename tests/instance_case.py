"""One instance of a run as its files and its server show it, and what a resume would do with it."""

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from obo_bench.core.ledger import Ledger, Row
from obo_bench.core.redact import Redactor
from obo_bench.gateway.checkpoint import CheckpointFile, TaskCheckpoint
from obo_bench.gateway.client import GatewayClient
from obo_bench.programbench.options import RunOptions
from obo_bench.programbench.paths import InstancePaths
from obo_bench.programbench.solving.decision import Decision, decide
from obo_bench.programbench.solving.spending import Spending
from tests.task_server import TaskServer, task_server

IID = "a__b.0000001"


class Case:
    """One instance of a run, and the server that its task is at."""

    def __init__(self, root: Path, server: TaskServer) -> None:
        self.server = server
        self.paths = InstancePaths(root, IID)
        self.paths.directory.mkdir(parents=True)
        self.options = RunOptions(repo_dir=root, run_root=root, settings_path=root)
        self.client = GatewayClient(server.url, deadline_sec=5)
        self.ceiling_usd: float | None = None

    def row(self, status: Any, reason: str, attempt: int = 1, sha256: str = "", **details: Any) -> None:
        Ledger(self.paths.run_root, "test", Redactor()).append(
            Row(
                benchmark="programbench", instance_id=IID, status=status, reason_code=reason, attempt=attempt,
                submission_sha256=sha256, details=details,
            )
        )  # fmt: skip

    def done(self, content: bytes = b"archive", **details: Any) -> None:
        self.paths.submission.write_bytes(content)
        self.row("completed", "submission_prepared", sha256=hashlib.sha256(content).hexdigest(), **details)

    def task(self, status: str = "running", attempt: int = 1, **fields: Any) -> None:
        task = TaskCheckpoint(task_id=f"t-{attempt}", attempt=attempt, status=status, **fields)
        CheckpointFile(self.paths.checkpoint).write(task)

    def decide(self, *retry: str, redo: bool = False) -> Decision:
        options = replace(self.options, retry=retry, redo_existing=redo)
        context = SimpleNamespace(
            paths=partial(InstancePaths, self.paths.run_root),
            options=options,
            gateway=self.client,
            spending=Spending(ceiling_usd=self.ceiling_usd, client=self.client),
        )
        return decide(cast("Any", context), IID)

    def step(self, *retry: str, redo: bool = False) -> tuple[str, int]:
        decision = self.decide(*retry, redo=redo)
        return decision.step.value, decision.attempt


@contextmanager
def instance_case(root: Path) -> Iterator[Case]:
    with task_server() as server:
        made = Case(root, server)
        yield made
        made.client.close()
