"""Replays recorded evaluations: a package that does what the official one did is put first on the search path."""

import json
import os
import shutil
from importlib import metadata
from pathlib import Path

from tests.eval_samples import plan_of, sample
from tests.graded_cases.cases import BY_NAME, CASES, GradedCase
from tests.graded_cases.evaluating import Rows, evaluate, pack

_CONSTANTS = """from pathlib import Path

DOCKER_ORG = "programbench"
TASKS_DIR = Path(__file__).parent / "data" / "tasks"
"""
_CLIENT = "#!/bin/sh\nexit 0\n"
KILLED, RERUN = BY_NAME["killed-sigterm"], BY_NAME["killed-then-rerun"]
SOURCE = {"./compile.sh": (b"#!/bin/sh\nexit 0\n", 0o755)}


def replay(work: Path) -> Rows:
    """Replay every case through the real evaluation of a run root below `work`; return the summary's rows.

    In the place of each result lies an old one with a full score, as a stale file does.
    """
    package, run_root = work / "package", work / "run"
    environ = write_package(package)
    submissions = {case.instance_id: _submit(run_root, case) for case in CASES}
    for case in CASES:
        put_stale(run_root, case.instance_id)
    _write_record(package, RERUN, KILLED)
    rows = evaluate(run_root, environ, submissions, workers=8)
    if rows[RERUN.instance_id].reason != KILLED.reason:
        raise AssertionError(f"the first evaluation of {RERUN.name} was not killed: {rows[RERUN.instance_id]}")
    _write_record(package, RERUN, RERUN)
    again = {RERUN.instance_id: submissions[RERUN.instance_id]}
    return rows | evaluate(run_root, environ, again, invocation="again")


def put_stale(run_root: Path, instance_id: str) -> None:
    """Put an old result with a full score where the evaluator writes its own."""
    shutil.copy(sample("correct"), run_root / instance_id / f"{instance_id}.eval.json")


def write_package(top: Path) -> dict[str, str]:
    """Write the replaying package with the records of all cases; return the environment that leads to it."""
    package = top / "programbench"
    (package / "cli").mkdir(parents=True)
    version = metadata.version("programbench")
    (package / "__init__.py").write_text(f"__version__ = {version!r}\n", encoding="utf-8")
    (package / "constants.py").write_text(_CONSTANTS, encoding="utf-8")
    (package / "cli" / "__init__.py").touch()
    shutil.copy(Path(__file__).with_name("replaying_main.py"), package / "cli" / "main.py")
    for case in CASES:
        task = package / "data" / "tasks" / case.instance_id
        task.mkdir(parents=True)
        (task / "task.yaml").write_text("language: c\n", encoding="utf-8")
        (task / "tests.json").write_text(json.dumps(plan_of(case.name)), encoding="utf-8")
        _write_record(top, case, case)
    client = top / "docker"
    client.write_text(_CLIENT, encoding="utf-8")
    client.chmod(0o755)
    blobs = {"PROGRAMBENCH_BLOB_DIR": str(top / "no-blobs"), "PROGRAMBENCH_DOCKER_EXECUTABLE": str(client)}
    return {"PATH": os.environ["PATH"], "HOME": str(top), "PYTHONPATH": str(top), **blobs}


def _write_record(top: Path, case: GradedCase, record: GradedCase) -> None:
    """Let the instance of `case` end as `record` did."""
    records = top / "programbench" / "records"
    records.mkdir(exist_ok=True)
    ending = {"exit_status": record.exit_status, "exception": record.exception, "said": record.said}
    (records / f"{case.instance_id}.json").write_text(json.dumps(ending), encoding="utf-8")
    if sample(record.name).exists():
        shutil.copy(sample(record.name), records / f"{case.instance_id}.eval.json")


def _submit(run_root: Path, case: GradedCase) -> str | None:
    if case.name == "empty-directory":
        (run_root / case.instance_id).mkdir(parents=True)
        return None
    return pack(run_root, case.instance_id, b"random bytes" if case.name == "corrupt-archive" else SOURCE)
