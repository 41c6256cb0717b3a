"""How `status` sees the instances of a run: at work, left behind, over, and what a resume would do with each."""

from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.files import write_json
from obo_bench.report.status.collect import StatusReader
from obo_bench.report.status.document import InstanceStatus, RunStatus
from tests.status_case import IDS, RecordedCase
from tests.task_server import task_server

DONE, LIVE, LOST, NEW = IDS


@pytest.fixture
def case(tmp_path: Path) -> RecordedCase:
    return RecordedCase(tmp_path / "runs")


def states(status: RunStatus) -> dict[str, str]:
    return {one.instance_id: str(one.state) for one in status.instances}


def steps(status: RunStatus) -> dict[str, str]:
    return {one.instance_id: one.next_step.step for one in status.instances if one.next_step is not None}


def of(status: RunStatus, name: str) -> InstanceStatus:
    return next(one for one in status.instances if one.instance_id == name)


def test_the_instances_of_a_living_run_are_at_work_done_or_waiting(case: RecordedCase) -> None:
    case.done(DONE)
    case.task(LIVE, "running")
    case.task(LOST, "intent")
    with case.held() as pid:
        status = StatusReader(case.root).read()
    assert states(status) == {DONE: "completed", LIVE: "solving", LOST: "submitting", NEW: "waiting"}
    assert status.totals == {"completed": 1, "solving": 1, "submitting": 1, "waiting": 1}
    assert (status.process.state, status.process.pid, status.outcome) == ("alive", pid, "started")
    assert status.process.command == "programbench run"
    assert status.resume is None
    assert steps(status) == {}


def test_what_comes_before_a_submission_is_told_apart(case: RecordedCase) -> None:
    (case.root / DONE).mkdir()
    (case.root / LIVE).mkdir()
    (case.root / LIVE / "ouroboros_task_body.json").write_text("{}")
    with case.held():
        found = states(StatusReader(case.root).read())
    assert (found[DONE], found[LIVE], found[LOST]) == ("preparing", "queued", "waiting")


def test_a_task_that_is_over_and_has_no_row_is_being_packaged(case: RecordedCase) -> None:
    case.task(LIVE, "completed", task_result={"status": "completed", "total_rounds": 7})
    with case.held():
        found = of(StatusReader(case.root).read(), LIVE)
    assert (found.state, found.rounds, found.task_status) == ("packaging", 7, "completed")


def test_what_an_earlier_invocation_left_waits_for_the_present_one(case: RecordedCase) -> None:
    case.row(LIVE, "failed", "interrupted", invocation="r-0", details={"infrastructure": True})
    case.row(LOST, "blocked", "image_pull_failed", invocation="r-0", details={"infrastructure": True})
    case.row(NEW, "failed", "image_pull_failed", details={"infrastructure": True})
    case.task(LIVE, "running")
    with case.held():
        found = states(StatusReader(case.root).read())
    assert found == {DONE: "waiting", LIVE: "solving", LOST: "preparing", NEW: "failed"}


def test_a_killed_run_left_its_tasks_and_only_the_server_can_tell_what_became_of_them(case: RecordedCase) -> None:
    case.done(DONE)
    case.task(LIVE, "running")
    status = StatusReader(case.root).read()
    assert (status.process.state, status.outcome) == ("killed", "killed")
    assert states(status) == {DONE: "completed", LIVE: "left", LOST: "not_begun", NEW: "not_begun"}
    assert steps(status) == {DONE: "skip", LIVE: "ask", LOST: "solve", NEW: "solve"}
    assert status.server.reachable is False
    assert status.resume is not None
    assert any("cannot be asked" in note for note in status.resume.notes)
    assert status.money.lower_bound
    assert status.money.unknown_attempts == 1


def test_a_resume_is_foretold_with_what_the_server_says_and_nothing_is_cancelled(tmp_path: Path) -> None:
    with task_server() as server:
        case = RecordedCase(tmp_path / "runs", ids=[*IDS, "e__old.0000005", "f__gone.0000006"], url=server.url)
        case.done(DONE)
        server.put(case.task(LIVE, "running"), "running")
        case.task(LOST, "intent")
        server.put(case.task("e__old.0000005", "running"), "running", cost_breakdown={"own_usd": 0.25}, total_rounds=9)
        case.row("e__old.0000005", "failed", "worker_crash_signal", details={"infrastructure": True})
        case.task("f__gone.0000006", "running")
        status = StatusReader(case.root).read()
        assert server.cancelled == []
    assert steps(status) == {
        DONE: "skip",
        LIVE: "attach",
        LOST: "repost",
        NEW: "solve",
        "e__old.0000005": "solve",
        "f__gone.0000006": "block",
    }
    again = of(status, "e__old.0000005").next_step
    assert again is not None
    assert again.attempt == 2
    assert "once the earlier task is cancelled" in again.why
    blocked = of(status, "f__gone.0000006").next_step
    assert blocked is not None
    assert "--retry task_unknown_to_server" in blocked.why
    assert status.resume is not None
    assert status.resume.steps == {"skip": 1, "attach": 1, "repost": 1, "solve": 2, "block": 1}


def test_the_agents_failure_is_kept_unless_the_run_asked_for_another(case: RecordedCase) -> None:
    case.row(LIVE, "failed", "round_limit", details={"infrastructure": False}, error="too many rounds")
    case.manifest("instances_failed")
    found = of(StatusReader(case.root).read(), LIVE)
    assert (found.state, found.error) == ("failed", "too many rounds")
    assert found.next_step is not None
    assert (found.next_step.step, "--retry round_limit" in found.next_step.why) == ("keep", True)
    case.manifest("instances_failed", harness={"ouroboros_url": case.url, "retry": ["round_limit"]})
    again = of(StatusReader(case.root).read(), LIVE).next_step
    assert again is not None
    assert (again.step, again.attempt) == ("solve", 2)


def test_running_tasks_show_the_servers_rounds_and_cost(tmp_path: Path) -> None:
    with task_server() as server:
        case = RecordedCase(tmp_path / "runs", url=server.url)
        told: dict[str, Any] = {"total_rounds": 12, "cost_breakdown": {"own_usd": 0.5, "children_usd": 0.25}}
        server.put(case.task(LIVE, "running"), "running", **told)
        with case.held():
            status = StatusReader(case.root).read()
    found = of(status, LIVE)
    assert (found.rounds, found.cost_usd, found.cost_is_final, found.task_status) == (12, 0.75, False, "running")
    assert (status.money.running_usd, status.money.lower_bound) == (0.75, True)


def test_a_spent_ceiling_holds_new_attempts_back(case: RecordedCase) -> None:
    case.done(DONE, cost={"usd": 2.5, "final": True, "lower_bound": False})
    case.manifest("stopped_budget", harness={"ouroboros_url": case.url, "max_cost_usd": 2.0, "retry": []})
    status = StatusReader(case.root).read()
    assert (status.money.known_usd, status.money.ceiling_usd, status.money.lower_bound) == (2.5, 2.0, False)
    assert status.resume is not None
    assert any("its ceiling is 2" in note for note in status.resume.notes)


def test_damaged_documents_are_problems_and_not_the_end(case: RecordedCase) -> None:
    case.done(DONE)
    case.task(LIVE, "running")
    (case.root / LIVE / "ouroboros_task_checkpoint.json").write_text("{")
    write_json(case.root / "grade_summary.json", {"schema": "something else"})
    status = StatusReader(case.root).read()
    assert of(status, LIVE).next_step is not None
    assert steps(status)[LIVE] == "block"
    assert len(status.problems) == 2
    (case.root / "run_manifest.json").write_text("torn")
    status = StatusReader(case.root).read()
    assert any("run_manifest.json cannot be read" in problem for problem in status.problems)
    assert list(states(status)) == list(IDS)


def test_a_ledger_that_grows_is_read_again(case: RecordedCase) -> None:
    reader = StatusReader(case.root)
    with case.held():
        assert states(reader.read())[DONE] == "waiting"
        case.done(DONE)
        assert states(reader.read())[DONE] == "completed"
        case.row(NEW, "failed", "round_limit")
        assert states(reader.read())[NEW] == "failed"
