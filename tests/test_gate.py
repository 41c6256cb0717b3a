"""`programbench gate`: the verdict as a process, and what it leaves behind to be traced by."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.documents import read_document
from obo_bench.core.host_load import HostLoad, LoadRecord
from obo_bench.programbench.gating.gate_result import GateResult
from tests.conftest import obo
from tests.gate_world import FOUR, IDS, GateWorld, account, csv_file, four_tasks, ids_file, in_process, reference


@pytest.fixture
def world(tmp_path: Path) -> GateWorld:
    return four_tasks(tmp_path / "runs" / "trial")


@pytest.fixture
def tasks(tmp_path: Path) -> list[str]:
    return ["--tasks", str(ids_file(tmp_path / "tasks.txt", FOUR)), "--min-pairs", "4"]


def test_a_run_as_good_as_its_reference_is_a_go(tmp_path: Path, world: GateWorld, tasks: list[str]) -> None:
    done = world.gate(*tasks, *reference(tmp_path, "0.75", "0.5", "0.25", "0.25"), run=obo)
    assert (done.status, done.manifest["extra"]["outcome"], done.manifest["extra"]["exit_code"]) == (0, "completed", 0)
    told = done.envelope["result"]
    assert told["verdict"] == "GO"
    assert told["reasons"] == []
    found = world.result()
    # by hand: 11/24 against 1.75/4; differences 1/4, 0, 1/12 and -1/4
    assert found["reference"]["run_mean"] == pytest.approx(0.458333333, abs=1e-9)
    assert found["reference"]["other_mean"] == 0.4375
    assert found["reference"]["mean_difference"] == pytest.approx(0.020833333, abs=1e-9)
    assert [task["difference"] for task in found["tasks"]] == pytest.approx([0.25, 0.0, 1 / 12, -0.25])
    assert [found["reference"][name] for name in ("better", "equal", "worse")] == [2, 1, 1]
    assert found["load"]["status"] == "unknown"


def test_a_run_below_its_reference_is_a_no_go(tmp_path: Path, world: GateWorld, tasks: list[str]) -> None:
    done = world.gate(*tasks, *reference(tmp_path, "0.75", "0.5", "0.5", "0.25"), run=obo)
    assert (done.status, done.manifest["extra"]["outcome"]) == (1, "gate_no_go")
    assert done.envelope["result"]["verdict"] == "NO-GO"
    assert [reason["code"] for reason in world.result()["reasons"]] == ["below_reference"]
    assert "0.4583 against 0.5000 (-0.0417) on 4 task(s)" in done.stderr


def test_equal_means_are_a_go_whatever_floats_make_of_them(tmp_path: Path) -> None:
    """Three thirds against exactly that in other fractions; as floats, 0.1 + 0.2 is not 0.3."""
    world = GateWorld(tmp_path / "runs" / "trial")
    for iid, passed in zip(FOUR, (1, 2, 3, 0), strict=True):
        world.graded(iid, passed, 10)
    world.write()
    tasks = ["--tasks", str(ids_file(tmp_path / "tasks.txt", FOUR)), "--min-pairs", "4"]
    assert world.gate(*tasks, *reference(tmp_path, "0.3", "0.1", "0.2", "0.0")).status == 0
    above = world.gate(*tasks, *reference(tmp_path, "0.3", "0.1", "0.20000000000000000001", "0"))
    assert above.status == 1
    assert world.result()["reference"]["mean_difference"] == pytest.approx(0, abs=1e-15)


def test_a_run_below_its_baseline_on_the_shared_tasks_is_a_no_go(
    tmp_path: Path, world: GateWorld, tasks: list[str]
) -> None:
    shared = reference(tmp_path, "1.0", "0.5000001", name="baseline")
    done = world.gate(*tasks, *reference(tmp_path, "0", "0", "0", "0"), *shared)
    assert (done.status, done.manifest["extra"]["outcome"]) == (1, "gate_no_go")
    found = world.result()
    assert [reason["code"] for reason in found["reasons"]] == ["below_baseline"]
    assert (found["baseline"]["pairs"], found["baseline"]["run_mean"]) == (2, 0.75)
    assert world.gate(*tasks, *reference(tmp_path, 0, 0, 0, 0), *reference(tmp_path, 1, name="baseline")).status == 0


def test_a_baseline_that_shares_no_task_makes_it_inconclusive(
    tmp_path: Path, world: GateWorld, tasks: list[str]
) -> None:
    other = csv_file(tmp_path / "other.csv", {IDS[10]: 0})
    assert world.gate(*tasks, *reference(tmp_path, 0, 0, 0, 0), "--baseline", other).status == 6
    assert [found["code"] for found in world.result()["reasons"]] == ["baseline_shares_no_task"]


@pytest.mark.parametrize(
    ("reason", "told"),
    [
        ("evaluator_timed_out", None),
        ("no_submission", account("failed", "provider_unavailable", infrastructure=True)),
        ("no_submission", account("failed", "cancelled_by_operator")),
        ("no_submission", account("failed", "client_poll_timeout_reattachable")),
        ("no_submission", account("failed", "image_not_found")),
        ("no_submission", account("not_attempted", "stopped_budget")),
        ("no_submission", account("blocked", "task_unknown_to_server")),
        ("no_submission", None),
    ],
)
def test_a_task_without_a_score_makes_it_inconclusive(
    tmp_path: Path, world: GateWorld, tasks: list[str], reason: str, told: Any
) -> None:
    if told is None:
        world.accounts.pop(FOUR[3])
        world.ungraded(FOUR[3], reason, submission_sha256=None if reason == "no_submission" else "a" * 64)
    else:
        world.unsubmitted(FOUR[3], told)
    world.write()
    done = world.gate(*tasks, *reference(tmp_path, 0, 0, 0, 0))
    assert (done.status, done.manifest["extra"]["outcome"]) == (6, "gate_inconclusive")
    assert [found["code"] for found in world.result()["reasons"]] == ["tasks_without_score", "too_few_pairs"]
    assert world.result()["tasks"][3]["run"] is None
    assert (told.reason_code if told else reason) in done.stderr


def test_a_task_that_the_agent_failed_to_submit_counts_as_zero(
    tmp_path: Path, world: GateWorld, tasks: list[str]
) -> None:
    world.unsubmitted(FOUR[3], account("failed", "task_not_completed"))
    world.write()
    done = world.gate(*tasks, *reference(tmp_path, 0, 0, 0, "0.5"))
    assert done.status == 0
    task = world.result()["tasks"][3]
    assert (task["run"]["score"], task["counted_as_zero"]) == (0.0, True)
    assert (task["verdict"], task["reason"]) == ("ungraded", "no_submission: task_not_completed")
    assert "1 of 4 task(s) did not submit anything because the agent failed" in done.stderr


def test_a_task_that_the_run_was_not_asked_for_makes_it_inconclusive(
    tmp_path: Path, world: GateWorld, tasks: list[str]
) -> None:
    ids_file(tmp_path / "tasks.txt", IDS[:5])
    assert world.gate(*tasks, *reference(tmp_path, 0, 0, 0, 0)).status == 6
    assert world.result()["tasks"][4]["verdict"] == "not_requested"


def test_with_q_the_reasons_are_all_that_is_told(tmp_path: Path, world: GateWorld, tasks: list[str]) -> None:
    too_few = world.gate("-q", *tasks[:2], *reference(tmp_path, 0, 0, 0, 0))
    assert too_few.stderr == (
        "programbench gate: gate_inconclusive (exit status 6): INCONCLUSIVE; "
        "too_few_pairs: 4 pair(s) with the reference, demanded 20\n"
    )
    below = world.gate("-q", *tasks, *reference(tmp_path, 1, 1, 1, 1))
    assert below.stderr.startswith("programbench gate: gate_no_go (exit status 1): NO-GO; below_reference: ")
    assert below.stderr.count("\n") == 1
    assert world.gate("-q", *tasks, *reference(tmp_path, 0, 0, 0, 0)).stderr == ""


def test_what_gives_a_missing_score_is_told_by_what_is_missing(
    tmp_path: Path, world: GateWorld, tasks: list[str]
) -> None:
    world.unsubmitted(FOUR[3], account("failed", "provider_unavailable", infrastructure=True))
    world.write()
    ids_file(tmp_path / "tasks.txt", IDS[:5])
    done = world.gate(*tasks, *reference(tmp_path, 0, 0, 0, 0))
    without, few = world.result()["reasons"]
    assert without["remedy"] == (
        "solve the listed tasks in a run of their own (`run --ids-file`), resume the run (its command with the same "
        f"--run-id), grade it with `obo-bench eval {world.root}`, then repeat the gate"
    )
    assert "--min-pairs" in few["remedy"]
    assert f"what to do: {without['remedy']}" in done.stderr


def test_twenty_pairs_are_demanded_unless_told_otherwise(tmp_path: Path, world: GateWorld, tasks: list[str]) -> None:
    done = world.gate(*tasks[:2], *reference(tmp_path, 0, 0, 0, 0), run=obo)
    assert (done.status, done.manifest["extra"]["outcome"]) == (6, "gate_inconclusive")
    assert "4 pair(s) with the reference, demanded 20" in done.stderr


@pytest.mark.parametrize("change", ["changed", "missing"])
def test_an_archive_that_is_not_the_graded_one_makes_it_inconclusive(
    tmp_path: Path, world: GateWorld, tasks: list[str], change: str
) -> None:
    archive = world.root / FOUR[0] / "submission.tar.gz"
    archive.unlink()
    if change == "changed":
        archive.write_bytes(b"another")
    assert world.gate(*tasks, *reference(tmp_path, 0, 0, 0, 0)).status == 6
    assert world.result()["tasks"][0]["reason"] == f"submission_{change}"


@pytest.mark.parametrize("name", ["eval.json", "eval.provenance.json"])
def test_a_grade_whose_result_was_set_aside_makes_it_inconclusive(
    tmp_path: Path, world: GateWorld, tasks: list[str], name: str
) -> None:
    """As a killed `eval --force` leaves it: the summary is still the old one."""
    (world.root / FOUR[0] / f"{FOUR[0]}.{name}").unlink()
    assert world.gate(*tasks, *reference(tmp_path, 0, 0, 0, 0)).status == 6
    assert world.result()["tasks"][0]["reason"] == "grade_not_proven"


def load_of(load: float, free: int = 500) -> LoadRecord:
    return LoadRecord.of(
        HostLoad(sampled_at_unix=1.0, cores=4, load_5min=load, memory_total_bytes=1000, memory_available_bytes=free)
    )


@pytest.mark.parametrize(("load", "free", "status"), [(8.0, 500, 0), (8.1, 500, 6), (0.1, 49, 6)])
def test_a_host_that_was_overloaded_during_the_evaluation_makes_it_inconclusive(
    tmp_path: Path, world: GateWorld, tasks: list[str], load: float, free: int, status: int
) -> None:
    for iid in FOUR:
        world.evaluated(iid, "first" if iid == FOUR[0] else "second", load_of(0.5))
    world.evaluated(FOUR[0], "first", load_of(load, free))
    assert world.gate(*tasks, *reference(tmp_path, 0, 0, 0, 0)).status == status
    found = world.result()["load"]
    assert (found["status"], found["unrecorded"]) == ("overloaded" if status else "ok", [])
    assert {name: record["peak"]["load_5min"] for name, record in found["evaluations"].items()} == {
        "first": load, "second": 0.5
    }  # fmt: skip
    assert found["at_gate"]["cores"] > 0
    again = f"`obo-bench eval {world.root} --force`, then repeat the gate"
    assert [again in reason["remedy"] for reason in world.result()["reasons"]] == ([True] if status else [])


def test_an_evaluation_that_recorded_nothing_of_the_host_is_unknown(
    tmp_path: Path, world: GateWorld, tasks: list[str]
) -> None:
    for iid in FOUR:
        world.evaluated(iid, "first" if iid == FOUR[0] else "second", load_of(0.5) if iid == FOUR[0] else None)
    assert world.gate(*tasks, *reference(tmp_path, 0, 0, 0, 0)).status == 0
    found = world.result()["load"]
    assert (found["status"], found["unrecorded"], list(found["evaluations"])) == ("unknown", ["second"], ["first"])


def test_every_input_is_bound_by_its_hash(tmp_path: Path, world: GateWorld, tasks: list[str]) -> None:
    others = (*reference(tmp_path, 1, 1, 1, 1), *reference(tmp_path, 1, name="baseline"))
    done = world.gate(*tasks, *others)
    found = read_document(GateResult, world.root / "gate" / "gate_result.json")
    assert [source.role for source in found.inputs] == [
        "run-manifest", "grade-summary", "reference", "baseline", "tasks"
    ]  # fmt: skip
    for source in found.inputs:
        assert source.sha256 == hashlib.sha256(Path(source.path).read_bytes()).hexdigest()
    assert (found.run_id, found.run_invocation) == ("trial", "the-run")
    assert found.invocation == done.manifest["invocation"]
    assert done.manifest["run_root"] == str(world.root / "gate")
    assert done.manifest["requested_task_ids"] == FOUR
    for task in found.tasks:
        archive = world.root / task.instance_id / "submission.tar.gz"
        assert task.submission_sha256 == hashlib.sha256(archive.read_bytes()).hexdigest()
        assert (task.evaluator_version, task.tests_digest) == ("1.2.5", "d" * 64)


def test_an_earlier_result_and_its_manifest_are_kept(tmp_path: Path, world: GateWorld, tasks: list[str]) -> None:
    first = world.gate(*tasks, *reference(tmp_path, 0, 0, 0, 0))
    before = (world.root / "gate" / "gate_result.json").read_bytes()
    second = world.gate(*tasks, *reference(tmp_path, 1, 1, 1, 1))
    assert (first.status, second.status) == (0, 1)
    kept = world.root / "gate" / "earlier" / f"{hashlib.sha256(before).hexdigest()}.json"
    assert kept.read_bytes() == before
    assert second.manifest["extra"]["invocations"][0]["outcome"] == "completed"
    assert (world.root / "gate" / "manifests" / f"{first.envelope['manifest']}").is_file()


def test_attempts_that_nothing_announced_are_shown(tmp_path: Path, world: GateWorld, tasks: list[str]) -> None:
    world.accounts[FOUR[1]] = account(
        "completed", "submission_prepared", solve_attempts=3, repeats_undeclared=2, degraded=True
    )
    world.write()
    done = world.gate(*tasks, *reference(tmp_path, 0, 0, 0, 0))
    task = world.result()["tasks"][1]
    assert (task["solve_attempts"], task["repeats_undeclared"], task["degraded"]) == (3, 2, True)
    assert "1 of 4 task(s) were solved again without announcement" in done.stderr


def test_what_a_reader_should_know_besides_is_told(tmp_path: Path, world: GateWorld, tasks: list[str]) -> None:
    other = GateWorld(tmp_path / "runs" / "champion")
    other.graded(FOUR[0], 0, 7)
    other.graded(FOUR[1], 0, 2)
    other.ungraded(FOUR[2], "evaluator_timed_out", submission_sha256="a" * 64)
    world.write(outcome="interrupted")
    other.write()
    other.evaluated(FOUR[1], "first", load_of(8.1))
    assert world.gate(*tasks, "--reference", other.root).status == 6
    assert world.result()["notices"] == [
        "the manifest of the run tells the outcome 'interrupted'",
        "1 of 4 task(s) were graded with other tests than the reference",
        "2 of 4 task(s) have no score in the reference",
        f"the reference tells why it has no score: {FOUR[2]} (evaluator_timed_out)",
        "the reference was evaluated on an overloaded host: its scores may be too low",
    ]
    assert [task["same_tests"] for task in world.result()["tasks"]] == [False, True, None, None]


def test_the_answer_of_a_shell_is_the_verdict_and_the_path(tmp_path: Path, world: GateWorld, tasks: list[str]) -> None:
    done = obo("programbench", "gate", "--run", world.root, *tasks, *reference(tmp_path, 1, 1, 1, 1), "--quiet")
    assert done.stdout == f"NO-GO {world.root / 'gate' / 'gate_result.json'}\n"
    (why,) = done.stderr.splitlines()
    assert "below_reference: the run's mean is below" in why


def test_a_run_is_found_by_its_id(tmp_path: Path, tasks: list[str]) -> None:
    world = GateWorld(tmp_path / "programbench" / "trial")
    for iid in FOUR:
        world.graded(iid, 1, 1)
    world.write()
    other = GateWorld(tmp_path / "programbench" / "champion")
    for iid in FOUR:
        other.graded(iid, 1, 2)
    other.write()
    done = in_process(
        "programbench", "gate", "--run", "trial", "--reference", "champion", "--runs-root", tmp_path, *tasks, "--json"
    )
    assert done.status == 0, done.stderr
    assert done.envelope["result"]["inputs"][2]["format"] == "grade_summary"
