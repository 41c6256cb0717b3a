"""Recorded runs in the states in which an operator meets them, made of the product's own documents."""

import hashlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from obo_bench.core.files import write_json
from obo_bench.core.ledger import Ledger, Row
from obo_bench.core.redact import Redactor
from obo_bench.gateway.checkpoint import CheckpointFile, TaskCheckpoint
from obo_bench.programbench.paths import InstancePaths

IDS = ("a__done.0000001", "b__live.0000002", "c__lost.0000003", "d__new.0000004")
NOWHERE = "http://127.0.0.1:9"
"""Nobody listens on the discard port."""
_HOLD = (
    "import sys, time\n"
    "from pathlib import Path\n"
    "from obo_bench.core.lock import RunLock\n"
    "lock = RunLock(Path(sys.argv[1]), sys.argv[2])\n"
    "lock.acquire()\n"
    "print('held', flush=True)\n"
    "time.sleep(600)\n"
)


class RecordedCase:
    """One run root below a runs root."""

    def __init__(self, runs_root: Path, name: str = "r", ids: Sequence[str] = IDS, url: str = NOWHERE) -> None:
        self.runs_root, self.ids, self.url = runs_root, list(ids), url
        self.root = runs_root / "programbench" / name
        self.root.mkdir(parents=True)
        self.invocation = f"{name}-1"
        self.created = time.time()
        write_json(self.root / "instance_order.json", {"run_nonce": "0011aabb", "instance_ids": self.ids})
        self.manifest()

    def manifest(self, outcome: str = "started", **changes: Any) -> None:
        extra = {"outcome": outcome, "exit_code": None if outcome == "started" else 1, **changes.pop("extra", {})}
        write_json(
            self.root / "run_manifest.json",
            {
                "schema": "ouroboros.benchmark.run_manifest.v1",
                "benchmark": "programbench",
                "command": "programbench run",
                "invocation": self.invocation,
                "created_at_unix": self.created,
                "run_root": str(self.root),
                "requested_task_ids": self.ids,
                "requested_count": len(self.ids),
                "argv": ["obo-bench", "programbench", "run", "--slice", "0:4"],
                "harness": {"ouroboros_url": self.url, "solve_model": "m", "workers": 2, "retry": []},
                "source": {"repo_dir": "/srv/ouroboros"},
                "extra": extra,
                **changes,
            },
        )

    def row(self, name: str, status: Any, reason: str, *, invocation: str = "", **fields: Any) -> None:
        (self.root / name).mkdir(exist_ok=True)
        row = Row(benchmark="programbench", instance_id=name, status=status, reason_code=reason, **fields)
        Ledger(self.root, invocation or self.invocation, Redactor()).append(row)

    def done(self, name: str, **fields: Any) -> None:
        paths = InstancePaths(self.root, name)
        paths.directory.mkdir(exist_ok=True)
        paths.submission.write_bytes(b"archive")
        digest = hashlib.sha256(b"archive").hexdigest()
        self.row(name, "completed", "submission_prepared", submission_sha256=digest, **fields)

    def task(self, name: str, status: str, **fields: Any) -> str:
        paths = InstancePaths(self.root, name)
        paths.directory.mkdir(exist_ok=True)
        made = TaskCheckpoint(task_id=f"obo-0011aabb-{name}-1", status=status, container=f"room-{name}", **fields)
        CheckpointFile(paths.checkpoint).write(made)
        return made.task_id

    @contextmanager
    def held(self, invocation: str = "", where: Path | None = None) -> Iterator[int]:
        """A process that holds the run's lock; gives its number."""
        holder = subprocess.Popen(
            [sys.executable, "-c", _HOLD, str(where or self.root), invocation or self.invocation],
            stdout=subprocess.PIPE,
            env=os.environ,
        )
        try:
            assert holder.stdout is not None
            assert holder.stdout.readline() == b"held\n"
            yield holder.pid
        finally:
            holder.kill()
            holder.communicate()


def snapshot(root: Path) -> dict[str, str]:
    """What a directory holds, with the times of its files: nothing of it may change by being looked at."""
    found = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        found[str(path.relative_to(root))] = f"{status.st_mode} {status.st_mtime_ns} {content}"
    return found


def document(path: Path) -> dict[str, Any]:
    value = json.loads(path.read_text())
    assert isinstance(value, dict)
    return value
