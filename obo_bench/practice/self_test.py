"""`doctor --self-test`: a right and a wrong submission through the real evaluator, which must tell one from the other.

Everything lies in a temporary directory; what stays is the practice image, if it had to be built.
"""

import os
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from obo_bench.core.reporter import Reporter
from obo_bench.engine.cleanroom_spec import NONCE_LABEL, RUN_LABEL
from obo_bench.engine.leftovers import EVALUATOR, ROLE_LABEL
from obo_bench.practice.images import ensure_images
from obo_bench.practice.main_job import practice_environment
from obo_bench.practice.tasks import PRACTICE_TASKS, PracticeTask
from obo_bench.programbench.doctor.report import CheckResult
from obo_bench.programbench.doctor.runner import judged, result_of
from obo_bench.programbench.doctor.verdict import Verdict, fail, ok
from obo_bench.programbench.evaluating.engine import find_engine
from obo_bench.programbench.evaluation.evaluation_request import EvaluationRequest
from obo_bench.programbench.evaluation.evaluator import evaluate_submissions
from obo_bench.programbench.evaluation.evaluator_settings import container_cpus
from obo_bench.programbench.packaging.submission import package_workspace

LIMIT_SEC = 300.0
"""The evaluation of one practice submission takes some seconds."""
_SOLUTIONS = {"self-test-right": ("solved", "pass"), "self-test-wrong": ("partial", "fail")}
"""By check: the practice solution, and the verdict that it must get."""
_REMEDY = "the evaluator or the engine does not work here: run `obo-bench practice` and look at what it leaves"


def self_test(reporter: Reporter) -> list[CheckResult]:
    """Grade both submissions and return one result for each; needs an engine and some seconds."""
    with tempfile.TemporaryDirectory(prefix="obo-bench-self-test-") as work:
        return [_timed(name, Path(work), reporter) for name in _SOLUTIONS]


def _timed(name: str, work: Path, reporter: Reporter) -> CheckResult:
    started = time.monotonic()
    verdict = judged(partial(_graded, name, work, reporter))
    return result_of(name, verdict, time.monotonic() - started)


def _graded(name: str, work: Path, reporter: Reporter) -> Verdict:
    variant, expected = _SOLUTIONS[name]
    task = PRACTICE_TASKS[0]
    ensure_images([task], reporter)
    request = _request(task, _submission(task, variant, work), work, name)
    row = evaluate_submissions(request, reporter).summary.instances[task.instance_id]
    score = "none" if row.score is None else f"{row.score:.3f}"
    told = f"the {variant} practice submission is graded {row.verdict} ({row.reason}), score {score}"
    if row.verdict == expected:
        return ok(f"{told}, as it must be")
    words = f": {row.detail}" if row.detail else ""
    return fail(f"{told}, it must be {expected}{words}", _REMEDY)


def _submission(task: PracticeTask, variant: str, work: Path) -> tuple[Path, str]:
    """Package a solution as a run would; return the run root and the archive's SHA-256."""
    workspace, root = work / f"{variant}-workspace", work / variant
    for path, (content, mode) in task.solution(variant).items():
        target = workspace / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content)
        target.chmod(mode)
    destination = root / task.instance_id
    destination.mkdir(parents=True)
    return root, package_workspace(workspace, destination).sha256


def _request(task: PracticeTask, submission: tuple[Path, str], work: Path, name: str) -> EvaluationRequest:
    root, sha256 = submission
    engine = find_engine(os.environ)
    environ: Mapping[str, str] = {**engine.environ, **_practice_only(work)}
    return EvaluationRequest(
        run_root=root,
        requested_ids=(task.instance_id,),
        submissions={task.instance_id: sha256},
        docker_cpus=container_cpus(None, environ, engine.cpus),
        timeout_sec=LIMIT_SEC,
        environ=environ,
        labels={RUN_LABEL: name, NONCE_LABEL: work.name, ROLE_LABEL: EVALUATOR},
        invocation=name,
    )


def _practice_only(work: Path) -> dict[str, str]:
    """Return what makes the official package know the practice tasks, and only them."""
    environment = practice_environment(work)
    return {name: environment[name] for name in ("PYTHONPATH", "PROGRAMBENCH_BLOB_DIR")}
