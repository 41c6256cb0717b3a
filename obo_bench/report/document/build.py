"""Puts the report of a run together."""

import time
from collections import Counter
from pathlib import Path

from obo_bench import __version__
from obo_bench.report.document.asked import asked_of, run_facts
from obo_bench.report.document.compare import compared_with
from obo_bench.report.document.ending import ending_of, invocations_of
from obo_bench.report.document.failures import failures_of
from obo_bench.report.document.figures import attempts_of, grades_of, money_of, scores_of, waivers_of
from obo_bench.report.document.foreign_text import cleaned
from obo_bench.report.document.instances import instances_of
from obo_bench.report.document.model import ComparedRun, RunReport
from obo_bench.report.document.provenance import findings_of, repeats_finding
from obo_bench.report.document.record import RunRecord, read_record
from obo_bench.report.document.timeline import timeline_of


def build_report(root: Path, other: Path | None = None) -> RunReport:
    """Return the report of the run in `root`, compared with the run in `other`; texts are fit to be shown.

    Whatever the directories hold, the report is made: what cannot be read is noted in it.
    """
    record = read_record(root)
    instances, attempts = instances_of(record), attempts_of(record)
    money, grades = money_of(record, instances), grades_of(record)
    against = read_record(other) if other is not None else None
    now = time.time()
    compared = compared_with(instances, money, against, now) if against else None
    report = RunReport(
        obo_bench=__version__,
        made_at_unix=now,
        run=run_facts(record, now),
        ending=ending_of(record),
        asked=asked_of(record, grades),
        findings=[*findings_of(record), repeats_finding(attempts)],
        waivers=waivers_of(record),
        invocations=invocations_of(record),
        counts=dict(Counter(instance.status for instance in instances)),
        scores=scores_of(record),
        grades=grades,
        money=money,
        attempts=attempts,
        failures=failures_of(instances),
        timeline=timeline_of(record),
        instances=instances,
        compared=compared,
        notes=[*record.notes, *(_notes_of_other(against) if against else ()), *_notes_of_pairs(compared)],
    )
    return cleaned(report)


def _notes_of_other(other: RunRecord) -> list[str]:
    return [f"{other.root.name}: {note}" for note in other.notes]


def _notes_of_pairs(compared: ComparedRun | None) -> list[str]:
    if compared is None or compared.pairs:
        return []
    return [f"nothing is compared with {compared.other.run_id}: no instance has an official score in both runs"]
