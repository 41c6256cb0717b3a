"""A solved run as the product leaves it, made with its own seam, packaging and ledger, without a container."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from obo_bench.core.admission import AdmissionRequest, SeedDemands
from obo_bench.core.ledger import Row
from obo_bench.core.session import Session, benchmark_session
from obo_bench.programbench.admission.order import InstanceOrder, write_order
from obo_bench.programbench.packaging.submission import package_workspace
from obo_bench.programbench.paths import InstancePaths

CMATRIX = "abishekvashok__cmatrix.5c082c6"
ZOXIDE = "ajeetdsouza__zoxide.67ca1bc"
CHROMA = "alecthomas__chroma.8d04def"


@contextmanager
def run_session(root: Path, instance_ids: Sequence[str], **fields: Any) -> Iterator[Session]:
    """An invocation of `programbench run`; its manifest names the instances."""
    request = AdmissionRequest(
        benchmark="programbench",
        command="programbench run",
        run_root=root,
        repo_dir=None,
        settings_path=None,
        argv=["obo-bench"],
        seed=SeedDemands(gated=False),
        fields={"requested_task_ids": list(instance_ids), "requested_count": len(instance_ids), **fields},
    )
    with benchmark_session(request) as session:
        session.gates_passed()
        yield session


def solved_run(root: Path, programs: Mapping[str, str | None], *, nonce: str = "0011aabb") -> Path:
    """Leave a run with a submission that builds each program (the text of a script); None stands for a failure."""
    with run_session(root, list(programs)) as session:
        write_order(root, InstanceOrder(run_nonce=nonce, instance_ids=list(programs), admitted={}))
        for instance_id, program in programs.items():
            solve(session, instance_id, program)
    return root


def solve(
    session: Session, instance_id: str, program: str | Mapping[str, tuple[bytes, int]] | None, *, attempt: int = 1
) -> Row:
    """Leave the files and the row of one attempt, whose tree is the program or files with their modes."""
    paths = InstancePaths(session.run_root, instance_id)
    paths.workspace.mkdir(parents=True, exist_ok=True)
    row = {
        "benchmark": "programbench",
        "instance_id": instance_id,
        "attempt": attempt,
        "cost": {"usd": 0.5, "final": True},
        "details": {"task_id": f"obo-{instance_id}-{attempt}", "infrastructure": False},
    }
    if program is None:
        return session.ledger.append(Row(status="failed", reason_code="task_not_completed", **row))
    build = b"#!/bin/sh\ncp program.sh executable\nchmod +x executable\n"
    files = (
        program
        if not isinstance(program, str)
        else {"program.sh": (program.encode(), 0o755), "compile.sh": (build, 0o755)}
    )
    for name, (data, mode) in files.items():
        (paths.workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (paths.workspace / name).write_bytes(data)
        (paths.workspace / name).chmod(mode)
    record = package_workspace(paths.workspace, paths.directory)
    return session.ledger.append(
        Row(
            status="completed",
            reason_code="submission_prepared",
            prediction_written=True,
            submission_sha256=record.sha256,
            output_paths=paths.outputs(),
            **row,
        )
    )
