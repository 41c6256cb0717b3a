"""What the board shows of a run's state, without a terminal."""

import re
import xml.etree.ElementTree as ET

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from obo_bench.core.forecast import duration_text, progress_text, remaining_sec, spending_text
from obo_bench.core.run_changes import InstanceChange, InstanceEnded, Phase, RunChange
from obo_bench.core.run_state import RunState
from obo_bench.report.board.cells import clean
from obo_bench.report.board.export import board_svg, board_text
from obo_bench.report.board.rows import instance_rows


class Clock:
    """A clock that is set by hand, in seconds."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def state_of(names: list[str], clock: Clock | None = None, **facts: object) -> RunState:
    state = RunState(clock or Clock())
    known: dict[str, object] = {"run_id": "night", "stage": "solving", "total": 20, "workers": 4, **facts}
    state.update(RunChange(**known))  # type: ignore[arg-type]  # facts are a change's fields
    for name in names:
        state.update(InstanceChange(name, phase=Phase.RUNNING, task_id=f"obo-{name}-1"))
    return state


def end(state: RunState, clock: Clock, name: str, seconds: float, outcome: str = "completed") -> None:
    state.update(InstanceChange(name, phase=Phase.PULL))
    clock.now += seconds
    state.update(InstanceEnded(name, outcome))


@pytest.mark.parametrize("active", [0, 1, 32])
def test_no_board_is_wider_or_higher_than_its_terminal(active: int) -> None:
    state = state_of([f"organisation{n}__repository.{n:07}" for n in range(active)], model="anthropic/claude" * 3)
    for number in range(10):
        state.event(f"event {number} {'x' * 300}")
    snapshot = state.snapshot()
    for columns in (10, 11, 23, 39, 40, 63, 79, 80, 109, 110, 250):
        for rows in (1, 2, 3, 5, 8, 13, 24, 50, 100):
            lines = board_text(snapshot, columns, rows).splitlines()
            assert len(lines) <= rows
            assert all(cell_len(line) <= columns for line in lines)


REFUSED = (
    'failed (image_pull_failed): Get "https://registry-1.docker.io/v2/programbench/abishekvashok_1776_cmatrix.5c082c6/'
    'manifests/task_cleanroom_v6?ns=docker.io": dial tcp: lookup proxy.invalid: no such host'
)


def test_a_long_event_takes_the_rows_that_are_free() -> None:
    state = state_of(["practice__colstat.0000003"])
    state.event("completed (submission_prepared)", "practice__colstat.0000003")
    state.event(REFUSED, "practice__colstat.0000003")
    lines = board_text(state.snapshot(), 40, 24).splitlines()
    told = "".join(line.strip() for line in lines)
    assert "(submission_prepared)" in told
    assert told.endswith("lookupproxy.invalid: no such host")
    assert "…" not in told


@pytest.mark.parametrize(("columns", "rows"), [(80, 9), (110, 8), (250, 8)])
def test_where_no_row_is_free_the_middle_of_long_words_gives_way_to_the_cause(columns: int, rows: int) -> None:
    state = state_of(["practice__colstat.0000003", "b"])
    state.event(REFUSED * 2 if columns == 250 else REFUSED, "practice__colstat.0000003")
    lines = board_text(state.snapshot(), columns, rows).splitlines()
    assert len(lines) <= rows
    assert lines[-1].endswith("no such host")
    assert "…" in lines[-1]


def test_more_events_than_rows_are_shown_by_a_line_each() -> None:
    state = state_of(["a", "b", "c"])
    for number in range(10):
        state.event(f"{number} {REFUSED * 3}", "a")
    lines = board_text(state.snapshot(), 60, 14).splitlines()
    assert len(lines) <= 14
    assert [f" a: {number} failed" in line for number, line in zip(range(4, 10), lines[-6:], strict=True)] == [True] * 6


def test_a_row_says_what_is_known_of_its_instance() -> None:
    clock = Clock()
    state = state_of(["jqlang__jq.b33a763"], clock)
    clock.now = 125.0
    state.update(InstanceChange("jqlang__jq.b33a763", status="pending", rounds=34, cost_usd=0.5123, container="paused"))
    [row] = [line for line in board_text(state.snapshot(), 140).splitlines() if line.startswith("jqlang")]
    assert re.split(r"  +", row) == [
        *("jqlang__jq.b33a763", "running (pending)", "2:05", "34", "0.51", "paused", "obo-jqlang__jq.b33a763-1")
    ]


def test_instances_without_room_are_counted() -> None:
    text = board_text(state_of([f"instance{n}" for n in range(32)]).snapshot(), 80, 16)
    shown = text.count("\ninstance") - 1
    assert f"{32 - shown} more at work" in text
    assert shown >= 3


def test_forty_columns_are_enough_for_instance_phase_and_time() -> None:
    text = board_text(state_of(["jqlang__jq.b33a763"]).snapshot(), 40, 12)
    assert re.search(r"^jqlang__jq\.b33a763 +running +0 s$", text, re.MULTILINE)


def test_long_texts_give_way_so_that_no_column_is_pushed_out() -> None:
    state = state_of(["organisation__repository.1234567"])
    state.update(InstanceChange("organisation__repository.1234567", progress="1 of 2 MB" * 5, container="up"))
    [row] = [line for line in board_text(state.snapshot(), 80).splitlines() if line.startswith("organisation")]
    assert "…" in row
    assert row.endswith(" up")


def test_the_head_tells_run_server_model_and_money() -> None:
    state = state_of(["a"], server_version="6.75.0", model="m/x", ceiling_usd=50.0, spent_usd=1.25, unknown_costs=2)
    state.update(InstanceChange("a", cost_usd=0.5))
    text = board_text(state.snapshot(), 120)
    assert "run night" in text
    assert "server 6.75.0 · m/x · spent 1.75 USD of 50 + 2 unknown" in text
    assert "1 at work · 19 waiting" in text


def test_a_cost_that_nobody_knows_is_not_shown_as_nothing() -> None:
    state = state_of(["a"], ceiling_usd=9.0)
    assert spending_text(state.snapshot()) == "unknown of 9"
    state.update(RunChange(spent_usd=0.0))
    assert spending_text(state.snapshot()) == "0.00 USD of 9 + 1 unknown", "a task at work may have cost something"
    state.update(InstanceChange("a", cost_usd=0.25))
    assert spending_text(state.snapshot()) == "0.25 USD of 9"


def test_no_time_is_promised_before_two_instances_have_ended() -> None:
    clock = Clock()
    state = state_of([], clock, total=10, workers=2)
    end(state, clock, "one", 100)
    assert remaining_sec(state.snapshot()) is None
    assert "time left unknown" in board_text(state.snapshot())
    end(state, clock, "two", 300)
    assert remaining_sec(state.snapshot()) == 8 * 200 / 2
    assert "about 13:20 left" in board_text(state.snapshot())


def test_what_was_skipped_says_nothing_of_the_time_that_is_left() -> None:
    clock = Clock()
    state = state_of([], clock)
    for name in "abc":
        state.update(InstanceChange(name, phase=Phase.WAITING))
        state.update(InstanceEnded(name, "skipped", worked=False))
    assert remaining_sec(state.snapshot()) is None
    assert state.snapshot().done == 3


def test_what_is_at_work_counts_only_for_the_rest_of_its_time() -> None:
    clock = Clock()
    state = state_of([], clock, total=4, workers=2)
    end(state, clock, "one", 100)
    end(state, clock, "two", 100)
    state.update(InstanceChange("three", phase=Phase.RUNNING))
    clock.now += 60
    assert remaining_sec(state.snapshot()) == (40 + 100) / 2


def test_what_waits_for_a_worker_of_the_server_has_all_of_its_time_before_it() -> None:
    clock = Clock()
    state = state_of([], clock, total=4, workers=4)
    for name in ("one", "two"):
        state.update(InstanceChange(name, phase=Phase.RUNNING))
        clock.now += 100
        state.update(InstanceEnded(name, "completed"))
    state.update(InstanceChange("three", phase=Phase.WORKER))
    state.update(InstanceChange("four", phase=Phase.WORKER))
    clock.now += 150
    assert remaining_sec(state.snapshot()) == 100
    state.update(InstanceChange("three", phase=Phase.RUNNING))
    clock.now += 30
    state.update(InstanceChange("three", phase=Phase.PACKAGING))
    [three, four] = state.snapshot().active
    assert (three.running_since, four.running_since) == (350.0, None)
    assert remaining_sec(state.snapshot()) == 100
    state.update(InstanceEnded("four", "failed"))
    assert remaining_sec(state.snapshot()) == 70


def test_past_the_average_no_time_is_promised_and_the_stage_is_named() -> None:
    clock = Clock()
    state = state_of([], clock, total=3)
    end(state, clock, "one", 10)
    end(state, clock, "two", 10)
    state.update(InstanceChange("three", phase=Phase.RUNNING))
    assert "solving: about 10 s left" in board_text(state.snapshot())
    clock.now += 10
    assert "solving: longer than the average so far" in board_text(state.snapshot())
    assert progress_text(state.snapshot()).endswith("; longer than the average so far")
    state.update(InstanceEnded("three", "completed"))
    assert "left" not in board_text(state.snapshot()) + progress_text(state.snapshot())


def test_what_was_not_attempted_is_neither_done_nor_waiting() -> None:
    state = state_of([], total=200)
    state.update(InstanceEnded("done", "completed"))
    for number in range(199):
        state.update(InstanceEnded(f"a{number}", "not_attempted", worked=False))
    snapshot = state.snapshot()
    assert (snapshot.done, snapshot.waiting) == (1, 0)
    text = board_text(snapshot)
    assert f"solving {'─' * 30} 1/200\n" in text
    assert "199 not_attempted" in text
    assert "left" not in text
    assert progress_text(snapshot).startswith("solving: 1 of 200 done; spent")


def test_the_next_stage_begins_with_nothing_done() -> None:
    clock = Clock()
    state = state_of([], clock, total=3)
    for name in "abc":
        end(state, clock, name, 10)
    state.update(RunChange(stage="evaluating", total=2))
    assert " 0/2\n0 at work · 2 waiting\n" in board_text(state.snapshot())
    end(state, clock, "a", 5, "pass")
    assert progress_text(state.snapshot()).startswith("evaluating: 1 of 2 done; spent unknown")


def test_a_new_phase_begins_its_own_time_and_progress() -> None:
    clock = Clock()
    state = state_of([], clock)
    state.update(InstanceChange("a", phase=Phase.PULL))
    state.update(InstanceChange("a", progress="12 of 80 MB"))
    assert "image pull (12 of 80 MB)" in board_text(state.snapshot())
    clock.now = 50
    state.update(InstanceChange("a", phase=Phase.SEED))
    [instance] = state.snapshot().active
    assert (instance.change.progress, instance.begun, instance.phase_begun) == (None, 0.0, 50.0)


@settings(max_examples=200, deadline=None)
@given(st.text(), st.sampled_from(["utf-8", "ascii", "cp932", "latin-1"]))
def test_foreign_text_takes_the_columns_that_it_is_given(text: str, encoding: str) -> None:
    state = state_of([text], model=text)
    state.event(text, text)
    board = board_text(state.snapshot(), 80, 24, encoding=encoding)
    assert all(cell_len(line) <= 80 for line in board.splitlines())
    assert all(character.isprintable() for line in board.split("\n") for character in line)
    assert board.encode(encoding)


def test_marks_and_right_to_left_letters_do_not_move_their_neighbours() -> None:
    assert clean("a\u0301b\ufe0f\u200d\u202ec") == "áb  c"
    assert clean("\u05d0\u0627x") == "??x"
    assert clean("日本", "ascii") == "??"


def test_markup_is_shown_as_it_is() -> None:
    assert "[bold red]x[/]" in board_text(state_of(["[bold red]x[/]"]).snapshot(), colour=True)


def test_the_picture_is_the_same_each_time_and_needs_nothing_from_elsewhere() -> None:
    state = state_of(["jqlang__jq.b33a763", "<script>&"])
    picture = board_svg(state.snapshot())
    assert picture == board_svg(state.snapshot())
    ET.fromstring(picture)
    links = re.findall(r"""(?:href|src|url)\s*[=(]\s*["']?([^"')]+)""", picture)
    assert all(link.startswith("#") for link in links)
    assert "font-face" not in picture


def test_durations_are_short() -> None:
    assert [duration_text(seconds) for seconds in (-1, 59.9, 60, 3599, 3600, 90061)] == [
        *("0 s", "59 s", "1:00", "59:59", "1:00:00", "25:01:01")
    ]


@pytest.mark.parametrize(("height", "shown", "hidden"), [(1, 0, 3), (2, 1, 2), (3, 3, 0), (4, 3, 0)])
def test_where_room_is_short_instances_come_before_their_heading(height: int, shown: int, hidden: int) -> None:
    snapshot = state_of(["one", "two", "three"]).snapshot()
    lines = [line.plain for line in instance_rows(snapshot, 40, height, "utf-8")]
    assert len(lines) <= height
    assert sum(line.split()[0] in ("one", "two", "three") for line in lines) == shown
    assert (f"{hidden} more at work" in lines[-1]) == bool(hidden)
