"""The scheduler on real threads and a real ledger: nobody blocks another, nothing is lost, nothing is doubled."""

import errno
import threading
import time
from pathlib import Path
from typing import cast

import pytest

from obo_bench.core.admission import AdmissionRequest
from obo_bench.core.ledger import LedgerUnwritable, Row, read_rows
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.session import Session, benchmark_session
from obo_bench.programbench.context import RunContext
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.solving import scheduler
from obo_bench.programbench.solving.attempt import Attempt, AttemptAbandoned
from obo_bench.programbench.solving.scheduler import run_all
from obo_bench.programbench.solving.task_name import LONGEST, task_name
from tests.run_context import context_of


def instances(*names: str) -> list[Instance]:
    return [Instance(name, "c", "easy", "a/b", "0" * 40, "image", ()) for name in names]


def begun(context: RunContext, instance: Instance) -> Attempt:
    attempt = context.attempts[instance.instance_id] = Attempt(context, instance, 1)
    return attempt


def written(session: Session) -> list[tuple[str, str, str]]:
    rows = read_rows(session.run_root / "result_index.jsonl")
    return [(row.instance_id, row.status, row.reason_code) for row in rows]


def test_one_that_hangs_blocks_no_other_and_the_ledger_is_in_the_order_of_completion(
    request_of_a_run: AdmissionRequest,
) -> None:
    others_done = threading.Event()

    def solve(context: RunContext, instance: Instance) -> Row:
        if instance.instance_id == "slow":
            assert others_done.wait(20)
        row = begun(context, instance).row("completed", "submission_prepared")
        if instance.instance_id == "d":
            others_done.set()
        return row

    with benchmark_session(request_of_a_run) as session:
        run_all(context_of(session, workers=2), instances("slow", "a", "b", "c", "d"), solve)
    assert [name for name, _, _ in written(session)] == ["a", "b", "c", "d", "slow"]


def test_a_bug_in_one_worker_detaches_the_others_and_leaves_nobody_without_a_row(
    request_of_a_run: AdmissionRequest,
) -> None:
    running = threading.Barrier(3)

    def solve(context: RunContext, instance: Instance) -> Row:
        attempt = begun(context, instance)
        if instance.instance_id != "unpaid":
            attempt.task_made()
        running.wait(20)
        if instance.instance_id == "detached":
            assert context.stop.wait(20)
            return attempt.failed("interrupted", "left to the server", infrastructure=True)
        raise ZeroDivisionError(instance.instance_id)

    with (
        pytest.raises(ZeroDivisionError),
        benchmark_session(request_of_a_run) as session,
    ):
        run_all(context_of(session, workers=3), instances("paid", "unpaid", "detached", "waiting"), solve)
    assert session.manifest.extra.exit_code == 70
    assert sorted(written(session)) == [
        ("detached", "failed", "interrupted"),
        ("paid", "failed", "interrupted"),
        ("unpaid", "not_attempted", "stopped_by_error"),
        ("waiting", "not_attempted", "stopped_by_error"),
    ]


def test_a_bug_outranks_a_refusal_and_hides_behind_none(request_of_a_run: AdmissionRequest) -> None:
    refused = threading.Event()

    def solve(context: RunContext, instance: Instance) -> Row:
        begun(context, instance)
        if instance.instance_id == "bug":
            assert refused.wait(20)
            time.sleep(0.2)
            raise ZeroDivisionError
        refused.set()
        raise PreflightRefused("workspace_not_visible", "not seen")

    with pytest.raises(ZeroDivisionError), benchmark_session(request_of_a_run) as session:
        run_all(context_of(session, workers=2), instances("bug", "refused"), solve)
    assert session.manifest.extra.outcome == "crashed"


def test_a_bug_after_its_row_is_no_second_row(request_of_a_run: AdmissionRequest) -> None:
    def solve(context: RunContext, instance: Instance) -> Row:
        begun(context, instance).row("completed", "submission_prepared")
        raise ZeroDivisionError

    started = time.monotonic()
    with pytest.raises(ZeroDivisionError), benchmark_session(request_of_a_run) as session:
        run_all(context_of(session, workers=1), instances("a"), solve)
    assert written(session) == [("a", "completed", "submission_prepared")]
    assert time.monotonic() - started < scheduler.DETACH_SEC / 2


@pytest.mark.parametrize(
    "error", [LedgerUnwritable(Path("l"), OSError(errno.EROFS, "read-only")), OSError(errno.ENOSPC, "full")]
)
def test_what_cannot_be_recorded_stops_the_run_and_is_no_crash(
    request_of_a_run: AdmissionRequest, error: OSError
) -> None:
    def solve(context: RunContext, instance: Instance) -> Row:
        begun(context, instance).task_made()
        raise error

    with benchmark_session(request_of_a_run) as session:
        schedule = run_all(context_of(session, workers=1), instances("a", "b"), solve)
    assert schedule.stopped == "stopped_systemic"
    assert written(session) == [("a", "failed", "interrupted"), ("b", "not_attempted", "stopped_systemic")]


def test_a_worker_that_does_not_come_back_is_not_waited_for_and_writes_no_row_afterwards(
    request_of_a_run: AdmissionRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler, "DETACH_SEC", 0.3)
    release, late = threading.Event(), threading.Event()

    def solve(context: RunContext, instance: Instance) -> Row:
        attempt = begun(context, instance)
        if instance.instance_id == "bug":
            time.sleep(0.2)
            raise ZeroDivisionError
        attempt.task_made()
        release.wait(20)
        with pytest.raises(AttemptAbandoned):
            attempt.row("completed", "submission_prepared")
        late.set()
        return cast("Row", None)

    with pytest.raises(ZeroDivisionError), benchmark_session(request_of_a_run) as session:
        run_all(context_of(session, workers=2), instances("hangs", "bug"), solve)
    assert sorted(written(session)) == [
        ("bug", "not_attempted", "stopped_by_error"),
        ("hangs", "failed", "interrupted"),
    ]
    release.set()
    assert late.wait(20)
    assert len(written(session)) == 2


def test_a_task_id_keeps_its_attempt_and_its_instance_apart_at_any_length() -> None:
    long = "owner__" + "x" * 200
    names = {task_name("0badcafe", name, attempt) for name in (long + "a", long + "b") for attempt in (1, 2, 10)}
    assert len(names) == 6
    assert all(len(name) <= LONGEST for name in names)
    assert task_name("0badcafe", "a__b.1234567", 3) == "obo-0badcafe-a__b.1234567-3"
    assert task_name("n", "a b", 1) != task_name("n", "a-b", 1)
    assert " " not in task_name("n", "a b", 1)
