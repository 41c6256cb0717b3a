"""The gates of a run, in the order of their exit codes; after the last one the invocation owns the run root."""

import os
from collections.abc import Sequence
from dataclasses import replace
from importlib.metadata import version
from typing import Any

from obo_bench.core.reporter import Reporter
from obo_bench.core.session import Session
from obo_bench.engine.daemon import connect_engine
from obo_bench.gateway.admitted import AdmittedServer
from obo_bench.programbench.budget import require_budget
from obo_bench.programbench.context import RunContext, evaluator_environment, limits
from obo_bench.programbench.declared import Declared, declare, enforce, weigh_declared
from obo_bench.programbench.evaluator import preflight_evaluator
from obo_bench.programbench.instances import Instance, load_instances, programbench_version
from obo_bench.programbench.options import RunOptions
from obo_bench.programbench.order import fix_order, refuse_dry_run_over_tasks
from obo_bench.programbench.preflight import Server, open_server
from obo_bench.programbench.selection import read_ids, select


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
        context = _context(session, options, reporter, server)
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
    return open_server(session, options, declared, reporter)


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


def _context(session: Session, options: RunOptions, reporter: Reporter, server: Server | None) -> RunContext:
    manifest = session.manifest
    engine = connect_engine()
    manifest.harness |= {"engine": engine.facts(), "docker": version("docker")}
    if options.evaluate:
        preflight_evaluator(evaluator_environment(engine, os.environ))
    if options.dry_run:
        refuse_dry_run_over_tasks(session.run_root, manifest.requested_task_ids or [])
    nonce = fix_order(session.run_root, manifest.requested_task_ids or [], allow_change=options.accept_config_change)
    cpus, memory, notices = limits(engine, options)
    manifest.harness |= {"run_nonce": nonce, "notices": notices}
    return RunContext(
        session=session,
        options=options,
        engine=engine,
        server=_admitted(session, reporter, server) if server else None,
        reporter=reporter,
        nonce=nonce,
        cpus=cpus,
        memory_bytes=memory,
    )


def _admitted(session: Session, reporter: Reporter, server: Server) -> AdmittedServer:
    def record(event: dict[str, Any]) -> None:
        session.manifest.extra.server_events.append(event)
        session.checkpoint()

    return AdmittedServer.of_attested(server.client, server.attestation.runtime_version, reporter, record)
