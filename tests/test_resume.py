"""A run that is resumed, on real Docker: the same experiment, every cost once, and the ceiling that holds it back."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from obo_bench.practice.standin import StandIn, StandInConfig
from obo_bench.report.document.build import build_report
from tests.conftest import obo
from tests.test_run import IID, Bench, Serve, assert_solved, bench, docker, until

__all__ = ["bench"]

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]

OTHER = "practice__runlength.0000002"


def changed_keys(refusal: dict[str, Any]) -> list[str]:
    return [change["key"] for change in refusal["evidence"]["changes"]]


def reasons(bench: Bench) -> list[str]:
    return [row["reason_code"] for row in bench.rows()]


def test_another_configuration_is_refused_by_name_or_accepted_and_recorded(bench: Bench, serve: Serve) -> None:
    url = serve(scenario="infra")
    assert bench.run(url).status == 1
    order = (bench.root / "instance_order.json").read_bytes()
    refused = bench.run(url, "--timeout-sec", "900", "--memory", "600m")
    assert refused.status == 5
    refusal = refused.envelope["refusal"]
    assert refusal["reason"] == "resume_config_mismatch"
    assert "limits.timeout_sec was 600, is 900" in refusal["message"]
    assert changed_keys(refused.manifest["extra"]["refusal"]) == ["limits.memory_bytes", "limits.timeout_sec"]
    assert (bench.root / "instance_order.json").read_bytes() == order
    assert len(bench.tasks()) == 1

    healthy = serve(data_dir=bench.checkout.parent / "healthy")
    accepted = bench.run(healthy, "--timeout-sec", "900", "--accept-config-change")
    assert_solved(bench, accepted)
    changes = accepted.manifest["harness"]["config_changes"]
    assert changes == [{"key": "limits.timeout_sec", "old": 600.0, "new": 900.0}]
    history = json.loads((bench.root / "instance_order.json").read_text())["history"]
    assert (history[0]["key"], history[0]["invocation"]) == ("limits.timeout_sec", accepted.manifest["invocation"])


def test_another_server_version_is_another_experiment(bench: Bench, serve: Serve) -> None:
    assert bench.run(serve(scenario="infra")).status == 1
    url = serve(data_dir=bench.checkout.parent / "newer", version="6.80.0")
    refused = bench.run(url, "--expected-version", "6.80.0")
    assert refused.status == 5
    assert "server_version was '6.75.0', is '6.80.0'" in refused.envelope["refusal"]["message"]


def test_an_attempt_on_another_image_is_another_experiment(bench: Bench, serve: Serve) -> None:
    assert bench.run(serve(scenario="infra")).status == 1
    admitted = bench.manifest()["harness"]["images"][IID]
    bench.env["PROGRAMBENCH_DOCKER_ORG"] = "obo-bench-test-changed"
    name = f"obo-bench-test-changed/{admitted['name'].rpartition('/')[2]}"
    subprocess.run(
        ["docker", "build", "-q", "-t", name, "-"],
        input=f"FROM {admitted['name']}\nLABEL changed=yes\n".encode(),
        check=True,
        capture_output=True,
        timeout=120,
    )
    try:
        healthy = serve(data_dir=bench.checkout.parent / "healthy")
        assert bench.run(healthy, "--skip-pull").status == 1
        row = bench.rows()[-1]
        assert (row["status"], row["reason_code"]) == ("blocked", "image_changed")
        assert admitted["id"] in row["error"]
        assert not bench.containers()
        assert not (bench.checkout.parent / "healthy" / "tasks.jsonl").exists()

        accepted = bench.run(healthy, "--skip-pull", "--accept-config-change")
        assert_solved(bench, accepted)
        [change] = accepted.manifest["harness"]["config_changes"]
        assert (change["key"], change["old"]["id"]) == (f"images.{IID}", admitted["id"])
    finally:
        docker("rmi", "-f", name)


def test_every_attempt_of_every_invocation_is_in_the_runs_cost_once(bench: Bench, serve: Serve) -> None:
    url = serve(scenario="priced")
    once = bench.run(url).manifest["extra"]["cost"]
    assert (once["known"], once["unknown"], once["lower_bound"]) == (1, 0, False)
    assert once["known_usd"] == once["at_most_usd"] == bench.rows()[-1]["cost"]["usd"] > 0
    assert once["server"]["total_budget_usd"] == 10.0
    assert once["server"]["spent_usd_at_start"] == 0.0 < once["server"]["spent_usd_at_end"]
    assert bench.run(url).manifest["extra"]["cost"]["known_usd"] == once["known_usd"]
    again = bench.run(url, "--redo-existing").manifest["extra"]["cost"]
    assert again["known_usd"] == pytest.approx(2 * once["known_usd"])
    assert again["sources"] == {"task_cost_finalized": 2}


def test_a_price_that_nobody_knows_makes_the_total_a_lower_bound(bench: Bench, serve: Serve) -> None:
    cost = bench.run(serve(scenario="unpriced")).manifest["extra"]["cost"]
    assert (cost["known_usd"], cost["unknown"], cost["lower_bound"], cost["at_most_usd"]) == (0.0, 1, True, None)


def test_the_ceiling_starts_nothing_more_and_a_resume_goes_on(bench: Bench, serve: Serve) -> None:
    bench.chosen = [IID, OTHER]
    url = serve(scenario="priced")
    stopped = bench.run(url, "--max-cost-usd", "0.01", "--eval")
    assert stopped.status == 8
    extra = stopped.manifest["extra"]
    assert (extra["outcome"], extra["official_eval_status"]) == ("stopped_budget", "not_run")
    assert (extra["completed_count"], extra["not_attempted_count"]) == (1, 1)
    assert extra["cost"]["ceiling_usd"] == 0.01
    assert sorted(reasons(bench)) == ["stopped_budget", "submission_prepared"]
    assert "--max-cost-usd is 0.01" in stopped.stderr
    assert len(bench.tasks()) == 1

    assert bench.run(url, "--max-cost-usd", "0.01").status == 8
    assert len(bench.tasks()) == 1
    assert bench.run(url, "--max-cost-usd", "100").status == 0
    assert len(bench.tasks()) == 2


def test_what_runs_is_fetched_although_the_ceiling_is_reached(bench: Bench, serve: Serve) -> None:
    url = serve(scenario="priced", solve_delay_sec=4.0)
    bench.start_and_kill(url)
    done = bench.run(url, "--max-cost-usd", "0")
    assert_solved(bench, done)
    assert len(bench.tasks()) == 1
    row = bench.rows()[-1]
    times = row["details"]["resumed_task"]
    assert 4.0 <= times["ended_unix"] - times["submitted_unix"] < row["ts_unix"] - times["submitted_unix"]
    [instance] = build_report(bench.root).instances
    assert instance.seconds is not None
    assert instance.seconds > max(4.0, row["durations"]["solve"])


def test_a_spent_budget_of_the_server_is_seen_before_anything_is_submitted(bench: Bench, serve: Serve) -> None:
    done = bench.run(serve(scenario="budget-paused"))
    assert done.status == 5
    refusal = done.envelope["refusal"]
    assert (refusal["reason"], "TOTAL_BUDGET" in refusal["remedy"]) == ("budget_insufficient", True)
    assert not bench.tasks()
    assert not (bench.root / "instance_order.json").exists()


def test_the_cost_of_a_task_that_ended_unseen_is_not_forgotten(bench: Bench, checkout: Path, serve: Serve) -> None:
    config = StandInConfig(repo_dir=checkout, data_dir=bench.data, scenario="priced", solve_delay_sec=60)
    first = StandIn(config)
    bench.start_and_kill(first.start())
    first.stop()  # in an orderly way: its task is cancelled
    done = bench.run(serve(scenario="priced"))
    assert_solved(bench, done)
    left, solved = bench.rows()
    assert (left["attempt"], left["status"], left["reason_code"]) == (1, "failed", "cancelled")
    assert left["details"]["left_behind"] is True
    assert (solved["attempt"], solved["status"]) == (2, "completed")
    assert done.manifest["extra"]["cost"]["known"] == 2
    assert done.manifest["extra"]["completed_count"] == 1


def test_a_cancellation_that_was_killed_before_its_row_is_finished(bench: Bench, serve: Serve) -> None:
    url = serve(solve_delay_sec=60.0)
    bench.start_and_kill(url)
    path = bench.instance / "ouroboros_task_checkpoint.json"
    path.write_text(json.dumps(bench.checkpoint() | {"cancel_asked": True}))
    assert bench.run(url).status == 1
    assert reasons(bench) == ["cancelled_by_operator"]
    assert not bench.containers()
    assert bench.run(url).status == 1
    assert len(bench.tasks()) == 1


def test_a_damaged_checkpoint_blocks_its_instance_and_nothing_is_lost(bench: Bench, serve: Serve) -> None:
    url = serve(solve_delay_sec=5.0)
    bench.start_and_kill(url)
    path = bench.instance / "ouroboros_task_checkpoint.json"
    whole = path.read_bytes()
    path.write_bytes(whole[:40])
    assert bench.run(url).status == 1
    row = bench.rows()[-1]
    assert (row["status"], row["reason_code"]) == ("blocked", "checkpoint_unreadable")
    assert "--retry checkpoint_unreadable" in row["error"]
    assert len(bench.containers()) == 1
    cancelled = obo("programbench", "cancel", bench.root, "--json")
    assert cancelled.status == 1
    assert [one["result"] for one in cancelled.envelope["result"]["instances"]] == ["not_cancelled"]
    path.write_bytes(whole)
    assert_solved(bench, bench.run(url))
    assert len(bench.tasks()) == 1


def test_a_degraded_instance_is_solved_again_when_asked_for(bench: Bench, serve: Serve) -> None:
    degraded = serve(scenario="provider-degraded")
    assert bench.run(degraded).manifest["extra"]["degraded_count"] == 1
    healthy = serve(data_dir=bench.data)
    assert bench.run(healthy).manifest["extra"]["skipped_count"] == 1
    again = bench.run(healthy, "--retry", "degraded", "--retry", "code_of_tomorrow")
    assert_solved(bench, again)
    assert again.manifest["extra"]["degraded_count"] == 0
    assert "--retry code_of_tomorrow: no instance of this run has ended with it" in again.stderr
    assert len(bench.tasks()) == 2


def test_a_signal_leaves_counts_and_costs_in_the_manifest(bench: Bench, serve: Serve) -> None:
    bench.chosen = [IID, OTHER]
    process = bench.start(serve(solve_delay_sec=60.0))
    until(lambda: "running" in "".join(map(Path.read_text, bench.root.glob("*/ouroboros_task_checkpoint.json"))))
    process.terminate()
    process.communicate(timeout=60)
    extra = bench.manifest()["extra"]
    assert process.returncode == 143
    assert (extra["failed_count"], extra["not_attempted_count"]) == (1, 1)
    assert (extra["cost"]["unknown"], extra["cost"]["lower_bound"]) == (1, True)


def test_what_cannot_be_granted_is_told_before_the_run(bench: Bench, serve: Serve) -> None:
    done = bench.run(serve(scenario="infra"), "--workers", "3", "--timeout-sec", "200")
    notices = done.manifest["harness"]["notices"]
    for part in ("--workers 3 is more than the server's 2", "the review is skipped"):
        assert any(part in notice for notice in notices)
        assert part in done.stderr
