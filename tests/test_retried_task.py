"""A task that the server goes on with under an id of its own: the one that lives is the one that is ended."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from obo_bench.core.reporter import SilentReporter
from obo_bench.gateway.checkpoint import CheckpointFile, TaskCheckpoint
from obo_bench.gateway.lifecycle import TaskLife
from obo_bench.gateway.settlement import ExecutorTrouble, SettledBy
from tests.instance_case import Case, instance_case


class DeadContainer:
    """An executor that has been lost."""

    def look(self, _: str) -> ExecutorTrouble | None:
        return ExecutorTrouble(SettledBy.EXECUTOR_LOST, "it is exited", {})

    at_end = look


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    with instance_case(tmp_path / "run") as made:
        made.task()
        made.server.retried["t-1"] = "retry-9"
        yield made


def watch(case: Case, executor: DeadContainer | None) -> SettledBy:
    life = TaskLife(
        case.client, CheckpointFile(case.paths.checkpoint), SilentReporter(),
        subject="one", stop=threading.Event(), executor=executor,
    )  # fmt: skip
    return life.watch(TaskCheckpoint(task_id="t-1"), 30).by


def test_a_lost_container_ends_the_retry(case: Case) -> None:
    case.server.put("retry-9", "running", original_task_id="t-1")
    assert watch(case, DeadContainer()) is SettledBy.EXECUTOR_LOST
    assert (case.server.cancelled, case.server.live) == (["retry-9"], set())


def test_a_paused_budget_ends_the_retry(case: Case) -> None:
    case.server.put("retry-9", "scheduled", reason_code="budget_exhausted", resource_limit={"scope": "global"})
    assert watch(case, None) is SettledBy.BUDGET_PAUSED
    assert (case.server.cancelled, case.server.live) == (["retry-9"], set())
