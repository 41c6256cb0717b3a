"""Which of several statuses `programbench run` ends with, when more than one applies."""

import json
from pathlib import Path

import pytest

from tests.test_run import IID, Bench, Serve, bench

__all__ = ["bench"]  # the fixture

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]


def test_a_submission_without_a_verdict_outranks_a_failed_instance(bench: Bench, serve: Serve, tmp_path: Path) -> None:
    assert bench.run(serve(scenario="unknown-reason")).status == 1

    bench.chosen = [IID, "practice__runlength.0000002"]
    bench.env["PROGRAMBENCH_BLOB_DIR"] = str(tmp_path)
    url = serve(data_dir=bench.checkout.parent / "healthy")
    done = bench.run(url, "--accept-config-change", "--eval")
    extra = done.manifest["extra"]
    assert done.status == extra["exit_code"] == done.envelope["exit_code"] == 6, done.stderr
    assert (extra["outcome"], extra["official_eval_status"]) == ("official_eval_error", "error")
    assert (extra["completed_count"], extra["failed_count"]) == (1, 1)
    grades = json.loads((bench.root / "grade_summary.json").read_text())
    assert (grades["submitted"], grades["ungraded"]) == (1, 2)
