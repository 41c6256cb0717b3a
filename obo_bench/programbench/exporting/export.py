"""`programbench export`, top to bottom: admitted, source and destination weighed, brought across, concluded.

A second export of the same source into the same destination adds to it: everything that the destination holds is
checked again, and the numbers are about all of it. So an interrupted export is resumed by repeating it.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from obo_bench.core.admission import AdmissionRequest, SeedDemands
from obo_bench.core.harness import base_harness
from obo_bench.core.refusals import ExitCode, PreflightRefused
from obo_bench.core.reporter import Reporter
from obo_bench.core.session import Session, benchmark_session
from obo_bench.core.showing import Showing
from obo_bench.core.why import why
from obo_bench.programbench.exporting.options import ExportOptions
from obo_bench.programbench.selection import SHUFFLE_SEED, check_selector

if TYPE_CHECKING:
    from obo_bench.programbench.admission.order import InstanceOrder
    from obo_bench.programbench.exporting.export_manifest import ExportedInstance, ExportManifest
    from obo_bench.programbench.exporting.instance_export import InstanceExport
    from obo_bench.programbench.exporting.source import Source

_ADDED = ("_record", "_record/run", "_stats", "_scripts")
"""Directories that --leaderboard writes into."""


def export_run(options: ExportOptions, reporter: Reporter) -> "ExportManifest":
    """Export what was asked for; what came of each instance is in `export_manifest.json`, the ending in the manifest.

    A fault of one instance (an archive that is gone or not the recorded one, a full disk) does not stop the others.
    Raises UsageError for values that mean nothing, a PreflightRefused before anything is copied or where nothing can
    be recorded any more, Interrupted on a signal.
    """
    check_selector(options.selector)
    with benchmark_session(admission(options)) as session, Showing(session, reporter):
        return _body(session, options, reporter)


def admission(options: ExportOptions) -> AdmissionRequest:
    """Return all that the arguments say, for the first manifest."""
    return AdmissionRequest(
        benchmark="programbench",
        command="programbench export",
        run_root=options.run_root,
        repo_dir=options.repo_dir,
        settings_path=options.settings_path,
        inputs=options.inputs(),
        seed=SeedDemands(gated=False),
        fields={
            "output_paths": {
                "ledger": "result_index.jsonl",
                "instance_order": "instance_order.json",
                "export_manifest": "export_manifest.json",
            }
        },
        harness={**base_harness(), **options.harness()},
        extra={
            "shuffle": options.selector.shuffle,
            "shuffle_seed": SHUFFLE_SEED if options.selector.shuffle else None,
        },
    )


def _body(session: Session, options: ExportOptions, reporter: Reporter) -> "ExportManifest":
    source, order = _pass_gates(session, options, reporter)
    entries: list[ExportedInstance] = []
    try:
        _export_all(session, options, source, order.instance_ids, entries, reporter)
    finally:
        # Whatever stops it: what has been done, and what has not, is on record.
        document = _record(session, options, order, entries)
    if options.leaderboard and document.totals.present:
        _add_leaderboard(session, source, document, reporter)
    _conclude(session, document)
    return document


def _pass_gates(session: Session, options: ExportOptions, reporter: Reporter) -> "tuple[Source, InstanceOrder]":
    from obo_bench.core.ids_file import read_ids
    from obo_bench.programbench.admission.order import write_order
    from obo_bench.programbench.exporting.choice import choose
    from obo_bench.programbench.exporting.destination import (
        order_of,
        refuse_links,
        refuse_stale_entry,
        require_destination,
    )
    from obo_bench.programbench.exporting.source import open_source
    from obo_bench.programbench.instances import programbench_version

    manifest = session.manifest
    manifest.harness["programbench"] = programbench_version()
    manifest.dataset = f"programbench {programbench_version()}"
    source = open_source(options.source, options.source_places)
    with _writable(session):
        standing = require_destination(session.run_root, session.invocation, source.origin)
    wanted = options.selector
    if options.ids_file is not None:
        wanted = replace(wanted, instance_ids=(*wanted.instance_ids, *read_ids(options.ids_file)))
    order = order_of(standing, source.origin, choose(source.submitted.requested, wanted))
    manifest.requested_task_ids, manifest.requested_count = order.instance_ids, len(order.instance_ids)
    manifest.harness |= {"exported_from": source.origin.document(), "notices": list(source.notices)}
    with _writable(session):
        refuse_links(session.run_root, [*order.instance_ids, *(_ADDED if options.leaderboard else ())])
        if not options.leaderboard:
            refuse_stale_entry(session.run_root, _changing(session, options, source, order))
        write_order(session.run_root, order)
        session.gates_passed()
        notices = [*source.notices, *session.ledger.take_over()]
    for notice in notices:
        reporter.event(notice)
    return source, order


def _changing(session: Session, options: ExportOptions, source: "Source", order: "InstanceOrder") -> list[str]:
    from obo_bench.programbench.exporting.destination import standing_entry

    if standing_entry(session.run_root) is None:
        return []
    job = _job(session, options, source)
    return [name for name in order.instance_ids if job.would_change(name, source.submitted.rows.get(name))]


def _job(session: Session, options: ExportOptions, source: "Source") -> "InstanceExport":
    from obo_bench.programbench.exporting.instance_export import InstanceExport

    return InstanceExport(source, session.run_root, options.overwrite, session.invocation)


def _export_all(
    session: Session,
    options: ExportOptions,
    source: "Source",
    instance_ids: Sequence[str],
    entries: "list[ExportedInstance]",
    reporter: Reporter,
) -> None:
    """Export one instance after the other, each with its row, and add it to `entries`."""
    from obo_bench.core.ledger import latest_rows
    from obo_bench.programbench.evaluation.accounts import read_accounts
    from obo_bench.programbench.exporting.export_rows import export_row
    from obo_bench.programbench.paths import InstancePaths

    job = _job(session, options, source)
    accounts = read_accounts(source.root, instance_ids) or {}
    standing = latest_rows(session.ledger.path)
    for name in instance_ids:
        row, account = source.submitted.rows.get(name), accounts.get(name)
        entry = job.export(name, row)
        with _writable(session):
            session.ledger.append(
                export_row(
                    entry,
                    InstancePaths(session.run_root, name),
                    source_row=row,
                    account=account.document() if account else None,
                    standing=standing.get(name),
                )
            )
        entries.append(entry)
        reporter.event(f"{entry.status} ({entry.detail or entry.method or entry.reason})", name)


def _record(
    session: Session, options: ExportOptions, order: "InstanceOrder", entries: "Sequence[ExportedInstance]"
) -> "ExportManifest":
    """Write `export_manifest.json`, and its numbers into the manifest; what was not come to counts as missing."""
    from obo_bench.programbench.exporting.destination import standing_entry
    from obo_bench.programbench.exporting.export_manifest import ExportManifest, ExportTotals
    from obo_bench.programbench.exporting.instance_export import not_come_to

    told = [*entries, *(not_come_to(name) for name in order.instance_ids[len(entries) :])]
    assert order.exported_from is not None
    document = ExportManifest(
        source=order.exported_from,
        destination=str(session.run_root),
        invocation=session.invocation,
        created_at_unix=time.time(),
        overwrite=options.overwrite,
        totals=ExportTotals.of(told),
        instances=told,
        # One that is made anew is told of when it is whole.
        leaderboard=None if options.leaderboard else standing_entry(session.run_root),
    )
    totals, extra = document.totals, session.manifest.extra
    extra.completed_count, extra.skipped_count, extra.failed_count = totals.present, totals.skipped, totals.faults
    session.manifest.harness["export"] = totals.document()
    _write(session, document)
    return document


def _write(session: Session, document: "ExportManifest") -> None:
    from obo_bench.core.files import write_json
    from obo_bench.programbench.exporting.export_manifest import EXPORT_MANIFEST_NAME

    with _writable(session):
        write_json(session.run_root / EXPORT_MANIFEST_NAME, session.redactor.document(document.document()))


def _add_leaderboard(session: Session, source: "Source", document: "ExportManifest", reporter: Reporter) -> None:
    from obo_bench.programbench.leaderboard.build import build_leaderboard
    from obo_bench.programbench.leaderboard.eval_copy import RecordUnreadable
    from obo_bench.programbench.leaderboard.possible import impossible

    # All of them: the old result of an archive that is gone is set aside, instead of passing for a stranger's.
    named = [entry.instance_id for entry in document.instances]
    try:
        with _writable(session):
            document.leaderboard = build_leaderboard(source.root, session.run_root, named, reporter).document()
    except RecordUnreadable as error:
        reporter.event(f"the archives are there: {document.totals}")
        raise impossible(f"a record of the source cannot be read: {error}", {"source": str(source.root)}) from error
    except PreflightRefused:
        reporter.event(f"the archives are there: {document.totals}")
        raise
    _write(session, document)


def _conclude(session: Session, document: "ExportManifest") -> None:
    if not document.totals.present:
        session.conclude("nothing_exported", ExitCode.FAILED)
    elif document.totals.faults:
        session.conclude("instances_failed", ExitCode.FAILED)


@contextmanager
def _writable(session: Session) -> Iterator[None]:
    """A destination in which nothing can be recorded ends the export: what it cannot account for it does not do."""
    try:
        yield
    except OSError as error:
        raise PreflightRefused(
            "run_root_unwritable",
            f"the destination {str(session.run_root)!r} cannot be written: {why(error)}",
            evidence={"run_root": str(session.run_root), "why": why(error)},
            remedy="make room or make the destination writable, then repeat the command: what is there is kept",
        ) from error
