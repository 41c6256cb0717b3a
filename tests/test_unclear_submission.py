"""A submission whose answer says nothing: the task may be there, so the server is asked again, never forgotten."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.reporter import SilentReporter
from obo_bench.gateway.checkpoint import CheckpointFile, TaskCheckpoint
from obo_bench.gateway.client import GatewayClient
from obo_bench.gateway.errors import GatewayRefused
from obo_bench.gateway.lifecycle import TaskLife, TaskRejected
from obo_bench.practice.standin import parse_fault

Serve = Callable[..., str]
TASK = "obo-0badcafe-a-1"
BODY: dict[str, Any] = {"task_id": TASK, "description": "x", "metadata": {"programbench_instance_id": "demo__a"}}


@pytest.fixture
def submit(tmp_path: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., TaskCheckpoint]]:
    monkeypatch.setattr("obo_bench.gateway.lifecycle.SUBMIT_PAUSE_SEC", 0.01)
    clients = []

    def to(*faults: str) -> TaskCheckpoint:
        url = serve(faults=tuple(map(parse_fault, faults)), scenario="instant", solve_delay_sec=20)
        clients.append(GatewayClient(url, deadline_sec=5))
        life = TaskLife(
            clients[-1], CheckpointFile(tmp_path / "checkpoint.json"), SilentReporter(),
            subject="a", stop=threading.Event(), executor=None,
        )  # fmt: skip
        return life.submit(BODY, TaskCheckpoint(task_id=TASK))

    yield to
    for client in clients:
        client.close()


@pytest.mark.parametrize("fault", ["not-json", "html", "wrong-types", "cut", "drop-answer"])
def test_an_answer_that_cannot_be_read_does_not_leave_the_task_alone(submit: Any, fault: str) -> None:
    assert submit(f"submit:{fault}*1").status in ("scheduled", "running")


@pytest.mark.parametrize("status", [500, 502, 503, 504])
def test_a_failure_of_the_server_or_a_proxy_is_no_refusal_of_the_task(submit: Any, status: int) -> None:
    assert submit(f"submit:status={status}*2").status in ("scheduled", "running")


@pytest.mark.parametrize("status", [401, 500])
def test_a_refused_question_about_the_task_is_no_refusal_of_the_task(submit: Any, status: int) -> None:
    assert submit("submit:drop-answer*1", f"task:status={status}*1").status in ("scheduled", "running")


def test_a_server_that_goes_on_failing_leaves_it_unclear(submit: Any) -> None:
    with pytest.raises(GatewayRefused, match="answered 502"):
        submit("submit:status=502")


def test_a_refusal_of_the_task_itself_is_final_at_every_try(submit: Any) -> None:
    with pytest.raises(TaskRejected):
        submit("submit:drop*4", "submit:status=400")
