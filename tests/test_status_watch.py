"""`status --watch`: it shows what changes, ends with the run, and leaves a run alone that it is taken from."""

import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from obo_bench.cli.status_text import frame_lines, status_lines
from obo_bench.report.status.collect import StatusReader
from tests.conftest import obo
from tests.status_case import IDS, RecordedCase
from tests.terminal_screen import Screen
from tests.test_run import until


@pytest.fixture
def case(tmp_path: Path) -> RecordedCase:
    return RecordedCase(tmp_path / "runs")


@contextmanager
def watching(case: RecordedCase, output: Path, *more: str) -> Iterator["subprocess.Popen[bytes]"]:
    command = ["programbench", "status", str(case.root), "--watch", "--interval-sec", "0.2", *more]
    with output.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "obo_bench", *command], stdout=stream, stderr=subprocess.PIPE, env=os.environ
        )
        try:
            until(lambda: output.stat().st_size)
            yield process
        finally:
            process.kill()
            process.communicate()


def test_one_line_per_change_until_the_run_is_over(case: RecordedCase, tmp_path: Path) -> None:
    output = tmp_path / "lines"
    with case.held(), watching(case, output) as process:
        case.done(IDS[0])
        until(lambda: f"{IDS[0]}: completed" in output.read_text())
        before = output.read_text().count(IDS[1])
        case.manifest("instances_failed")
        until(lambda: "instances failed" in output.read_text() or process.poll() is None)
        assert process.poll() is None
        assert output.read_text().count(IDS[1]) == before == 1
    with watching(case, output) as process:
        assert process.wait(30) == 0
    assert "killed" in output.read_text() or "instances failed" in output.read_text()


def test_one_json_document_per_change(case: RecordedCase, tmp_path: Path) -> None:
    output = tmp_path / "lines"
    with watching(case, output, "--json") as process:
        assert process.wait(30) == 0
    alone = [json.loads(line) for line in output.read_text().splitlines()]
    with case.held(), watching(case, output, "--json"):
        case.done(IDS[0])
        until(lambda: len(output.read_text().splitlines()) > 1)
        time.sleep(0.6)
        lines = [json.loads(line) for line in output.read_text().splitlines()]
    assert [one["schema"] for one in [*alone, *lines]] == ["obo_bench.status.v1"] * (1 + len(lines))
    assert [one["totals"].get("completed", 0) for one in lines] == [0, 1]


def test_ctrl_c_ends_the_watching_and_not_the_run(case: RecordedCase, tmp_path: Path) -> None:
    with case.held() as pid:
        for more in ((), ("--json",)):
            output = tmp_path / f"lines{len(more)}"
            with watching(case, output, *more) as process:
                process.send_signal(signal.SIGINT)
                assert process.wait(30) == 130
            assert "interrupted" not in output.read_text()
        os.kill(pid, 0)


def test_quiet_shows_the_end_alone(case: RecordedCase) -> None:
    case.manifest("completed")
    done = obo("programbench", "status", case.root, "--watch", "--quiet")
    assert (done.status, done.stdout.splitlines()[0]) == (0, "run r: completed (exit status 1)")


def test_a_reader_that_goes_away_ends_the_watching_quietly(case: RecordedCase) -> None:
    case.manifest("completed")
    command = f"{sys.executable} -m obo_bench programbench status '{case.root}' --watch | true; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", command], capture_output=True, timeout=60, check=True, text=True)
    assert (done.stdout.strip(), done.stderr) == ("0", "")


@pytest.mark.parametrize(("columns", "lines"), [(100, 30), (20, 6)])
def test_on_a_terminal_it_is_refreshed_in_its_place(case: RecordedCase, columns: int, lines: int) -> None:
    size = {"COLUMNS": str(columns), "LINES": str(lines)}
    with case.held() as pid:
        first, rest = on_terminal(case.root, 2, lambda: os.kill(pid, signal.SIGKILL), **size)
    frame = first.split("\x1b[?25l")[1].split("\x1b[")[0].splitlines()
    assert frame[0] == "run r: at work"
    assert 1 < len(frame) < lines
    assert max(map(len, frame)) <= columns
    assert "run r: killed, it died without an ending" in rest
    assert rest.splitlines()[-1].startswith("next: obo-bench programbench run")


LONG = "no space left " * 30


def busy(case: RecordedCase) -> RecordedCase:
    """Three instances at work, one ended, and more events than a small terminal has lines."""
    for name in IDS[1:]:
        case.task(name, "running")
    for attempt in range(1, 9):
        case.row(IDS[0], "failed", "pull_failed", attempt=attempt, error=LONG, details={"infrastructure": True})
    return case


@pytest.mark.parametrize("height", [10, 16, 20, 23, 30, 60])
def test_what_is_at_work_is_shown_before_events_and_they_before_what_has_ended(case: RecordedCase, height: int) -> None:
    with busy(case).held():
        status = StatusReader(case.root).read()
    lines = frame_lines(status, height)
    assert len(lines) <= height
    shown = [name for name in IDS if any(line.startswith(name) for line in lines)]
    events = sum(IDS[0] in line and line.startswith("  ") for line in lines)
    if height >= 20:
        assert set(IDS[1:]) <= set(shown)
    if height < 20:
        assert not events
    assert IDS[0] not in shown or events == len(status.events)
    assert height < 60 or lines == status_lines(status)


def test_the_whole_text_takes_the_place_of_the_picture(case: RecordedCase) -> None:
    with busy(case).held() as pid:
        first, rest = on_terminal(case.root, 2, lambda: os.kill(pid, signal.SIGKILL), COLUMNS="80", LINES="24")
    screen = Screen(80)
    screen.feed(first)
    picture = screen.text
    screen.feed(rest)
    assert all(any(line.startswith(name) for line in picture.splitlines()) for name in IDS[1:])
    assert any(line.endswith("…") for line in picture.splitlines())
    assert screen.text.startswith("run r: killed")
    assert screen.text.count("run r: ") == 1


def test_ctrl_c_leaves_the_last_picture(case: RecordedCase) -> None:
    with busy(case).held():
        first, rest = on_terminal(case.root, 2, None, COLUMNS="80", LINES="24")
    screen = Screen(80)
    screen.feed(first + rest)
    assert screen.text.startswith("run r: at work\n")
    assert screen.text.count("run r: ") == 1
    assert screen.cursor_shown


def test_a_terminal_that_can_do_nothing_gets_plain_lines(case: RecordedCase) -> None:
    with case.held() as pid:
        first, rest = on_terminal(case.root, 1, lambda: os.kill(pid, signal.SIGKILL), TERM="dumb")
    assert "\x1b" not in first + rest
    assert "r: at work" in first
    assert "r: killed" in rest


def on_terminal(root: Path, looks: int, then: Callable[[], object] | None, **environment: str) -> tuple[str, str]:
    """Watch a run on a pseudo terminal, calling `then` after some looks; returns what was written before and after.

    Without `then` the watching is interrupted.
    """
    controller, terminal = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "obo_bench", "programbench", "status", str(root), "--watch", "--interval-sec", "0.2"],
        stdin=subprocess.DEVNULL,
        stdout=terminal,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "TERM": "xterm", **environment},
    )
    os.close(terminal)
    first, written = b"", chunks(controller)
    while first.count(b"r: at work") < looks:
        first += next(written)
    if then is None:
        process.send_signal(signal.SIGINT)
    else:
        then()
    rest = b"".join(written)
    os.close(controller)
    assert process.wait(30) == (130 if then is None else 0)
    return first.decode(), rest.decode()


def chunks(controller: int) -> Iterator[bytes]:
    while select.select([controller], [], [], 30)[0]:
        try:
            data = os.read(controller, 65536)
        except OSError:
            # What Linux says when the other side has been closed.
            return
        if not data:
            return
        yield data
