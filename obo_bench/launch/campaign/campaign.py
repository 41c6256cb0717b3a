"""`campaign run` and `campaign resume`, top to bottom: admitted, planned, attested, driven step by step, concluded."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obo_bench.core.admission import AdmissionRequest
from obo_bench.core.refusals import ExitCode, RuntimeAttestationRefused
from obo_bench.core.reporter import Reporter
from obo_bench.core.session import Session, benchmark_session
from obo_bench.core.showing import Showing
from obo_bench.launch.campaign.options import CampaignOptions

if TYPE_CHECKING:
    from obo_bench.launch.campaign.command_lines import CommandLines
    from obo_bench.launch.campaign.opening import Opened
    from obo_bench.launch.campaign.shown_plan import CampaignPlan
    from obo_bench.launch.campaign.status import CampaignStatus


def run_campaign(options: CampaignOptions, lines: "CommandLines", reporter: Reporter) -> "CampaignStatus":
    """Run or resume a campaign; every ending is in its manifest. Returns how it stands then.

    Raises the typed refusal of a plan or server that cannot be used, Interrupted on a signal.
    """
    with benchmark_session(admission(options, dry_run=False)) as session, Showing(session, reporter):
        _drive(session, options, lines, reporter)
    from obo_bench.launch.campaign.status import read_status

    return read_status(options.run_root)


def plan_campaign(options: CampaignOptions, lines: "CommandLines", reporter: Reporter) -> "CampaignPlan":
    """Return what a campaign would do; no step is started, no server asked.

    Raises the typed refusal of a checkout or plan that cannot be used, Interrupted on a signal.
    """
    with benchmark_session(admission(options, dry_run=True)) as session, Showing(session, reporter):
        return _show(session, options, lines, reporter)


def admission(options: CampaignOptions, *, dry_run: bool) -> AdmissionRequest:
    """Return all that the arguments say, for the first manifest."""
    return AdmissionRequest(
        benchmark="campaign",
        command=options.command,
        run_root=options.run_root,
        repo_dir=options.repo_dir,
        settings_path=options.settings_path,
        seed=options.seed,
        fields={"output_paths": {"ledger": "result_index.jsonl", "campaign": "campaign.json", "steps": "steps"}},
        harness={
            "file": str(options.file) if options.file else None,
            "runs_root": str(options.runs_root),
            "ouroboros_url": options.url,
            "solve_model": options.solve_model,
            "max_cost_usd": options.max_cost_usd,
            "dry_run": dry_run,
        },
    )


def _drive(session: Session, options: CampaignOptions, lines: "CommandLines", reporter: Reporter) -> None:
    from obo_bench.gateway.admission.declared import declare
    from obo_bench.gateway.admission.preflight import WantedServer, open_server
    from obo_bench.gateway.admitted import AdmittedServer
    from obo_bench.launch.campaign.driver import Driver
    from obo_bench.launch.campaign.opening import open_plan
    from obo_bench.launch.campaign.recalling import recalled
    from obo_bench.launch.campaign.record import write_record

    options = recalled(session, options)
    opened = open_plan(session, options, lines)
    _note(session, opened, reporter)
    repo_dir, settings_path = _places(options)
    url, model = str(opened.frame.shared["ouroboros_url"]), opened.frame.shared.get("solve_model")
    declared = declare(
        session,
        repo_dir,
        settings_path,
        named=options.settings_named,
        solve_model=str(model) if model else None,
    )
    version = opened.frame.shared.get("expected_version")
    wanted = WantedServer(url, repo_dir, str(version) if version else None)
    server = open_server(session, wanted, declared, reporter)
    with contextlib.closing(server.client):
        admitted = AdmittedServer.of_attested(
            server.client, server.attestation.runtime_version, reporter, _recorder(session)
        )
        _same_server(url, opened.record.runtime_version, server.attestation.runtime_version)
        opened.record.runtime_version = server.attestation.runtime_version
        session.gates_passed()
        write_record(session.run_root, opened.record, opened.data)
        Driver(session, opened, admitted, declared.settings, reporter, quiet=options.quiet).run()


def _show(session: Session, options: CampaignOptions, lines: "CommandLines", reporter: Reporter) -> "CampaignPlan":
    from obo_bench.launch.campaign.opening import open_plan
    from obo_bench.launch.campaign.recalling import recalled
    from obo_bench.launch.campaign.shown_plan import campaign_plan

    opened = open_plan(session, recalled(session, options), lines)
    if opened.has_begun:
        session.only_looks()
    _note(session, opened, reporter)
    session.manifest.extra.runtime_attestation = {"skipped": "dry_run"}
    shown = campaign_plan(opened.steps, opened.frame, opened.ceiling_usd, lines)
    session.conclude("dry_run", ExitCode.OK)
    return shown


def _note(session: Session, opened: "Opened", reporter: Reporter) -> None:
    for note in opened.notes:
        reporter.event(note)
    manifest = session.manifest
    manifest.requested_task_ids = [step.id for step in opened.steps]
    manifest.requested_count = len(manifest.requested_task_ids)
    manifest.harness |= {"file_sha256": opened.record.sha256, "max_cost_usd": opened.ceiling_usd}
    manifest.harness["ouroboros_url"] = opened.frame.shared["ouroboros_url"]
    session.checkpoint()


def _places(options: CampaignOptions) -> tuple[Path, Path]:
    # Said, or recalled.
    assert options.repo_dir is not None
    assert options.settings_path is not None
    return options.repo_dir, options.settings_path


def _recorder(session: Session) -> Callable[[dict[str, Any]], None]:
    def record(event: dict[str, Any]) -> None:
        session.manifest.extra.server_events.append(event)
        session.checkpoint()

    return record


def _same_server(url: str, before: str | None, now: str | None) -> None:
    """A campaign is one server's: raises RuntimeAttestationRefused when a resume finds another version."""
    if before is not None and before != now:
        raise RuntimeAttestationRefused(
            "runtime_changed",
            f"the server at {url!r} runs {now}; the campaign was begun with {before}",
            evidence={"admitted": before, "now": now},
        )
