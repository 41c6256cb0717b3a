"""What a server does to a task that it was given, each time with its one right consequence for the money."""

import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.soak.invariants import check_always, check_end
from tests.soak.world import Run, World, world

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]

SERVER = ("--scenario", "instant", "--solve-delay-sec", "3", "--finalize-delay-sec", "0", "--workers", "1")


@pytest.fixture
def place(tmp_path: Path) -> Iterator[World]:
    with world(tmp_path, 1, *SERVER, series=15) as made:
        yield made


def until(condition: Callable[[], object]) -> None:
    give_up = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < give_up, "it did not come to that"
        time.sleep(0.02)


def task_ids(run: Run) -> list[str]:
    return run.tasks().get(run.world.ids[0], [])


def status_at_server(run: Run) -> str:
    ids = task_ids(run)
    return str(run.world.server.record(ids[-1]).get("status")) if ids else ""


def reason(run: Run) -> str:
    return str(run.rows()[-1]["reason_code"])


def ends(run: Run, *, tasks: int) -> None:
    """The next start brings it to its end; so many tasks were ever made for it."""
    status, told = run.finish()
    assert status == 0, told
    check_end(run, tasks_each=tasks)


def test_a_task_that_ran_when_the_server_crashed_is_followed_by_another(place: World) -> None:
    run = Run(place, "r")
    process = run.start()
    until(lambda: status_at_server(run) == "running")
    place.server.crash()
    process.communicate(timeout=120)
    assert (process.returncode, reason(run)) == (1, "orphaned_running_after_worker_restart")
    check_always(run)
    ends(run, tasks=2)


def test_a_task_that_ran_when_the_server_was_shut_down_is_followed_by_another(place: World) -> None:
    run = Run(place, "r")
    process = run.start()
    until(lambda: status_at_server(run) == "running")
    place.server.end(signal.SIGTERM)
    place.server.start()
    process.communicate(timeout=120)
    assert (process.returncode, reason(run)) == (1, "cancelled")
    check_always(run)
    ends(run, tasks=2)


def test_a_waiting_task_that_a_crash_of_the_server_lost_is_followed_by_another(place: World) -> None:
    run = Run(place, "r")
    # The only worker is taken, for as long as a busy machine may need to begin a run, and the server says it is free.
    for number in range(40):
        asked = {"description": "x", "task_id": f"foreign-{number}"}
        httpx.post(f"{place.server.url}/api/tasks", json=asked, trust_env=False)
    place.server.faults('state:patch={"pending_count":0,"running_count":0,"workers_alive":1}')
    process = run.start()
    until(lambda: status_at_server(run) == "scheduled")
    place.server.crash()
    process.communicate(timeout=120)
    assert (process.returncode, reason(run)) == (1, "lost")
    assert place.server.live() == []
    ends(run, tasks=2)


def test_a_task_that_waits_for_budget_is_cancelled_and_followed_by_another(place: World) -> None:
    run = Run(place, "r")
    place.server.faults("work:budget-paused*1")
    status, _ = run.finish()
    assert (status, reason(run), status_at_server(run)) == (1, "budget_exhausted", "cancelled")
    check_always(run)
    ends(run, tasks=2)


def test_a_task_that_the_server_retries_under_a_new_id_is_the_same_task(place: World) -> None:
    run = Run(place, "r")
    place.server.faults('task:patch={"task_id":"{task_id}-2","original_task_id":"{task_id}"}')
    ends(run, tasks=1)


@pytest.mark.parametrize("fault", ["task:html", "task:drop"])
def test_while_it_cannot_be_asked_for_a_task_no_other_is_made(place: World, fault: str) -> None:
    run = Run(place, "r")
    process = run.start()
    until(lambda: run.checkpoint(place.ids[0]).get("status") == "running")
    process.kill()
    process.communicate()
    place.server.faults(fault)
    status, _ = run.finish()
    assert (status, len(task_ids(run))) == (1, 1)
    assert reason(run).endswith("_reattachable")
    place.server.faults()
    ends(run, tasks=1)
