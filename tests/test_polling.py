"""How often we look: soon after a change, so that nobody waits for us, and seldom while nothing happens."""

import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from obo_bench.core.reporter import SilentReporter
from obo_bench.engine.cleanroom import Cleanroom
from obo_bench.gateway.checkpoint import CheckpointFile, TaskCheckpoint
from obo_bench.gateway.lifecycle import FIRST_POLL_SEC, SLOWEST_POLL_SEC, TaskLife
from obo_bench.gateway.wire import TaskRecord


class Pauses(threading.Event):
    """A stop that never comes and is never waited for, only asked how long to pause."""

    def __init__(self) -> None:
        super().__init__()
        self.taken: list[float] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.taken.append(timeout or 0.0)
        return False


def test_a_task_is_looked_at_seldom_while_nothing_changes_and_soon_after_a_change(tmp_path: Path) -> None:
    running = {"task_id": "t", "status": "running"}
    told = [running] * 20 + [{**running, "artifact_status": "finalizing"}, {**running, "status": "completed"}]
    answers = iter(TaskRecord.model_validate(each) for each in told)
    client = cast("Any", SimpleNamespace(task=lambda _: next(answers)))
    pauses, checkpoints = Pauses(), CheckpointFile(tmp_path / "checkpoint.json")
    life = TaskLife(client, checkpoints, SilentReporter(), subject="i", stop=pauses, executor=None)
    settled = life.watch(TaskCheckpoint(task_id="t", attempt=1, container="c"), 60)
    assert settled.record is not None
    assert settled.record.status == "completed"
    waiting = pauses.taken[:20]
    assert waiting == sorted(waiting)
    assert (waiting[0], waiting[-1]) == (FIRST_POLL_SEC, SLOWEST_POLL_SEC)
    assert pauses.taken[20:] == [FIRST_POLL_SEC]


def test_a_short_command_is_not_waited_for_longer_than_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    monkeypatch.setattr("obo_bench.engine.cleanroom.time.sleep", slept.append)
    states = iter([{"Running": True, "ExitCode": None}] * 8 + [{"Running": False, "ExitCode": 7}])
    api = SimpleNamespace(
        exec_create=lambda *_, **__: {"Id": "e"}, exec_start=lambda *_, **__: None, exec_inspect=lambda _: next(states)
    )
    trace = SimpleNamespace(expect=lambda _: None)
    engine = SimpleNamespace(client=SimpleNamespace(api=api), events=SimpleNamespace(follow=lambda _: trace))
    container = SimpleNamespace(id="c", attrs={"State": {"StartedAt": ""}})
    room = Cleanroom(cast("Any", engine), cast("Any", None), cast("Any", container))
    assert room.run("true") == 7
    assert slept == sorted(slept)
    assert slept[0] <= 0.01
    assert slept[-1] == slept[-2] <= 0.05
