"""When a launcher's file is a verdict, and when it only looks like one."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.ledger_row import Row
from obo_bench.launch.presets import foreign
from obo_bench.launch.presets.launch import Launch
from obo_bench.launch.presets.preset import Harvest
from obo_bench.launch.presets.registry import PRESETS


def of_harbor(directory: Path, *trials: dict[str, Any]) -> tuple[str, str, int]:
    for number, trial in enumerate(trials):
        place = directory / "jobs" / "j" / f"a__{number}"
        place.mkdir(parents=True)
        (place / "result.json").write_text(json.dumps({"trial_name": place.name, "task_name": "a", **trial}))
    [found] = PRESETS["terminal-bench"].results(Launch(("harbor", "run", "--job-name", "j"), directory))
    return found.reason_code, found.official_eval_status, found.attempt


def reward(value: Any, **more: Any) -> dict[str, Any]:
    return {"verifier_result": {"rewards": value}, **more}


@pytest.mark.parametrize(
    ("trials", "expected"),
    [
        ([reward({"reward": 1.0})], ("task_ended", "pass", 1)),
        ([reward({"accuracy": 1})], ("task_ended", "pass", 1)),
        ([reward({"reward": 0.5})], ("task_ended", "fail", 1)),
        ([reward({"reward": 1, "speed": 0.1})], ("task_ended", "pass", 1)),
        ([reward({"x": 1, "y": 1})], ("verdict_missing", "ungraded", 1)),
        ([reward({"reward": 1.0}, reward_valid=False)], ("verdict_missing", "ungraded", 1)),
        ([reward({"reward": True})], ("verdict_missing", "ungraded", 1)),
        ([reward({"reward": 0}, exception_info={"exception_type": "X"})], ("X", "fail", 1)),
        ([reward({"reward": 1}), reward({"reward": 1})], ("task_ended", "pass", 2)),
        ([reward({"reward": 1}), reward({"reward": 0})], ("task_ended", "ungraded", 2)),
        ([reward({"reward": 1}), {}], ("verdict_missing", "ungraded", 2)),
    ],
)
def test_a_reward_is_a_verdict_where_harbor_takes_it_for_one(
    trials: list[dict[str, Any]], expected: tuple[str, str, int], tmp_path: Path
) -> None:
    assert of_harbor(tmp_path, *trials) == expected


def of_the_harness(directory: Path) -> Harvest:
    return PRESETS["harness-bench-fast"].results(Launch(("launcher", "--run-root", str(directory)), directory))


@pytest.mark.parametrize("passed", [1, "true", None, [True]])
def test_what_is_neither_passed_nor_failed_is_no_verdict(passed: Any, tmp_path: Path) -> None:
    (tmp_path / "r.json").write_text(json.dumps({"task_id": "a", "passed": passed}))
    [found] = of_the_harness(tmp_path)
    assert (found.reason_code, found.official_eval_status, found.prediction_written) == (
        "result_unreadable",
        "ungraded",
        False,
    )


def test_a_document_that_is_too_large_is_told_and_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(foreign, "LARGEST_DOCUMENT", 20)
    (tmp_path / "r.json").write_text(json.dumps({"task_id": "a", "passed": True}))
    assert "larger than 20 bytes" in of_the_harness(tmp_path).problems[0]


def test_a_file_name_that_is_no_text_can_still_be_recorded(tmp_path: Path) -> None:
    place = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    place.mkdir()
    (place / "r.json").write_text(json.dumps({"task_id": "a", "passed": True}))
    [found] = of_the_harness(tmp_path)
    assert Row(benchmark="b", **vars(found)).output_paths["results"].endswith("/\N{REPLACEMENT CHARACTER}/r.json")
