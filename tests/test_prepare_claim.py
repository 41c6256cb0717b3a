"""`prepare --eval` has the run to itself while it grades, or says why it does not grade."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from obo_bench.core.lock import RunLock
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import SilentReporter
from obo_bench.programbench.preparing.options import PrepareOptions
from obo_bench.programbench.preparing.run_claim import claimed_run
from tests.evaluation_case import wait_until
from tests.hand_made import IID, Hand, by_hand

NEVER = Path("/nowhere")


@pytest.fixture
def options(tmp_path: Path) -> PrepareOptions:
    place = tmp_path / "r" / IID
    place.mkdir(parents=True)
    return PrepareOptions(
        repo_dir=NEVER,
        run_root=place,
        instance_id=IID,
        workspace=NEVER,
        instruction_file=NEVER,
        container_name="room",
        settings_path=NEVER,
    )


def test_a_run_in_use_is_refused_after_the_wait_and_a_free_one_is_held(options: PrepareOptions) -> None:
    other = RunLock(options.run, "an eval")
    with claimed_run(options, "mine", SilentReporter()), pytest.raises(PreflightRefused, match="in use by process"):
        other.acquire()
    other.acquire()
    with (
        pytest.raises(PreflightRefused, match="invocation an eval") as refused,
        claimed_run(options, "mine", SilentReporter(), wait_sec=0.1),
    ):
        pytest.fail("two at a time")
    assert refused.value.reason == "run_locked"
    other.release()


def test_a_run_that_was_begun_meanwhile_is_left_alone(options: PrepareOptions) -> None:
    (options.run / "run_manifest.json").write_text("{}")
    with pytest.raises(PreflightRefused) as refused, claimed_run(options, "mine", SilentReporter()):
        pytest.fail("it is another command's")
    assert refused.value.reason == "resume_config_mismatch"


def test_what_a_crashed_predecessor_left_is_still_told_to_the_next(options: PrepareOptions) -> None:
    (options.run / ".run.owner.json").write_text('{"invocation": "crashed"}')
    with claimed_run(options, "mine", SilentReporter()):
        pass
    assert json.loads((options.run / ".run.owner.json").read_text()) == {"invocation": "crashed"}


@pytest.fixture
def hand(tmp_path: Path, checkout: Path, practice_env: dict[str, str]) -> Iterator[Hand]:
    with by_hand(tmp_path, checkout, practice_env) as made:
        yield made


@pytest.mark.docker
@pytest.mark.usefixtures("practice_images")
@pytest.mark.parametrize("becomes_a_run", [False, True], ids=["eval", "run"])
def test_grades_wait_for_the_command_at_work_on_the_run(hand: Hand, becomes_a_run: bool) -> None:
    hand.fresh()
    hand.start()
    hand.run.mkdir(parents=True)
    at_work = RunLock(hand.run, "an eval")
    at_work.acquire()
    process = hand.begin("--eval")
    try:
        wait_until(lambda: (hand.run / "result_index.jsonl").exists() and bool(hand.rows()))
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(1)
        assert not (hand.run / "grade_summary.json").exists()
        if becomes_a_run:
            (hand.run / "run_manifest.json").write_text("{}")
    finally:
        at_work.release()
    status = process.wait(120)
    last = hand.rows()[-1]
    if becomes_a_run:
        assert (status, last.status, last.reason_code) == (6, "failed", "official_eval_failed")
        assert "is a run of its own" in last.error
        assert last.submission_sha256 == hand.rows()[0].submission_sha256 != ""
        assert not (hand.run / "grade_summary.json").exists()
    else:
        assert (status, last.official_eval_status) == (0, "fail")
        assert (hand.run / "grade_summary.json").exists()
