"""Runs our evaluation of a run root and returns what it makes of it."""

import io
import os
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from obo_bench.core.files import sha256_file
from obo_bench.core.reporter import SilentReporter
from obo_bench.programbench.evaluation.evaluation_request import EvaluationRequest
from obo_bench.programbench.evaluation.evaluator import evaluate_submissions
from obo_bench.programbench.evaluation.grade_summary import InstanceGrade

Files = Mapping[str, tuple[bytes, int]]
"""Relative path to content and mode; mode 0 makes a link to the content."""
Rows = dict[str, InstanceGrade]

LABELS = {"obo-bench.run": f"cases-{os.getpid()}", "obo-bench.role": "evaluator"}


def pack(run_root: Path, instance_id: str, files: Files | bytes, *, owner: int = 0, top: bool = True) -> str:
    """Write the archive of a submission, or `files` as it is, and return its SHA-256."""
    path = run_root / instance_id / "submission.tar.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    if isinstance(files, bytes):
        path.write_bytes(files)
        return sha256_file(path)
    with tarfile.open(path, "w:gz") as archive:
        if top:
            entry = _member("./", owner, 0o755)
            entry.type = tarfile.DIRTYPE
            archive.addfile(entry)
        for name, (content, mode) in files.items():
            member = _member(name, owner, mode)
            if mode == 0:
                member.type, member.linkname = tarfile.SYMTYPE, content.decode()
                archive.addfile(member)
                continue
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return sha256_file(path)


def _member(name: str, owner: int, mode: int) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.uid = member.gid = owner
    member.mode = mode
    return member


def evaluate(run_root: Path, environ: Mapping[str, str], submissions: Mapping[str, str | None], **changes: Any) -> Rows:
    """Evaluate `submissions` (None: there is none) and return the row of each."""
    request: dict[str, Any] = {
        "run_root": run_root,
        "requested_ids": tuple(submissions),
        "submissions": {iid: sha256 for iid, sha256 in submissions.items() if sha256 is not None},
        "docker_cpus": min(2, os.cpu_count() or 1),
        "timeout_sec": 240.0,
        "environ": environ,
        "labels": LABELS,
        "invocation": "cases",
    }
    outcome = evaluate_submissions(EvaluationRequest(**request | changes), SilentReporter())
    return dict(outcome.summary.instances)
