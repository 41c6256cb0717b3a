"""Every way out of a launcher: `$?`, the manifest's outcome and exit_code, and child_exit_code tell one story."""

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from obo_bench.practice.seed import make_seed_checkout
from tests.exec_launchers.launcher import SECRET
from tests.exec_table import FATAL, WAYS, take
from tests.exec_world import Ended, alive

Taken = dict[str, "Future[Ended]"]


@pytest.fixture(scope="module")
def ended(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Taken]:
    """All chosen ways out, under way at the same time."""
    chosen = dict.fromkeys(
        str(item.callspec.params["name"])
        for item in request.session.items
        if isinstance(item, pytest.Function) and item.module is request.module and hasattr(item, "callspec")
    )
    base = tmp_path_factory.mktemp("exec")
    seed = make_seed_checkout(base / "seed" / "ouroboros")
    with ThreadPoolExecutor(4) as pool:
        yield {name: pool.submit(take, WAYS[name], base / str(at), seed) for at, name in enumerate(chosen)}


@pytest.mark.parametrize("name", WAYS)
def test_every_way_out_is_what_the_table_says(name: str, ended: Taken) -> None:
    way, found = WAYS[name], ended[name].result()
    extra = found.extra
    assert found.status == way.status, found.stderr
    assert (extra["exit_code"], extra["outcome"]) == (way.status, way.outcome)
    assert extra["child_exit_code"] == way.child
    if not way.signals and way.child is not None:
        assert found.stdout == f"{found.run_root}\n"


@pytest.mark.parametrize("name", ["prints secrets"])
def test_secrets_are_shown_nowhere_also_where_they_arrive_in_pieces(name: str, ended: Taken) -> None:
    found = ended[name].result()
    expected = (
        b"the key is [redacted]\nAPI_TOKEN=[redacted]\n"
        b"OTHER_PASSWORD=[redacted]\nbytes \xff\xfe that are no text, no end"
    )
    assert found.log == expected
    assert expected in found.stderr
    for path in found.run_root.rglob("*"):
        assert not path.is_file() or SECRET[:14].encode() not in path.read_bytes(), path


@pytest.mark.parametrize("name", ["forks", "forks a storm"])
def test_processes_that_outlive_the_launcher_are_ended_and_recorded(name: str, ended: Taken) -> None:
    left = ended[name].result().report["left_processes"]
    assert left["alive"] == 0
    assert left["count"] >= 2
    assert not any(alive(process["pid"]) for process in left["processes"])
    if name == "forks":
        assert sorted(process["in_group"] for process in left["processes"]) == [False, True]


@pytest.mark.parametrize("name", ["fatal reason in its outcome", "fatal reason in a row"])
def test_a_fatal_reason_stops_it_before_it_archives_anything(name: str, ended: Taken) -> None:
    found = ended[name].result()
    assert found.extra["refusal"]["reason"] == FATAL
    assert found.extra["refusal"]["exit_code"] == 7
    assert found.report["stopped_for"]
    assert not (found.run_root.parents[2] / "archived").exists()


@pytest.mark.parametrize("name", ["ceiling, claimed", "ceiling, rows"])
def test_what_was_spent_is_recorded_where_the_ceiling_stopped_it(name: str, ended: Taken) -> None:
    cost = ended[name].result().extra["cost"]
    assert (cost["known_usd"], cost["ceiling_usd"]) == ({"ceiling, claimed": 3.5, "ceiling, rows": 4.0}[name], 3.0)


@pytest.mark.parametrize("name", ["server replaced"])
def test_another_server_is_told_by_its_version(name: str, ended: Taken) -> None:
    extra = ended[name].result().extra
    assert (extra["refusal"]["stage"], extra["refusal"]["reason"]) == ("runtime_attestation", "runtime_changed")
    assert [event["event"] for event in extra["server_events"]] == ["changed"]


@pytest.mark.parametrize("name", ["hangs", "hangs, ignores SIGTERM", "hangs, stopped"])
def test_a_launcher_that_was_stopped_for_its_time_is_said_to_be(name: str, ended: Taken) -> None:
    assert ended[name].result().report["timed_out"] is True


@pytest.mark.parametrize("name", [name for name in WAYS if name.startswith("outcome file: ")])
def test_what_stands_in_the_place_of_the_outcome_is_a_recorded_problem(name: str, ended: Taken) -> None:
    report = ended[name].result().report
    claimed = name.endswith("word")
    assert any("outcome" in problem for problem in report["problems"])
    assert (report["claim"] is not None) == claimed


@pytest.mark.parametrize("name", ["bad rows"])
def test_bad_rows_are_counted_and_told_and_good_ones_get_our_fields(name: str, ended: Taken) -> None:
    found = ended[name].result()
    assert (found.report["rows_taken"], found.report["rows_bad"]) == (1, 4)
    [row, missing] = found.rows
    assert (row.instance_id, row.benchmark, row.seq, row.prev_sha256) == ("t1", "demo", 1, "")
    assert (missing.instance_id, missing.status, missing.reason_code) == ("t2", "not_attempted", "no_result_reported")
    assert (found.extra["completed_count"], found.extra["not_attempted_count"]) == (1, 1)
    assert "the launcher claims 3 completed, the rows say 1" in found.report["problems"]


@pytest.mark.parametrize("name", ["changes the manifest"])
def test_the_manifest_is_ours_whatever_the_launcher_writes_there(name: str, ended: Taken) -> None:
    found = ended[name].result()
    assert found.manifest["command"] == "exec"
    assert any("manifest was changed" in problem for problem in found.report["problems"])


@pytest.mark.parametrize("name", [name for name in WAYS if name.startswith("cannot start: ")])
def test_what_cannot_be_started_is_refused_with_its_name_and_remedy(name: str, ended: Taken) -> None:
    found = ended[name].result()
    refusal = found.extra["refusal"]
    assert refusal["reason"] == "launcher_not_startable"
    assert repr(WAYS[name].command[0]) in refusal["message"]
    assert not (found.run_root / "child").exists()
