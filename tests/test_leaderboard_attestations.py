"""What the README claims: only what the record supports, each exception by name, the rest left to a human."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.files import write_json
from obo_bench.programbench.evaluation.grade_summary import GradedImage
from obo_bench.programbench.evaluation.instance_account import InstanceAccount
from obo_bench.programbench.leaderboard.attestations import TO_CONFIRM
from tests.leaderboard_case import HEAD, A, B, Run, told

RUN_LEVEL = ("run_completed", "clean_checkout", "server_attested", "no_waivers", "whole_selection")

ACCOUNT = InstanceAccount(
    status="completed",
    reason_code="submission_prepared",
    infrastructure=False,
    degraded=False,
    solve_attempts=3,
    repeats_after_infrastructure=1,
    repeats_asked_for=1,
    repeats_undeclared=0,
    known_usd=3.0,
    unknown_costs=1,
    lower_bound=True,
)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


def solved_with(**details: Any) -> Callable[[Run], None]:
    return lambda run: run.solve_otherwise(B, **details)


def body_with(**changes: Any) -> Callable[[Run], None]:
    base = {"executor_ref": {"network": "none"}, "allowed_resources": {"web": False}}
    return lambda run: run.write(B, "ouroboros_task_body.json", {**base, **changes})


def flagged(run: Run) -> None:
    note = {"path": "bin/x", "reason": "resembles_reference"}
    run.write(B, "submission.json", {"sha256": run.sha256(B), "flagged": [note]})


def warned(run: Run) -> None:
    warnings = ["compile_script_missing"]
    run.write(B, "submission.json", {"sha256": run.sha256(B), "flagged": [], "warnings": warnings})


def again(run: Run) -> None:
    run.solve(B, attempt=2)
    run.grade(B)


def audited(**audit: Any) -> Callable[[Run], None]:
    return lambda run: run.manifest["harness"]["images"].update({B: {"audit": audit} if audit else {}})


def graded_in(same: bool | None) -> Callable[[Run], None]:
    image = GradedImage(evaluated="sha256:2", solved="sha256:1", same=same)
    return lambda run: run.grades.update({B: run.grades[B].model_copy(update={"image": image})})


def evaluated_twice(run: Run) -> None:
    run.grades[B] = run.grades[B].model_copy(update={"attempts": 2})


@pytest.mark.parametrize(
    ("change", "name", "why"),
    [
        (solved_with(protection="policy"), "reference_protected", "level policy"),
        (solved_with(cleanroom_trouble="networks: bridge"), "network_off", "networks: bridge"),
        (body_with(executor_ref={"network": "bridge"}), "network_off", "task body"),
        (body_with(allowed_resources={"web": True}), "network_off", "web were off"),
        (lambda run: (run.root / B / "cleanroom.json").unlink(), "network_off", "no record of its container"),
        (solved_with(degraded=True, server_reason="provider_unavailable"), "clean_solve", "provider_unavailable"),
        (again, "single_attempt", "2 attempts had a task, 2 different archives"),
        (evaluated_twice, "evaluated_once", "2 times"),
        (flagged, "nothing_flagged", "resembles_reference"),
        (warned, "nothing_flagged", "compile_script_missing"),
        (audited(), "image_audited", "no audit"),
        (audited(findings_count=2, waived=True), "image_audited", "2 finding(s), let pass by --allow-image-findings"),
        (graded_in(False), "same_image", "solved in sha256:1, graded in sha256:2"),
        (graded_in(None), "same_image", "is not known"),
        (lambda run: run.order["images"][B].update(digests=[]), "image_digest", "no digest"),
        (lambda run: run.order["images"][B].update(name="o/x:task_v6"), "no_tests_visible", "o/x:task_v6"),
    ],
)
def test_an_instance_that_a_statement_does_not_hold_for_is_named(
    run: Run, change: Callable[[Run], object], name: str, why: str
) -> None:
    change(run)
    found = told(run.export(), name)
    assert found.support == "limited"
    assert [text.startswith(f"{B}: ") and why in text for text in found.exceptions] == [True]
    assert f"**Only in part** ({name})" in run.readme()
    assert found.exceptions[0] in run.readme()


def test_a_statement_that_holds_for_no_instance_is_not_supported(run: Run) -> None:
    for image in run.order["images"].values():
        image["digests"] = []
    assert told(run.export(), "image_digest").support == "unsupported"
    assert "**NOT supported** (image_digest)" in run.readme()


@pytest.mark.parametrize(
    ("changes", "name", "why"),
    [
        ({"extra": {"outcome": "interrupted", "exit_code": 130}}, "run_completed", "interrupted, exit status 130"),
        ({"extra": {"still_running": [{"task_id": "t"}]}}, "run_completed", "1 task(s)"),
        ({"source": {"dirty": True, "status_entries": ["M a"]}}, "clean_checkout", "1 path(s)"),
        ({"source": {"dirty": None}}, "clean_checkout", "not known"),
        ({"source": {"head": None}}, "clean_checkout", "not recorded"),
        ({"seed_gate": {"allow_dirty_seed": True, "reason": "seed_dirty"}}, "no_waivers", "let seed_dirty pass"),
        ({"seed_gate": {"allow_dirty_seed": True}}, "no_waivers", "nothing to waive"),
        ({"harness": {"accept_config_change": True}}, "no_waivers", "--accept-config-change"),
        ({"harness": {"allow_image_findings": True}}, "no_waivers", "--allow-image-findings"),
        ({"extra": {"runtime_attestation": {"ok": True, "overridden": True}}}, "server_attested", "waived"),
        ({"extra": {"runtime_attestation": {"skipped": "dry_run"}}}, "server_attested", "dry_run"),
        ({"extra": {"server_events": [{"at": 1}]}}, "server_attested", "1 restart(s)"),
        ({"requested_task_ids": [A, B, "owner__gone.0000003"]}, "whole_selection", "1 of 3 are not here"),
    ],
)
def test_a_run_that_a_statement_does_not_hold_for_says_so(run: Run, changes: Any, name: str, why: str) -> None:
    for key, value in changes.items():
        run.manifest[key] = {**run.manifest[key], **value} if isinstance(value, dict) else value
    found = told(run.export(), name)
    assert found.support == "unsupported"
    assert why in " ".join(found.exceptions)
    assert why in run.readme()


def test_a_waiver_of_an_earlier_invocation_is_not_forgotten(run: Run) -> None:
    earlier = {**run.manifest, "invocation": "invocation-0", "created_at_unix": 1.0}
    earlier["seed_gate"] = {"ok": True, "allow_dirty_seed": True, "reason": "seed_dirty"}
    (run.root / "manifests").mkdir()
    write_json(run.root / "manifests" / "invocation-0.json", earlier)
    result = run.export()
    assert told(result, "no_waivers").exceptions == [
        "invocation invocation-0: --allow-dirty-seed was given, it let seed_dirty pass"
    ]
    assert told(result, "clean_checkout").support == "unsupported"
    assert (run.dest / "_record" / "run" / "manifests" / "invocation-0.json").is_file()


def test_a_ledger_whose_chain_is_broken_is_told(run: Run) -> None:
    ledger = run.root / "result_index.jsonl"
    ledger.write_text(ledger.read_text().replace('"usd": 1.5', '"usd": 0.5', 1))
    found = told(run.export(), "ledger_whole")
    assert (found.support, "does not follow" in found.exceptions[0]) == ("unsupported", True)
    assert str(run.root) not in found.exceptions[0]


def test_repeats_are_told_apart(run: Run) -> None:
    again(run)
    run.grades[B] = run.grades[B].model_copy(update={"account": ACCOUNT})
    assert "1 repeated one that the infrastructure had ended" in told(run.export(), "single_attempt").exceptions[0]
    assert "Attempts: 4 tasks for 2 instances; 1 instance(s) had more than one" in run.readme()


def test_a_changed_configuration_is_named(run: Run) -> None:
    run.order["history"] = [{"key": "limits.cpus", "old": 4.0, "new": 8.0}]
    assert told(run.export(), "one_configuration").exceptions == ["limits.cpus was 4.0, then 8.0"]


def test_the_overview_is_filled_from_the_manifest(run: Run) -> None:
    run.export()
    text = run.readme()
    for known in (f"Ouroboros `6.75.0`, commit `{HEAD}`", "`openai::gpt-5.5`", "`OUROBOROS_EFFORT_TASK`: `high`"):
        assert known in text
    for known in ("`4.0` CPUs, `16g` memory", "`21600.0` s", "3 USD known", "From 2026-11-30", "obo-bench `0.2.0`"):
        assert known in text
    assert all(statement in text for statement in TO_CONFIRM)


def test_the_manifest_of_another_command_says_nothing_of_the_solves(run: Run) -> None:
    run.manifest["command"] = "programbench eval"
    assert told(run.export(), "clean_checkout").support == "unsupported"
    assert "the system is not recorded" in run.readme()


@pytest.mark.parametrize(
    "manifest", [{}, {"schema": "ouroboros.benchmark.run_manifest.v1", "benchmark": "swe", "created_at_unix": 1.0}]
)
def test_without_a_manifest_of_ours_nothing_about_the_run_is_claimed(run: Run, manifest: dict[str, Any]) -> None:
    run.manifest = manifest
    result = run.export()
    assert [told(result, name).support for name in RUN_LEVEL] == ["unsupported"] * len(RUN_LEVEL)
    assert "the system is not recorded" in run.readme()
    assert 'model: "TODO"' in (run.dest / "submission.yaml").read_text()


def test_a_manifest_of_another_tool_of_the_family_leaves_what_it_lacks_open(run: Run) -> None:
    schema = "ouroboros.benchmark.run_manifest.v1"
    run.manifest = {"schema": schema, "benchmark": "other", "created_at_unix": 1.0, "run_root": "/r"}
    run.order = {}
    result = run.export()
    for name in (*RUN_LEVEL, "one_configuration", "image_digest"):
        assert told(result, name).support == "unsupported", name
    assert "not recorded" in run.readme()


@pytest.mark.parametrize(("load", "why"), [(9.0, "a load of 9.0 over five minutes on 4"), (None, "did not tell")])
def test_results_of_a_host_that_was_or_may_have_been_overloaded_are_told(
    tmp_path: Path, load: float | None, why: str
) -> None:
    run = Run(tmp_path)
    run.load("invocation-1", load)
    statement = told(run.export(), "host_not_overloaded")
    assert statement.support == "unsupported"
    assert why in statement.exceptions[0]


def test_an_unrecorded_load_is_no_support(tmp_path: Path) -> None:
    run = Run(tmp_path)
    (run.root / "eval" / "invocation-1" / "host_load.json").unlink()
    statement = told(run.export(), "host_not_overloaded")
    assert (statement.support, "is not recorded" in statement.exceptions[0]) == ("unsupported", True)
