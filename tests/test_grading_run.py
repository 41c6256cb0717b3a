"""What `run --eval` says of grades: on stderr, in the summary, in the ledger and in the manifest."""

import json
from typing import Any

import pytest

from obo_bench.core.files import sha256_file
from tests.test_run import IID, Bench, Serve, bench

__all__ = ["bench"]  # the fixture

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]


def summary_of(bench: Bench) -> dict[str, Any]:
    value = json.loads((bench.root / "grade_summary.json").read_text(encoding="utf-8"))
    assert isinstance(value, dict)
    return value


def test_a_pass_shows_the_attempts_that_came_before_it(bench: Bench, serve: Serve) -> None:
    assert bench.run(serve(scenario="unknown-reason")).status == 1
    url = serve(scenario="priced", data_dir=bench.data)
    done = bench.run(url, "--retry", "practice_reason_of_tomorrow", "--eval")
    row = summary_of(bench)["instances"][IID]
    assert (row["verdict"], row["account"]["solve_attempts"], row["account"]["repeats_asked_for"]) == ("pass", 2, 1)
    assert "1 instance(s) with several: 0 after infrastructure failures, 1 asked for, 0 UNDECLARED" in done.stderr
    assert "diagnostic, not leaderboard-valid" in done.stderr
    grades = done.manifest["extra"]["grades"]
    assert (grades["pass"], grades["solves"]["attempts"]) == (1, 2)
    assert grades["sha256"] == sha256_file(bench.root / grades["file"])
    evaluated = bench.rows()[-1]["details"]["official_evaluation"]
    assert (evaluated["score"], evaluated["official_score"], evaluated["reason"]) == (1.0, 1.0, "all_tests_passed")
    cost = row["account"]["known_usd"]

    (bench.instance / "submission.tar.gz").unlink()
    bench.run(url, "--eval")
    account = summary_of(bench)["instances"][IID]["account"]
    assert (account["solve_attempts"], account["repeats_undeclared"]) == (3, 1), "its archive was taken away"
    assert account["known_usd"] > cost > 0.0


def test_an_instance_without_a_submission_says_why(bench: Bench, serve: Serve) -> None:
    done = bench.run(serve(scenario="infra"), "--eval")
    assert done.status == 1
    row = summary_of(bench)["instances"][IID]
    assert (row["verdict"], row["reason"], row["detail"]) == ("ungraded", "no_submission", "provider_unavailable")
    assert (row["blame"], row["score"], row["account"]["solve_attempts"]) == ("host", None, 1)
    assert "no_submission (provider_unavailable) 1" in done.stderr
