"""Tasks that we end ourselves: under the id that lives, only when another one may be paid for, and told for sure."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from obo_bench.core.ledger import Ledger, Row
from obo_bench.core.redact import Redactor
from obo_bench.core.reporter import SilentReporter
from obo_bench.gateway.checkpoint import CheckpointFile
from obo_bench.gateway.lifecycle import TaskLife
from obo_bench.gateway.settlement import SettledBy, Settlement
from obo_bench.programbench.context import RunContext
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.leftovers.still_running import still_running
from obo_bench.programbench.solving import instance as solving
from obo_bench.programbench.solving import settle
from obo_bench.programbench.solving.attempt import Attempt
from obo_bench.programbench.solving.decision import Step
from tests.instance_case import IID, Case, instance_case

INSTANCE = Instance(IID, "c", "easy", "a/b", "0" * 40, "image", ())


@pytest.fixture
def case(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Case]:
    """A run whose engine has nothing left: no room is found, and none is there to be removed."""
    monkeypatch.setattr(solving, "find_room", lambda *_: None)
    monkeypatch.setattr(solving, "clear_rooms", lambda *_: None)
    monkeypatch.setattr(settle, "reclaim_workspace", lambda _: False)
    with instance_case(tmp_path / "run") as made:
        made.task()
        yield made


def attach(case: Case) -> Row:
    root = case.paths.run_root
    session = SimpleNamespace(run_root=root, ledger=Ledger(root, "test", Redactor()), redactor=Redactor())
    context = RunContext(
        session=cast("Any", session), options=case.options, engine=cast("Any", None),
        server=cast("Any", SimpleNamespace(client=case.client)), reporter=SilentReporter(), nonce="n", cpus=1.0,
        memory_bytes=1 << 30,
    )  # fmt: skip
    checkpoint = CheckpointFile(case.paths.checkpoint).read()
    assert checkpoint is not None
    return solving._attach(Attempt(context, INSTANCE, 1), checkpoint)


def test_a_retried_task_without_its_cleanroom_is_ended_under_the_id_that_lives(case: Case) -> None:
    case.server.retried["t-1"] = "retry-9"
    case.server.put("retry-9", "running", original_task_id="t-1", cost_breakdown={"own_usd": 0.5})
    row = attach(case)
    assert (row.reason_code, row.cost["usd"]) == ("executor_lost", 0.5)
    assert (case.server.cancelled, case.server.live) == (["retry-9"], set())
    assert still_running(case.paths.run_root) == []


def test_work_that_was_finished_while_its_cleanroom_was_missed_is_not_lost(case: Case) -> None:
    case.server.put("t-1", "running")
    cancel = case.server.cancel

    def finish_first(task_id: str) -> tuple[int, dict[str, Any]]:
        case.server.live.discard(task_id)
        case.server.records[task_id] |= {"status": "completed"}
        return cancel(task_id)

    case.server.cancel = finish_first  # type: ignore[method-assign]
    # There is no workspace to package here; that it was tried is what counts.
    assert attach(case).reason_code == "submission_failed"


def test_work_that_was_finished_before_the_cancel_came_is_not_lost(case: Case, monkeypatch: pytest.MonkeyPatch) -> None:
    case.server.put("t-1", "completed")
    lost = Settlement(SettledBy.EXECUTOR_LOST, None, "it is exited")
    monkeypatch.setattr(TaskLife, "watch", lambda *_: lost)
    assert attach(case).reason_code == "submission_failed"


@pytest.mark.parametrize("reason", ["executor_lost", "executor_not_reached", "budget_exhausted"])
def test_a_cancel_that_nobody_confirmed_may_have_left_the_task_running(case: Case, reason: str) -> None:
    case.row("failed", reason, infrastructure=True)
    assert [task.task_id for task in still_running(case.paths.run_root)] == ["t-1"]
    case.task("cancelled")
    assert still_running(case.paths.run_root) == []


def test_a_live_task_is_not_ended_for_one_that_may_not_be_paid_for(case: Case) -> None:
    case.server.put("t-1", "running")
    case.ceiling_usd = 0.0
    decision = case.decide(redo=True)
    assert (decision.step, decision.attempt) == (Step.HELD, 2)
    assert (case.server.cancelled, case.server.live) == ([], {"t-1"})
    case.ceiling_usd = 1.0
    assert case.step(redo=True) == ("solve", 2)
