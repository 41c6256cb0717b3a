"""What a resume does with each ending that the ledger tells: nothing, or a new attempt."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.solving.standing import is_only_new_tasks, refuse_dry_run_over_tasks
from tests.instance_case import IID, Case, instance_case

INFRASTRUCTURE = [
    "image_pull_failed", "image_pull_rate_limited", "image_audit_failed", "image_changed", "cleanroom_preflight_failed",
    "reference_not_runnable", "workspace_prepare_failed", "engine_unreachable", "engine_disk_low", "executor_lost",
    "executor_not_reached", "submission_rejected", "workspace_not_visible", "lost", "budget_exhausted",
    "provider_unavailable", "worker_crash_signal", "orphaned_running_after_worker_restart", "cancelled",
]  # fmt: skip
"""Endings that rows mark as the infrastructure's."""
AGENT = ["task_not_completed", "round_limit", "deadline_local", "practice_reason_of_tomorrow", "cancelled_by_operator"]
"""Endings that they do not."""


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    with instance_case(tmp_path / "run") as made:
        yield made


def test_a_new_instance_is_solved(case: Case) -> None:
    assert case.step() == ("solve", 1)


@pytest.mark.parametrize("with_task", [False, True])
@pytest.mark.parametrize("reason", INFRASTRUCTURE)
def test_the_infrastructures_failure_is_solved_again(case: Case, reason: str, with_task: bool) -> None:
    if with_task:
        case.task()
        case.server.put("t-1", "failed", reason_code=reason)
    case.row("failed", reason, infrastructure=True)
    assert case.step() == ("solve", 2)
    assert case.step(reason) == ("solve", 2)


@pytest.mark.parametrize("with_task", [False, True])
@pytest.mark.parametrize("reason", AGENT)
def test_the_agents_failure_is_solved_again_only_when_asked(case: Case, reason: str, with_task: bool) -> None:
    if with_task:
        case.task()
        case.server.put("t-1", "failed", reason_code=reason)
    case.row("failed", reason, infrastructure=False)
    assert case.step() == ("keep", 1)
    assert case.step("another_reason") == ("keep", 1)
    assert case.step(reason) == ("solve", 2)


def test_a_permanent_reason_is_kept_whoever_is_to_blame(case: Case) -> None:
    case.row("blocked", "image_not_found", infrastructure=True)
    assert case.step() == ("keep", 1)
    assert case.step("image_not_found") == ("solve", 2)


def test_a_row_that_does_not_say_who_failed_is_kept(case: Case) -> None:
    case.row("failed", "from_another_tool")
    assert case.step() == ("keep", 1)


def test_a_finished_instance_is_skipped_whatever_its_score(case: Case) -> None:
    case.done(degraded=False, official_evaluation={"score": 0.0})
    for retry in ((), ("submission_prepared",), ("degraded",), ("tests_failed", "completed")):
        assert case.step(*retry) == ("skip", 1)
    assert case.step(redo=True) == ("solve", 2)


def test_a_degraded_one_is_solved_again_only_when_asked(case: Case) -> None:
    case.task("completed")
    case.server.put("t-1", "completed", reason_code="provider_unavailable")
    case.done(degraded=True, infrastructure=False)
    assert case.step() == case.step("provider_unavailable") == ("skip", 1)
    assert case.step("degraded") == ("solve", 2)


def test_later_rows_do_not_hide_that_a_degraded_one_is_asked_for_again(case: Case) -> None:
    case.done(degraded=True)
    case.row("blocked", "checkpoint_unreadable", 2, infrastructure=False)
    assert case.step("degraded") == ("solve", 3)
    case.task("completed")
    case.server.put("t-1", "completed")
    case.row("failed", "client_poll_error_reattachable", 1, infrastructure=True)
    assert case.step("degraded") == ("solve", 3)


@pytest.mark.parametrize("skipped_since", [False, True])
def test_a_corrupt_submission_is_solved_again(case: Case, skipped_since: bool) -> None:
    case.done()
    if skipped_since:
        case.row("skipped", "skipped_existing_submission", sha256="0" * 64, infrastructure=False)
    case.paths.submission.write_bytes(b"something else")
    assert case.step() == ("solve", 2)


def test_only_new_tasks_are_what_a_spent_budget_forbids(case: Case) -> None:
    new = "new__one.0000002"
    assert is_only_new_tasks([new], case.options)
    case.task("completed")
    assert not is_only_new_tasks([IID, new], case.options)
    case.done()
    assert is_only_new_tasks([IID, new], case.options)
    assert not is_only_new_tasks([IID], case.options)


def test_a_dry_run_sees_a_task_even_behind_a_damaged_checkpoint(case: Case) -> None:
    case.paths.checkpoint.write_bytes(b"{")
    with pytest.raises(PreflightRefused, match="would disturb") as raised:
        refuse_dry_run_over_tasks(case.paths.run_root, [IID])
    # No flag waives it.
    assert "--accept-config-change" not in raised.value.remedy
