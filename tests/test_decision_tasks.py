"""What a resume does with the task that an instance has: never a second one while the first can be live."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from obo_bench.gateway.errors import GatewayError
from obo_bench.gateway.lifecycle import record_of
from obo_bench.programbench.solving.decision import Step
from tests.instance_case import Case, instance_case


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    with instance_case(tmp_path / "run") as made:
        yield made


@pytest.mark.parametrize(
    "reason", ["client_poll_timeout_reattachable", "client_poll_error_reattachable", "interrupted", "submission_failed"]
)
@pytest.mark.parametrize("status", ["running", "scheduled", "completed", "interrupted", "cancel_requested"])
def test_what_may_still_live_or_be_packaged_is_attached_to(case: Case, reason: str, status: str) -> None:
    case.task()
    case.row("failed", reason, infrastructure=True)
    case.server.put("t-1", status)
    decision = case.decide()
    assert (decision.step, decision.attempt) == (Step.ATTACH, 1)
    assert decision.checkpoint is not None
    assert decision.checkpoint.status == status


def test_finished_work_is_fetched_although_the_server_has_forgotten_it(case: Case) -> None:
    case.task("completed", task_result={"task_id": "t-1", "status": "completed"})
    case.row("failed", "submission_failed", infrastructure=True)
    assert case.step() == ("attach", 1)
    decision = case.decide()
    assert decision.checkpoint is not None
    assert record_of(case.client, decision.checkpoint) is not None


@pytest.mark.parametrize("infrastructure", [True, False])
def test_a_task_that_ended_unseen_is_told_apart_by_its_record(case: Case, infrastructure: bool) -> None:
    case.task()
    case.server.put("t-1", "failed", reason_code="provider_unavailable" if infrastructure else "round_limit")
    decision = case.decide()
    assert decision.step is (Step.SOLVE if infrastructure else Step.ATTACH)
    assert (decision.record is not None) is infrastructure


def test_a_server_shut_down_in_an_orderly_way_costs_a_new_attempt(case: Case) -> None:
    case.task()
    case.server.put("t-1", "cancelled", reason_code="cancelled")
    assert case.step() == ("solve", 2)


def test_a_waiting_task_that_a_crash_lost_is_given_up_once_it_is_on_record(case: Case) -> None:
    case.task("scheduled")
    case.server.put("t-1", "scheduled")
    case.server.live.clear()
    assert case.step() == ("attach", 1)
    case.row("failed", "lost", infrastructure=True)
    assert case.step() == ("solve", 2)
    assert case.server.cancelled == ["t-1", "t-1"]


def test_a_paused_task_is_ended_before_another_one_begins(case: Case) -> None:
    case.task("scheduled")
    case.server.put("t-1", "scheduled", reason_code="budget_exhausted", resource_limit={"scope": "global"})
    case.row("failed", "budget_exhausted", infrastructure=True)
    assert case.step() == ("solve", 2)
    assert case.server.records["t-1"]["status"] == "cancelled"


def test_a_task_that_the_server_retried_under_a_new_id_is_one_task(case: Case) -> None:
    case.task()
    case.server.put("retry-9", "running", original_task_id="t-1", retry_lineage=["t-1"])
    case.server.retried["t-1"] = "retry-9"
    assert case.step() == ("attach", 1)
    case.row("failed", "executor_lost", infrastructure=True)
    assert case.step() == ("solve", 2)
    assert case.server.cancelled == ["retry-9"]
    assert not case.server.live


def test_a_task_that_will_not_end_gets_no_second_one(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obo_bench.gateway.lifecycle.RETIRE_SEC", 0.5)
    case.task()
    case.server.put("t-1", "running")
    case.server.cancel = lambda task_id: (200, {"ok": True, "task_id": task_id})  # type: ignore[method-assign]
    case.row("failed", "executor_lost", infrastructure=True)
    with pytest.raises(GatewayError, match="still running"):
        case.decide()


def test_an_intent_that_the_server_does_not_know_is_posted_again(case: Case) -> None:
    case.task("intent")
    assert case.step() == ("repost", 1)


def test_a_task_that_the_server_had_taken_and_does_not_know_now_blocks(case: Case) -> None:
    case.task("running")
    for _ in range(2):
        decision = case.decide()
        assert (decision.step, decision.attempt, decision.reason) == (Step.BLOCK, 1, "task_unknown_to_server")
        assert "--retry task_unknown_to_server" in decision.why
        case.row("blocked", "task_unknown_to_server", infrastructure=False)
    assert case.step("task_unknown_to_server") == ("solve", 2)
    case.server.put("t-1", "running")
    assert case.step() == ("attach", 1)


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"schema": "other"}', b'{"task_id": 7}', b"\xff\xfe", b"[]", b'{"task_id": "t-1"', b"null"]
)
def test_a_checkpoint_that_cannot_be_read_is_not_no_task(case: Case, content: bytes) -> None:
    case.row("failed", "executor_lost", infrastructure=True)
    case.paths.checkpoint.write_bytes(content)
    for redo in (False, True):
        decision = case.decide(redo=redo)
        assert (decision.step, decision.attempt, decision.reason) == (Step.BLOCK, 2, "checkpoint_unreadable")
        assert str(case.paths.checkpoint) in decision.why
    case.row("blocked", "checkpoint_unreadable", 2, infrastructure=False)
    assert case.step("checkpoint_unreadable") == ("solve", 3)
    case.paths.checkpoint.unlink()
    assert case.step() == ("keep", 2)


def test_the_number_of_an_attempt_is_never_used_twice(case: Case) -> None:
    case.row("failed", "executor_lost", 3, infrastructure=True)
    case.row("failed", "client_poll_error_reattachable", 1, infrastructure=True)
    assert case.step() == ("solve", 4)


def test_a_checkpoint_that_was_restored_is_believed(case: Case) -> None:
    case.row("failed", "round_limit", infrastructure=False)
    case.row("blocked", "checkpoint_unreadable", 2, infrastructure=False)
    case.task("failed")
    case.server.put("t-1", "failed", reason_code="round_limit")
    assert case.step() == ("keep", 1)


def test_a_checkpoint_behind_a_dead_link_or_a_directory_is_not_no_task(case: Case) -> None:
    case.paths.checkpoint.symlink_to("nowhere")
    assert case.decide().step is Step.BLOCK
    case.paths.checkpoint.unlink()
    case.paths.checkpoint.mkdir()
    assert case.decide().step is Step.BLOCK


@pytest.mark.parametrize("status", ["running", "scheduled", "cancelled", "failed", "unknown"])
@pytest.mark.parametrize("row", [None, "interrupted", "executor_lost"])
def test_what_an_operator_has_ended_is_not_solved_again(case: Case, status: str, row: str | None) -> None:
    case.task(cancel_asked=True)
    if row:
        case.row("failed", row, infrastructure=True)
    if status != "unknown":
        case.server.put("t-1", status)
    decision = case.decide()
    assert (decision.step, decision.attempt) == (Step.CANCELLED, 1)
    assert not case.server.live
    assert case.step("cancelled_by_operator") == ("solve", 2)


def test_what_had_finished_before_it_was_cancelled_is_packaged(case: Case) -> None:
    case.task(cancel_asked=True)
    case.server.put("t-1", "completed")
    assert case.step() == ("attach", 1)


def test_an_older_checkpoint_was_not_cancelled(case: Case) -> None:
    case.task()
    document = json.loads(case.paths.checkpoint.read_text())
    del document["cancel_asked"]
    case.paths.checkpoint.write_text(json.dumps(document))
    case.server.put("t-1", "running")
    assert case.step() == ("attach", 1)
