"""The gates of a run, in the order of their exit codes; after the last one the invocation owns the run root."""

import os
import secrets
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from obo_bench.core.ids_file import read_ids
from obo_bench.core.ledger import read_rows
from obo_bench.core.reporter import Reporter
from obo_bench.core.session import Session
from obo_bench.engine.daemon import Engine, connect_engine
from obo_bench.gateway.admission.budget import require_budget
from obo_bench.gateway.admission.declared import Declared, declare, enforce, weigh_declared
from obo_bench.gateway.admission.preflight import Server, WantedServer, open_server
from obo_bench.gateway.admission.server_budget import budget_of, require_server_budget
from obo_bench.gateway.admitted import AdmittedServer
from obo_bench.programbench.admission.admitted_config import AdmittedConfiguration, configuration_of
from obo_bench.programbench.admission.disk_room import DiskRoom, require_disk_room
from obo_bench.programbench.admission.limits import cleanroom_limits, server_limits
from obo_bench.programbench.context import IMAGE_TAG, RunContext, evaluator_environment
from obo_bench.programbench.evaluation.evaluator import preflight_evaluator
from obo_bench.programbench.image_pins import ImagePins, read_pins
from obo_bench.programbench.instances import Instance, load_instances, programbench_version
from obo_bench.programbench.options import RunOptions
from obo_bench.programbench.selection import select
from obo_bench.programbench.solving.retry_words import check_retry_words
from obo_bench.programbench.solving.spending import Spending
from obo_bench.programbench.solving.standing import is_only_new_tasks, refuse_dry_run_over_tasks


def pass_gates(session: Session, options: RunOptions, reporter: Reporter) -> tuple[RunContext, Sequence[Instance]]:
    """Return what the run works with, everything recorded; raises the typed refusal of the first gate that objects."""
    declared = declare(
        session,
        options.repo_dir,
        options.settings_path,
        named=options.settings_named,
        solve_model=options.solve_model,
    )
    server = _server(session, options, declared, reporter)
    try:
        chosen = _selection(session, options)
        _budget(session, options, declared, reporter)
        context = _context(session, options, reporter, server, chosen)
        _admit(context)
    except BaseException:
        if server:
            server.client.close()
        raise
    session.gates_passed()
    for notice in session.manifest.harness["notices"]:
        reporter.event(notice)
    return context, chosen


def _server(session: Session, options: RunOptions, declared: Declared, reporter: Reporter) -> Server | None:
    if options.dry_run:
        session.manifest.extra.runtime_attestation = {"skipped": "dry_run"}
        enforce(weigh_declared(session, declared))
        return None
    wanted = WantedServer(options.url, options.repo_dir, options.expected_version)
    return open_server(session, wanted, declared, reporter)


def _budget(session: Session, options: RunOptions, declared: Declared, reporter: Reporter) -> None:
    if options.min_budget_usd is None:
        return
    if options.dry_run:
        session.manifest.harness["budget"] = {"skipped": "dry_run"}
        reporter.event("a dry run spends nothing: --min-budget-usd is not checked")
        return
    require_budget(session, options.min_budget_usd, declared.settings, reporter)


def _selection(session: Session, options: RunOptions) -> Sequence[Instance]:
    manifest = session.manifest
    manifest.harness["programbench"] = programbench_version()
    manifest.dataset = f"programbench {programbench_version()}"
    wanted = options.selector
    if options.ids_file is not None:
        wanted = replace(wanted, instance_ids=(*wanted.instance_ids, *read_ids(options.ids_file)))
    chosen = select(load_instances(), wanted)
    manifest.requested_task_ids = [instance.instance_id for instance in chosen]
    manifest.requested_count = len(chosen)
    return chosen


def _context(
    session: Session, options: RunOptions, reporter: Reporter, server: Server | None, chosen: Sequence[Instance]
) -> RunContext:
    manifest = session.manifest
    pins = _pins(session, options)
    engine = connect_engine()
    manifest.harness |= {"engine": engine.facts(), "docker": version("docker")}
    if options.evaluate:
        preflight_evaluator(evaluator_environment(engine, os.environ))
    if options.dry_run:
        refuse_dry_run_over_tasks(session.run_root, manifest.requested_task_ids or [])
    disk, disk_notices = _disk(session, options, engine, chosen)
    configuration = _configuration(session, options)
    cpus, memory, notices = cleanroom_limits(engine, options)
    notices += disk_notices
    manifest.harness |= {"run_nonce": configuration.nonce, "notices": notices}
    if configuration.adopted:
        notices.append("this run was begun by obo-bench 0.1.0: the configuration found now is adopted as admitted")
    notices += check_retry_words(session.run_root, manifest.requested_task_ids or [], options.retry)
    return RunContext(
        session=session,
        options=options,
        engine=engine,
        server=_admitted(session, reporter, server) if server else None,
        reporter=reporter,
        nonce=configuration.nonce,
        cpus=cpus,
        memory_bytes=memory,
        disk=disk,
        spending=_spending(session, options, reporter, server, notices),
        pins=pins,
        configuration=configuration,
    )


def _pins(session: Session, options: RunOptions) -> ImagePins | None:
    if options.pin_digests is None:
        return None
    pins = read_pins(options.pin_digests)
    session.manifest.harness["pin_digests"] = pins.facts()
    return pins


def _disk(
    session: Session, options: RunOptions, engine: Engine, chosen: Sequence[Instance]
) -> tuple[DiskRoom, list[str]]:
    disk, facts, notices = require_disk_room(
        engine,
        session.run_root,
        [f"{instance.image_name}:{IMAGE_TAG}" for instance in chosen],
        workers=options.workers,
        keep_images=options.evaluate or not options.rm_images,
    )
    session.manifest.harness["disk"] = facts
    return disk, notices


def _configuration(session: Session, options: RunOptions) -> AdmittedConfiguration:
    configuration = AdmittedConfiguration.hold_against(
        session.run_root,
        session.invocation,
        secrets.token_hex(4),
        session.manifest.requested_task_ids or [],
        configuration_of(session.manifest, options),
        accept_change=options.accept_config_change,
    )
    session.manifest.harness["config_changes"] = configuration.accepted
    return configuration


def _spending(
    session: Session, options: RunOptions, reporter: Reporter, server: Server | None, notices: list[str]
) -> Spending:
    """Return the run's account so far, and note what the server would not grant."""
    earlier = read_rows(session.ledger.path)
    if server is None:
        return Spending(earlier, ceiling_usd=options.max_cost_usd)
    live = session.manifest.harness["settings"]["live"] or {}
    notices += server_limits(options, server.state, live)
    notices += require_server_budget(
        server,
        only_new_tasks=lambda: is_only_new_tasks(session.manifest.requested_task_ids or [], options),
        ceiling_usd=options.max_cost_usd,
    )
    return Spending(
        earlier,
        ceiling_usd=options.max_cost_usd,
        client=server.client,
        reporter=reporter,
        budget_at_start=budget_of(server.state),
    )


def _admit(context: RunContext) -> None:
    """Every gate has let the invocation through: from here on its configuration is the run's."""
    if context.configuration is not None:
        context.configuration.store()


def _admitted(session: Session, reporter: Reporter, server: Server) -> AdmittedServer:
    def record(event: dict[str, Any]) -> None:
        session.manifest.extra.server_events.append(event)
        session.checkpoint()

    return AdmittedServer.of_attested(server.client, server.attestation.runtime_version, reporter, record)
