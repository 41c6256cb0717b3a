"""The official scores of right, wrong and broken submissions, on a real engine."""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from obo_bench.programbench.evaluation.verdicts import Blame, Verdict
from tests.evaluation_case import PRACTICE, SOLUTIONS, evaluate, left_behind, pack, put_old_pass, reason_of, sweep

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images", "swept")]


@pytest.fixture
def swept() -> Iterator[None]:
    yield
    sweep()


def test_right_wrong_and_broken_submissions_get_the_official_score(
    tmp_path: Path, practice_env: dict[str, str]
) -> None:
    environ = {**os.environ, **practice_env}
    first, second = list(SOLUTIONS)[:2]
    shas = {
        first: pack(tmp_path, first, SOLUTIONS[first]("solved")),
        second: pack(tmp_path, second, SOLUTIONS[second]("partial")),
    }
    asked = {"requested_ids": (first, second), "submissions": shas, "workers": 2}
    outcome = evaluate(tmp_path, environ, **asked)
    right, wrong = outcome.summary.instances[first], outcome.summary.instances[second]
    assert (right.verdict, right.score, right.failed, right.attempts) == (Verdict.PASS, 1.0, 0, 1)
    assert (wrong.verdict, wrong.reason, wrong.blame) == (Verdict.FAIL, "tests_failed", Blame.SUBMISSION)
    assert wrong.score is not None
    assert 0.0 < wrong.score < 1.0
    assert (outcome.status, outcome.ungraded_submissions, left_behind()) == ("completed", (), "")
    assert outcome.summary.official_mean_over_listed == (1.0 + wrong.score) / 2
    record = json.loads((tmp_path / "programbench_eval_result.json").read_text(encoding="utf-8"))
    (average,) = re.findall(r"^ Average +(\d+) +2 instances", record["info"]["stdout"], re.MULTILINE)
    assert int(average) == round((1.0 + wrong.score) * 50)

    kept = evaluate(tmp_path, environ, **asked, invocation="inv-2")
    assert (kept.command, kept.evaluated) == ((), ()), "proven files are not evaluated again"
    assert kept.summary.instances == outcome.summary.instances

    shas[first] = pack(tmp_path, first, SOLUTIONS[first]("broken-build"))
    again = evaluate(tmp_path, environ, **asked, invocation="inv-3")
    broken = again.summary.instances[first]
    assert (broken.verdict, broken.reason, broken.score) == (Verdict.FAIL, "compile_failed", 0.0)
    assert (again.command[-1], again.evaluated) == ("^(?:{instance})$", (first,))
    assert again.summary.instances[second] == wrong


def test_an_engine_that_is_gone_gives_no_verdict(tmp_path: Path, practice_env: dict[str, str]) -> None:
    shas = {PRACTICE: pack(tmp_path, PRACTICE, SOLUTIONS[PRACTICE]("solved"))}
    put_old_pass(tmp_path, PRACTICE)
    environ = {**os.environ, **practice_env, "DOCKER_HOST": f"unix://{tmp_path}/nobody.sock"}
    outcome = evaluate(tmp_path, environ, requested_ids=(PRACTICE,), submissions=shas)
    assert reason_of(outcome, PRACTICE) == ("RuntimeError", Blame.HOST)
