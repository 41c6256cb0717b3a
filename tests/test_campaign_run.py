"""`campaign run` and `resume` with real steps that cost nothing: endings, ceilings, signals and kills."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from obo_bench.practice.standin import StandIn, StandInConfig
from tests.campaign_world import ASK, PATIENCE_SEC, QUICK, WAIT, CampaignWorld
from tests.conftest import obo
from tests.test_run import until

Serve = Callable[..., str]
SAY = """
import json, os
def say(outcome, **more):
    place = os.environ['OBO_BENCH_OUTCOME_FILE']
    text = json.dumps({'schema': 'obo_bench.child_outcome.v1', 'outcome': outcome, **more})
    open(place + '.new', 'w').write(text)
    os.rename(place + '.new', place)
"""


@pytest.fixture
def world(checkout: Path, tmp_path: Path) -> Iterator[CampaignWorld]:
    made = CampaignWorld(tmp_path / "w", checkout)
    yield made
    made.end()


def test_steps_run_in_order_and_what_is_done_is_not_done_again(world: CampaignWorld, serve: Serve) -> None:
    world.url = serve()
    world.script("one.py", "")
    world.write(ASK + world.exec_step("one", 'needs = ["ask"]'))
    done = world.run()
    assert done.status == 0, done.stderr
    assert world.story() == [
        ("ask", "step_started"),
        ("ask", "completed"),
        ("one", "step_started"),
        ("one", "completed"),
    ]
    assert done.manifest["requested_task_ids"] == ["ask", "one"]
    again = world.run("resume")
    assert (again.status, world.started("one.py")) == (0, 1)
    assert again.manifest["extra"]["skipped_count"] == 2
    assert world.resumes() == {"ask": "skip", "one": "skip"}


def test_a_dry_run_shows_ids_and_worst_cost_and_asks_no_server(world: CampaignWorld) -> None:
    world.url = "http://127.0.0.1:9"
    run = '[[steps]]\nid = "{0}"\nkind = "run"\nmax_cost_usd = 3.0\noptions.slice = "0:2"\n'
    world.write(ASK + run.format("a") + run.format("b"))
    done = world.run("run", "--dry-run")
    assert done.status == 0, done.stderr
    plan = done.envelope["result"]
    assert plan["worst_case_usd"] == 6.0
    assert [len(step["task_ids"] or []) for step in plan["steps"]] == [0, 2, 2]
    assert done.manifest["extra"]["outcome"] == "dry_run"
    world.write((ASK + run.format("a")).replace("max_cost_usd = 3.0\n", ""))
    done = world.run("run", "--dry-run")
    assert done.envelope["result"]["worst_case_usd"] is None
    assert "worst case: unbounded" in done.stderr


def test_what_a_later_step_asks_for_in_vain_is_refused_before_the_first_one_starts(
    world: CampaignWorld, serve: Serve
) -> None:
    world.url = serve()
    lost = '[[steps]]\nid = "b"\nkind = "run"\noptions.instance_id = ["nobody__nothing.1"]\n'
    world.write(ASK + lost)
    done = world.run()
    assert (done.status, done.envelope["refusal"]["reason"]) == (5, "campaign_invalid")
    assert "[[steps]] 'b': options: the benchmark has no instance 'nobody__nothing.1'" in done.stderr
    assert (world.manifest["extra"]["outcome"], world.story()) == ("refused", [])


def test_the_latest_campaign_is_one_that_began(world: CampaignWorld, serve: Serve) -> None:
    world.url = serve()
    world.write(ASK)
    assert world.run().status == 0
    assert world.run("run", "--run-id", "only-planned", "--dry-run").status == 0
    assert obo("campaign", "resume", "nosuch", *world.arguments("resume")[3:]).status == 5
    done = obo("campaign", "status", "--runs-root", world.runs, "--json")
    assert (done.status, done.envelope["result"]["campaign"]) == (0, "c")


def test_a_changed_file_is_refused_and_a_changed_ceiling_is_not(world: CampaignWorld, serve: Serve) -> None:
    world.url = serve()
    world.write(f"[campaign]\nmax_cost_usd = 1.0\n{ASK}")
    assert world.run().status == 0
    world.write(f"[campaign]\nmax_cost_usd = 2.0\n{ASK}")
    assert world.status()["file_changed"]
    assert world.run("resume", "--max-cost-usd", "4").status == 0
    assert not world.status()["file_changed"]
    again = world.run("resume")
    assert "its ceiling is the 4 USD of an earlier --max-cost-usd, not the file's 2" in again.stderr
    assert len(list((world.root / "earlier").iterdir())) == 1
    world.write(ASK + ASK.replace('"ask"', '"more"'))
    done = world.run()
    assert (done.status, done.envelope["refusal"]["reason"]) == (5, "resume_config_mismatch")
    assert "its steps were ask, now they are ask, more" in done.stderr
    world.file.unlink()
    gone = world.run("resume")
    assert (gone.status, f"its file {world.file} is gone: the copy" in gone.stderr) == (0, True)
    world.file.parent.rmdir()
    done = world.run("resume")
    assert (done.status, done.envelope["refusal"]["reason"]) == (5, "campaign_invalid")


def test_a_resume_takes_the_checkout_from_the_record_where_none_is_named(
    world: CampaignWorld, serve: Serve, tmp_path: Path
) -> None:
    world.url = serve()
    world.script("one.py", "raise SystemExit(9)")
    world.write(ASK + world.exec_step("one"))
    assert world.run().status == 1
    env = {"OUROBOROS_REPO_DIR": "", "OUROBOROS_BENCH_RUNS_ROOT": ""}
    (tmp_path / "link").symlink_to(world.runs)
    for named in (["c", "--runs-root", str(world.runs)], ["./link/campaign/c"]):
        done = obo("campaign", "resume", *named, "--json", cwd=tmp_path, env=env)
        assert (done.status, done.envelope["outcome"]) == (1, "child_failed"), done.stderr
        assert done.manifest["source"]["repo_dir"] == str(world.checkout)
    assert world.started("one.py") == 3
    bare = obo("campaign", "resume", "c", cwd=tmp_path, env=env)
    assert (bare.status, "give --runs-root" in bare.stderr) == (2, True)
    (world.checkout / "dirt").write_text("x")
    done = obo("campaign", "resume", str(world.root), "--json", cwd=tmp_path, env=env)
    assert (done.status, done.envelope["refusal"]["reason"]) == (4, "seed_dirty")
    assert world.manifest["extra"]["outcome"] == "child_failed"


def test_what_never_began_cannot_be_resumed(world: CampaignWorld, serve: Serve) -> None:
    world.url = serve()
    done = world.run("resume")
    assert (done.status, done.envelope["refusal"]["reason"]) == (5, "run_not_found")


ENDINGS = {
    "instances_failed": ("say('instances_failed'); raise SystemExit(1)", "instances_failed", 1),
    "child_failed": ("raise SystemExit(9)", "child_failed", 1),
    "official_eval_error": ("say('official_eval_error'); raise SystemExit(6)", "official_eval_error", 6),
    "stopped_budget": ("say('stopped_budget'); raise SystemExit(8)", "stopped_budget", 8),
    "stopped_systemic": ("say('stopped_systemic'); raise SystemExit(7)", "stopped_systemic", 7),
    "a fatal reason": (
        "say('refused', refusal_reason='lineage_broken'); raise SystemExit(88)",
        "stopped_provenance",
        7,
    ),
}
STOPS = {"stopped_budget", "stopped_systemic", "a fatal reason"}
RETRIED = {"official_eval_error", "stopped_systemic"}


@pytest.mark.parametrize("case", ENDINGS)
def test_the_ending_of_a_step_decides_what_follows_it(world: CampaignWorld, serve: Serve, case: str) -> None:
    deed, outcome, status = ENDINGS[case]
    world.url = serve()
    world.script("one.py", f"{SAY}\n{deed}")
    world.script("next.py", "")
    world.script("cleanup.py", "")
    text = QUICK + world.exec_step("one") + world.exec_step("next", 'needs = ["one"]') + world.exec_step("cleanup")
    world.write(text)
    done = world.run()
    extra = done.manifest["extra"]
    assert (done.status, extra["outcome"]) == (status, outcome), done.stderr
    assert world.started("one.py") == (2 if case in RETRIED else 1)
    assert world.started("next.py") == 0
    assert world.started("cleanup.py") == (0 if case in STOPS else 1)
    left = outcome if case in STOPS else "needs_not_met"
    assert world.last()["next"] == left
    if case == "a fatal reason":
        assert (extra["refusal"]["reason"], extra["refusal"]["exit_code"]) == ("lineage_broken", 7)


def test_a_step_starts_on_the_outcomes_that_it_names(world: CampaignWorld, serve: Serve) -> None:
    world.url = serve()
    world.script("one.py", "raise SystemExit(3)")
    world.script("next.py", "")
    world.write(world.exec_step("one") + world.exec_step("next", 'needs = ["one"]', 'on = ["child_failed"]'))
    assert world.run().status == 1
    assert world.started("next.py") == 1


def test_another_server_in_the_middle_stops_it_before_the_next_step(
    world: CampaignWorld, checkout: Path, tmp_path: Path
) -> None:
    data = tmp_path / "workspace" / "data"
    first = StandIn(StandInConfig(repo_dir=checkout, data_dir=data))
    world.url = first.start()
    port = int(world.url.rpartition(":")[2])
    world.script("one.py", WAIT)
    world.script("next.py", "")
    world.write(world.exec_step("one", options=", no_server = true") + world.exec_step("next") + ASK)
    process = world.start()
    until((world.file.parent / "one.waits").exists, PATIENCE_SEC)
    first.stop()
    other = StandIn(StandInConfig(repo_dir=checkout, data_dir=data, port=port, version="6.99.0"))
    try:
        assert other.start() == world.url
        (world.file.parent / "one.go").touch()
        assert process.wait(PATIENCE_SEC) == 7
    finally:
        other.stop()
    extra = world.manifest["extra"]
    assert (extra["outcome"], extra["refusal"]["reason"]) == ("stopped_provenance", "runtime_changed")
    assert (world.started("one.py"), world.started("next.py")) == (1, 0)
    assert world.last() == {"one": "completed", "next": "stopped_provenance", "ask": "stopped_provenance"}


def test_it_pauses_at_its_ceiling_and_goes_on_when_that_is_raised(world: CampaignWorld, serve: Serve) -> None:
    world.url = serve()
    world.script("one.py", f"{SAY}\nsay('completed', cost_usd=2.0)")
    world.script("next.py", "")
    world.write(
        "[campaign]\nmax_cost_usd = 4.0\n" + world.exec_step("one") + world.exec_step("next", "max_cost_usd = 3.0")
    )
    done = world.run()
    assert (done.status, done.manifest["extra"]["outcome"]) == (8, "stopped_budget"), done.stderr
    assert (
        "it may cost up to 3 USD, and of the campaign's 4 there are 2.0000 left" in done.manifest["harness"]["stopped"]
    )
    assert world.started("next.py") == 0
    assert world.run("resume").status == 8
    assert world.run("resume", "--max-cost-usd", "6").status == 0
    assert (world.started("one.py"), world.started("next.py")) == (1, 1)
    assert world.status()["max_cost_usd"] == 6.0


def test_it_pauses_where_unknown_costs_may_have_used_its_ceiling_up(world: CampaignWorld, serve: Serve) -> None:
    world.url = serve()
    for name in ("one", "next"):
        world.script(f"{name}.py", "")
    own, alone = "max_cost_usd = 5.0", ", no_server = true"
    steps = [world.exec_step(name, own, options=alone) for name in ("one", "next")]
    world.write("[campaign]\nmax_cost_usd = 6.0\n" + "".join(steps))
    done = world.run()
    assert (done.status, done.manifest["extra"]["outcome"]) == (8, "stopped_budget"), done.stderr
    assert "there are 1.0000 left (the cost of one is not known" in done.manifest["harness"]["stopped"]
    assert (world.started("one.py"), world.started("next.py")) == (1, 0)
    cost = done.manifest["extra"]["cost"]
    assert (cost["known_usd"], cost["lower_bound"], cost["unknown"]) == (0, True, 1)
    status = world.status()
    assert (status["cost_usd"], status["cost_is_lower_bound"], status["unknown_costs"]) == (0, True, 1)
    assert "cost: >=0.0000 of 6 USD (unknown for 1 step(s))" in done.stderr
    assert "\n  next: it may cost up to" in done.stderr
    assert f"next: obo-bench campaign resume '{world.root}' --max-cost-usd 10 --repo-dir" in done.stderr
    assert done.stderr.count("\nnext: obo-bench ") == 1  # not also the step's own
    done = world.run("resume", "--max-cost-usd", "10", "--dry-run")
    assert (done.status, world.manifest["extra"]["outcome"]) == (0, "stopped_budget"), done.stderr
    assert world.run("resume", "--max-cost-usd", "10").status == 0
    assert world.run("run", "--dry-run").status == 0
    assert (world.manifest["extra"]["outcome"], world.status()["outcome"]) == ("completed", "completed")
    looks = [json.loads(path.read_text()) for path in (world.root / "manifests").iterdir()]
    assert sorted(look["extra"]["outcome"] for look in looks) == ["dry_run", "dry_run", "stopped_budget"]


def test_a_launcher_without_a_ceiling_that_tells_no_cost_counts_with_what_was_left(
    world: CampaignWorld, serve: Serve
) -> None:
    world.url = serve()
    for name in ("one", "next"):
        world.script(f"{name}.py", "")
    steps = [world.exec_step(name, options=", no_server = true") for name in ("one", "next")]
    world.write("[campaign]\nmax_cost_usd = 6.0\n" + "".join(steps))
    assert world.run().status == 8
    done = world.run("resume", "--max-cost-usd", "7")
    assert done.status == 0, done.stderr


def test_an_outage_shorter_than_a_retry_is_got_over(world: CampaignWorld, serve: Serve) -> None:
    world.url = serve()
    world.write(QUICK + ASK)
    place = world.runs / "attest" / "c.ask"
    place.mkdir(parents=True)
    from filelock import FileLock

    held = FileLock(place / ".run.lock")
    held.acquire()
    process = world.start()
    until(lambda: b"still at work on it" in (world.place / "told").read_bytes(), PATIENCE_SEC)
    held.release()
    assert process.wait(PATIENCE_SEC) == 0
    assert world.story() == [
        ("ask", "step_started"),
        ("ask", "run_locked"),
        ("ask", "step_started"),
        ("ask", "completed"),
    ]


def test_the_variables_of_an_operator_reach_the_campaign_and_not_its_steps(world: CampaignWorld, serve: Serve) -> None:
    world.url = serve()
    world.env = {"OBO_BENCH_RUN_ID": "c", "OBO_BENCH_EXPECTED_VERSION": "6.75.0"}
    world.write(ASK)
    assert world.run().status == 0
    manifest = json.loads((world.runs / "attest" / "c.ask" / "run_manifest.json").read_text())
    assert manifest["harness"]["origins"]["expected_version"] == "flag"
    assert time.time() - manifest["created_at_unix"] < PATIENCE_SEC
    assert obo("campaign", "status", "nobody", "--runs-root", world.runs).status == 5
