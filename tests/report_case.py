"""Runs to report on, made with the product's own seam, ledger and grades, without a container."""

import hashlib
import random
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

from obo_bench.core.ledger import Row
from obo_bench.core.session import Session
from obo_bench.programbench.admission.order import InstanceOrder, write_order
from obo_bench.programbench.evaluation.accounts import read_accounts
from obo_bench.programbench.evaluation.grade_summary import InstanceGrade, build_grade_summary, write_grade_summary
from obo_bench.programbench.evaluation.grading import Grade
from obo_bench.programbench.evaluation.verdicts import RULINGS, Verdict
from obo_bench.programbench.paths import InstancePaths
from tests.solved_run import run_session

_ENDINGS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("failed", "task_not_completed", {"infrastructure": False}),
    ("failed", "executor_lost", {"infrastructure": True}),
    ("blocked", "image_pull_rate_limited", {"infrastructure": True}),
    ("not_attempted", "stopped_budget", {}),
)
HARNESS = {
    "obo_bench": "0.2.0",
    "python": "3.11.7",
    "programbench": "1.2.5",
    "ouroboros_url": "http://127.0.0.1:8770",
    "solve_model": "openai::gpt-5.5",
    "workers": 8,
    "limits": {"cpus": 4.0, "memory": "16g", "timeout_sec": 21600.0},
    "selector": {"slice": "0:200", "shuffle": True, "language": ["rust", "go"]},
    "model_slots_checked_with": {"with": "checkout"},
}
ATTESTATION = {
    "base_url": "http://127.0.0.1:8770",
    "runtime_version": "6.75.0",
    "expected_version": "6.75.0",
    "overridden": False,
    "ok": True,
}
EVALUATED: Any = {
    "tests_digest": "t" * 64,
    "evaluator_version": "1.2.5",
    "started_at_unix": 1.0,
    "finished_at_unix": 2.0,
}


def long_run(root: Path, count: int = 200, *, seed: int = 7, error: str = "") -> Path:
    """Leave a graded run of `count` instances of every ending, solved by eight workers; `error` is foreign text."""
    draw, ids = (
        random.Random(seed),
        [f"owner{number:03d}__project-{number:03d}.abc{number:04d}" for number in range(count)],
    )
    images = {
        iid: {"name": f"programbench/{iid}:task_cleanroom_v6", "id": "sha256:1", "digests": [f"p@sha256:{'5' * 64}"]}
        for iid in ids
    }
    with run_session(root, ids, dataset="programbench 1.2.5", timeout_sec=21600.0) as session:
        session.manifest.harness.update({**HARNESS, "images": images})
        session.manifest.extra.runtime_attestation = dict(ATTESTATION)
        write_order(root, InstanceOrder(run_nonce="0011aabb", instance_ids=ids, admitted={}))
        clock = [time.time() - 86400.0] * 8
        for iid in ids:
            _solve(session, iid, draw, clock, error)
        session.manifest.extra.eval_requested = True
        grade(root, ids, draw)
        session.conclude("instances_failed", 1)
    return root


def _solve(session: Session, iid: str, draw: random.Random, clock: list[float], error: str) -> None:
    worker = clock.index(min(clock))
    for attempt in range(1, draw.choice((1, 1, 1, 1, 2)) + 1):
        durations = {"prepare": draw.uniform(3, 40), "queued": draw.uniform(0, 60)}
        durations |= {"solve": draw.lognormvariate(7.8, 0.7), "package": draw.uniform(0.1, 4)}
        clock[worker] += sum(durations.values()) + 1
        last = draw.random() < 0.75
        ending = ("completed", "submission_prepared", {"infrastructure": False}) if last else draw.choice(_ENDINGS[:3])
        cost = (
            {"usd": round(draw.lognormvariate(1.2, 0.8), 4), "final": True} if draw.random() < 0.93 else {"usd": None}
        )
        with patch("obo_bench.core.ledger.time.time", return_value=clock[worker]):
            row(session, iid, ending, attempt, error=error, durations=durations, cost=cost)


def row(session: Session, iid: str, ending: tuple[str, str, Mapping[str, Any]], attempt: int = 1, **fields: Any) -> Row:
    """Append the row of an attempt, with the archive of a completed one."""
    status, reason, details = ending
    paths = InstancePaths(session.run_root, iid)
    paths.directory.mkdir(exist_ok=True)
    paths.instruction.write_text("Write the program again.\n")
    if status == "completed":
        paths.submission.write_bytes(f"archive {iid} {attempt}".encode())
        fields["submission_sha256"] = hashlib.sha256(paths.submission.read_bytes()).hexdigest()
    facts = {"task_id": f"obo-{iid}-{attempt}", "protection": "os", **details}
    return session.ledger.append(
        Row.model_validate(
            {
                "benchmark": "programbench",
                "instance_id": iid,
                "status": status,
                "reason_code": reason,
                "attempt": attempt,
                "details": facts,
                "output_paths": paths.outputs(),
                "prediction_written": status == "completed",
                **fields,
            }
        )
    )


def grade(root: Path, ids: Sequence[str], draw: random.Random) -> None:
    """Write the grade summary of a run; the scores are drawn."""
    accounts = read_accounts(root, ids) or {}
    grades = {iid: _grade(InstancePaths(root, iid), draw) for iid in ids}
    official = {
        iid: Grade(
            verdict=Verdict(str(g.verdict)), reason=g.reason, blame=None, official_score=g.score, packaged_score=g.score
        )
        for iid, g in grades.items()
        if g.score is not None
    }
    summary = build_grade_summary(
        invocation="i",
        created_at_unix=time.time(),
        evaluation_status="completed",
        evaluator_version="1.2.5",
        benchmark_ids=[*ids, "one__more.0000000"],
        grades=official,
        instances=grades,
        accounts=accounts,
    )
    write_grade_summary(root, summary)


def _grade(paths: InstancePaths, draw: random.Random) -> InstanceGrade:
    submitted, fields = paths.submission.is_file(), EVALUATED
    reason = draw.choice(("all_tests_passed", "tests_failed", "tests_failed", "tests_failed", "compile_failed"))
    reason = "results_read_failed" if draw.random() < 0.03 else reason
    reason = reason if submitted else "no_submission"
    passed = {"all_tests_passed": 400, "tests_failed": int(draw.betavariate(3, 1.4) * 399)}.get(reason, 0)
    ruling = RULINGS[reason]
    graded = ruling.verdict is not Verdict.UNGRADED
    return InstanceGrade(
        verdict=ruling.verdict,
        reason=reason,
        blame=ruling.blame,
        score=passed / 400 if graded else None,
        passed=passed if graded else None,
        failed=400 - passed if graded else None,
        not_run=0 if graded else None,
        submission_sha256=hashlib.sha256(paths.submission.read_bytes()).hexdigest() if submitted else None,
        attempts=int(submitted),
        detail="",
        **fields,
    )
