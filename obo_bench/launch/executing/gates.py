"""The gates of a launcher, in the order of a run's; after the last one the invocation owns the run root."""

import os
from dataclasses import dataclass
from typing import Any

from obo_bench.core.ids_file import read_ids
from obo_bench.core.ledger import LedgerUnwritable
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import Reporter
from obo_bench.core.session import Session
from obo_bench.core.why import why
from obo_bench.gateway.admission.budget import require_budget
from obo_bench.gateway.admission.declared import Declared, declare, enforce, weigh_declared
from obo_bench.gateway.admission.preflight import Server, WantedServer, open_server
from obo_bench.gateway.admission.server_budget import ServerBudget, budget_of, require_server_budget
from obo_bench.gateway.admitted import AdmittedServer
from obo_bench.launch.executing.launch_order import LaunchOrder, hold_against_order, store_order
from obo_bench.launch.executing.manifest_guard import ManifestGuard
from obo_bench.launch.executing.options import ExecOptions
from obo_bench.launch.executing.startable import current_directory, require_startable
from obo_bench.launch.presets.launch import Launch
from obo_bench.launch.presets.preset import Preset


@dataclass(frozen=True)
class AdmittedLaunch:
    """What the launcher is started with."""

    launch: Launch
    """Command, directory and the ids that were named beside it."""
    requested: tuple[str, ...] | None
    """The requested instances; None where nobody knows them."""
    server: AdmittedServer | None
    """The server, where there is one."""
    budget: ServerBudget | None
    """What the server said of money."""


def pass_gates(
    session: Session, options: ExecOptions, preset: Preset | None, guard: ManifestGuard, reporter: Reporter
) -> AdmittedLaunch:
    """Return what the launcher is started with; raises the typed refusal of the first gate that objects."""
    declared = declare(
        session,
        options.repo_dir,
        options.settings_path,
        named=options.settings_named,
        solve_model=options.solve_model,
    )
    server = _server(session, options, declared, reporter)
    try:
        admitted = _remaining_gates(session, options, preset, declared, server, guard, reporter)
    except BaseException:
        if server:
            server.client.close()
        raise
    return admitted


def _server(session: Session, options: ExecOptions, declared: Declared, reporter: Reporter) -> Server | None:
    if options.url is None:
        session.manifest.extra.runtime_attestation = {"skipped": "no_server"}
        enforce(weigh_declared(session, declared))
        return None
    wanted = WantedServer(options.url, options.repo_dir, options.expected_version)
    return open_server(session, wanted, declared, reporter)


def _remaining_gates(
    session: Session,
    options: ExecOptions,
    preset: Preset | None,
    declared: Declared,
    server: Server | None,
    guard: ManifestGuard,
    reporter: Reporter,
) -> AdmittedLaunch:
    launch, asked = _inputs(session, options, preset)
    order = _order(session, options, asked)
    notices = _budget(session, options, declared, server, reporter)
    program = require_startable(options.command, launch.cwd, os.environ)
    session.manifest.harness["launcher"] |= {"program": str(program)}
    admitted = _admitted(server, guard, reporter) if server else None
    notices += _take_over(session)
    session.manifest.harness["notices"] = notices
    session.gates_passed()
    store_order(session.run_root, order)
    for notice in notices:
        reporter.event(notice)
    requested = tuple(order.instance_ids) if order.instance_ids is not None else None
    return AdmittedLaunch(launch, requested, admitted, budget_of(server.state) if server else None)


def _inputs(session: Session, options: ExecOptions, preset: Preset | None) -> tuple[Launch, list[str] | None]:
    """Return the launch, and the ids that were asked for: by option, else by the launcher's own arguments."""
    cwd = current_directory()
    session.manifest.harness["launcher"] |= {"cwd": str(cwd)}
    named = (*options.task_ids, *(read_ids(options.ids_file) if options.ids_file else ()))
    launch = Launch(command=options.command, cwd=cwd, task_ids=tuple(dict.fromkeys(named)))
    if preset is None:
        return launch, list(launch.task_ids) or None
    outputs = {name: str(path) for name, path in preset.outputs(launch).items()}
    session.manifest.output_paths |= outputs
    own = preset.requested(launch)
    return launch, list(launch.task_ids) or own


def _order(session: Session, options: ExecOptions, asked: list[str] | None) -> LaunchOrder:
    manifest = session.manifest
    found = LaunchOrder(benchmark=options.benchmark, dataset=options.dataset, instance_ids=asked)
    order = hold_against_order(session.run_root, found)
    manifest.dataset, manifest.requested_task_ids = order.dataset, order.instance_ids
    manifest.requested_count = None if order.instance_ids is None else len(order.instance_ids)
    return order


def _budget(
    session: Session, options: ExecOptions, declared: Declared, server: Server | None, reporter: Reporter
) -> list[str]:
    if options.min_budget_usd is not None:
        require_budget(session, options.min_budget_usd, declared.settings, reporter)
    if server is None:
        return []
    return require_server_budget(server, only_new_tasks=lambda: True, ceiling_usd=options.max_cost_usd)


def _admitted(server: Server, guard: ManifestGuard, reporter: Reporter) -> AdmittedServer:
    def record(event: dict[str, Any]) -> None:
        guard.server_event(event)

    return AdmittedServer.of_attested(server.client, server.attestation.runtime_version, reporter, record)


def _take_over(session: Session) -> list[str]:
    """Complete what a killed writer left undone in the ledger; returns what is wrong with it."""
    try:
        return session.ledger.take_over()
    except LedgerUnwritable as error:
        raise PreflightRefused(
            "run_root_unwritable",
            f"{str(session.ledger.path)!r}: {why(error)}",
            evidence={"ledger": str(session.ledger.path), "why": why(error)},
        ) from error
