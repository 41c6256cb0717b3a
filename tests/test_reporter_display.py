"""What an operator sees without a board, what the log of an invocation holds, and what neither may do to a run."""

import contextlib
import os
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from obo_bench.cli.seen import OperatorDisplay
from obo_bench.core.admission import AdmissionRequest
from obo_bench.core.display import Display, FaceMaker
from obo_bench.core.face import Face, NoFace, PlainFace
from obo_bench.core.invocation_log import InvocationLog
from obo_bench.core.redact import process_redactor
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import LONGEST_LINE
from obo_bench.core.run_changes import InstanceChange, Phase, RunChange
from obo_bench.core.run_state import RunState
from obo_bench.core.session import benchmark_session
from obo_bench.core.showing import Showing
from obo_bench.engine.pull_progress import PullMeter


def log_at(root: Path) -> InvocationLog:
    return InvocationLog(root, "i", lambda: True)


def told(display: Display, root: Path) -> None:
    """Let a short run tell what runs tell."""
    display.open(log_at(root))
    display.update(InstanceChange("a", phase=Phase.SEED))
    display.update(InstanceChange("a", phase=Phase.RUNNING, task_id="obo-a-1"))
    display.update(InstanceChange("a", status="running", rounds=3, cost_usd=0.5))
    display.event("completed (submission_prepared)", "a")
    display.close("ended: completed")


def shown(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [line[9:] for line in capsys.readouterr().err.splitlines()]


def test_without_a_terminal_each_event_is_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(OperatorDisplay(), tmp_path)
    assert shown(capsys) == ["a: phase seeding", "a: completed (submission_prepared)"]


def test_verbose_tells_phases_and_looks_at_the_task(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(OperatorDisplay(verbose=True), tmp_path)
    assert shown(capsys) == [
        "a: phase seeding",
        "a: phase running (task obo-a-1)",
        "a: status running, rounds 3, cost 0.5000 USD",
        "a: completed (submission_prepared)",
    ]


def test_quiet_shows_nothing_and_logs_all_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told(OperatorDisplay(quiet=True), tmp_path)
    assert not shown(capsys)
    lines = (tmp_path / "logs" / "i.log").read_text().splitlines()
    assert [line[25:] for line in lines] == [
        "a: phase seeding",
        "a: phase running (task obo-a-1)",
        "a: completed (submission_prepared)",
        "ended: completed",
    ]
    assert all(line[:4].isdigit() and line[10] == "T" and line[23] == "Z" for line in lines)


def test_before_and_after_its_run_a_display_tells_at_once(capsys: pytest.CaptureFixture[str]) -> None:
    display = OperatorDisplay()
    display.event("early")
    display.update(RunChange(total=1))
    display.close("")
    assert shown(capsys) == ["early"]


def test_a_pull_that_takes_long_is_told_now_and_then(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def pull() -> list[str]:
        display = OperatorDisplay()
        display.open(log_at(tmp_path))
        display.update(InstanceChange("a", phase=Phase.PULL))
        for megabytes in (1, 2, 3):
            display.update(InstanceChange("a", progress=f"{megabytes} of 9 MB"))
        display.close("")
        return shown(capsys)

    assert not pull()
    monkeypatch.setattr("obo_bench.core.display._PROGRESS_SEC", 0.0)
    assert pull()[-1] == "a: progress 3 of 9 MB"


def test_silence_ends_with_a_sign_of_life(capsys: pytest.CaptureFixture[str]) -> None:
    state = RunState()
    state.update(RunChange(stage="solving", total=9, spent_usd=1.5, unknown_costs=0))
    state.update(InstanceChange("a", phase=Phase.RUNNING))
    PlainFace(heartbeat_sec=3600).look(state)
    assert not shown(capsys), "nothing was silent for so long"
    PlainFace(heartbeat_sec=0).look(state)
    assert shown(capsys) == ["solving: 0 of 9 done; 1 at work (1 running); spent 1.50 USD"]


class Breaking(NoFace):
    """A face that fails at a given point."""

    period_sec = 0.01

    def __init__(self, where: str) -> None:
        self._where = where

    def line(self, line: str) -> None:
        self._break("line", line)

    def look(self, state: RunState) -> None:
        self._break("look", state)

    def close(self, state: RunState) -> None:
        self._break("close", state)

    def _break(self, where: str, what: object) -> None:
        if where == self._where:
            raise RuntimeError(f"cannot draw {what}")


@pytest.mark.parametrize("where", ["make", "line", "look"])
def test_a_face_that_breaks_gives_way_to_plain_lines(
    where: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    replaced = threading.Event()

    def broken() -> Face:
        if where == "make":
            raise OSError(5, "Input/output error")
        return Breaking(where)

    def plain() -> Face:
        replaced.set()
        return PlainFace()

    class Two(Display):
        def faces(self) -> Iterator[FaceMaker]:
            return iter([broken, plain])

    display = Two()
    display.open(log_at(tmp_path))
    if where == "line":
        display.event("lost to the face that broke, not to the log")
    assert replaced.wait(60)
    display.event("one")
    display.close("end")
    assert shown(capsys) == ["one"]
    assert len((tmp_path / "logs" / "i.log").read_text().splitlines()) == (3 if where == "line" else 2)


class Slow(PlainFace):
    """Takes its time for a line."""

    def line(self, line: str) -> None:
        time.sleep(0.3)
        super().line(line)


def test_a_flushed_event_is_shown_before_anything_that_comes_later(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class One(Display):
        def faces(self) -> Iterator[FaceMaker]:
            return iter([Slow])

    display = One()
    display.flush()
    display.open(log_at(tmp_path))
    display.event("one")
    display.flush()
    assert shown(capsys) == ["one"]
    display.close("end")
    display.flush()


@pytest.mark.parametrize("face", [Breaking("close"), Breaking("line")], ids=["close", "line"])
def test_a_display_without_a_face_left_ends_like_any_other(face: Face, tmp_path: Path) -> None:
    class One(Display):
        def faces(self) -> Iterator[FaceMaker]:
            return iter([lambda: face])

    before = set(threading.enumerate())
    told(One(), tmp_path)
    assert set(threading.enumerate()) <= before
    assert "ended: completed" in (tmp_path / "logs" / "i.log").read_text()


def test_a_log_holds_neither_secrets_nor_endless_lines(tmp_path: Path) -> None:
    process_redactor().learn(["sk-verysecretvalue"])
    log = log_at(tmp_path)
    log.line(f"key sk-verysecretvalue\n\x1b[31m\udce4 {'x' * 100_000}", "a")
    log.close()
    [line] = log.path.read_text("utf-8").splitlines()
    assert "verysecret" not in line
    assert line.isprintable()
    assert len(line) < LONGEST_LINE + 100
    assert log.path.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("kind", ["file", "link", "gone"])
def test_a_log_that_cannot_be_written_is_done_without(kind: str, tmp_path: Path) -> None:
    root = tmp_path / "run"
    if kind != "gone":
        root.mkdir()
    if kind == "file":
        (root / "logs").write_text("mine")
    elif kind == "link":
        (root / "logs").mkdir()
        (root / "logs" / "i.log").symlink_to(tmp_path / "victim")
    log = log_at(root)
    log.line("one")
    log.line("two")
    log.close()
    assert not (tmp_path / "victim").exists()


def test_a_log_goes_on_when_its_disk_has_room_again(tmp_path: Path) -> None:
    log = log_at(tmp_path / "later")
    log.line("one")
    (tmp_path / "later").mkdir()
    log.line("two")
    log.close()
    assert [line[25:] for line in log.path.read_text().splitlines()] == ["one", "two"]


def test_a_body_is_logged_from_admission_to_its_end(request_of_a_run: AdmissionRequest) -> None:
    with benchmark_session(request_of_a_run) as session, Showing(session, OperatorDisplay(quiet=True)):
        session.conclude("instances_failed", 1)
    [log] = (request_of_a_run.run_root / "logs").iterdir()
    assert log.stem == session.invocation
    first, last = log.read_text().splitlines()
    assert "programbench run: invocation" in first
    assert last.endswith("ended: instances_failed (exit status 1)")


def test_an_invocation_that_is_refused_leaves_no_log_in_anothers_run(request_of_a_run: AdmissionRequest) -> None:
    def run(display: Display, *, refused: bool) -> None:
        with benchmark_session(request_of_a_run) as session, Showing(session, display):
            display.event("at work")
            if refused:
                raise PreflightRefused("empty_selection", "nothing is selected")
            session.gates_passed()

    run(OperatorDisplay(quiet=True), refused=False)
    [before] = (request_of_a_run.run_root / "logs").iterdir()
    with pytest.raises(PreflightRefused):
        run(OperatorDisplay(quiet=True), refused=True)
    assert list((request_of_a_run.run_root / "logs").iterdir()) == [before]
    run(OperatorDisplay(quiet=True), refused=False)
    assert len(list((request_of_a_run.run_root / "logs").iterdir())) == 2, "what came before the gates is in it"


def test_workers_that_all_tell_at_once_lose_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    display = OperatorDisplay()
    display.open(log_at(tmp_path))

    def tell(number: int) -> None:
        for count in range(100):
            display.event(f"{number} {count}")

    workers = [threading.Thread(target=tell, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    display.close("end")
    assert len(set(shown(capsys))) == 800
    assert len((tmp_path / "logs" / "i.log").read_text().splitlines()) == 801


def layer(name: str, status: object, current: object = None, total: object = None) -> dict[str, object]:
    return {"id": name, "status": status, "progressDetail": {"current": current, "total": total}}


def test_a_pull_is_added_up_over_its_layers() -> None:
    state = RunState()
    meter = PullMeter(state, "a")
    meter.begin()
    meter.see({"id": "v6", "status": "Pulling from programbench/x"})
    meter.see(layer("l1", "Already exists"))
    meter.see(layer("l2", "Downloading", 10_000_000, 40_000_000))
    meter.see(layer("l3", "Downloading", 5_000_000, 5_000_000))
    meter.see(layer("l3", "Pull complete"))
    assert meter.text() == "15 of 45 MB, 2 of 3 layers"
    [instance] = state.snapshot().active
    assert (instance.change.phase, instance.change.progress) == (Phase.PULL, "1 of 1 layers")


@pytest.mark.parametrize("value", [None, "12", -5, True, {}, [1]], ids=str)
def test_odd_events_of_a_pull_do_no_harm(value: Any) -> None:
    meter = PullMeter(RunState(), "a")
    for event in ({"status": value}, {"id": value, "status": "Downloading"}, layer("l", "Downloading", value, value)):
        meter.see(event)
    meter.see({"id": "l", "status": "Downloading", "progressDetail": value})
    assert "layers" in meter.text()


def test_a_closed_stderr_is_no_trouble(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    os.close(read)
    with contextlib.suppress(OSError), os.fdopen(write, "w") as stream:
        monkeypatch.setattr("sys.stderr", stream)
        told(OperatorDisplay(), tmp_path)
    monkeypatch.undo()
    assert "ended: completed" in (tmp_path / "logs" / "i.log").read_text()
