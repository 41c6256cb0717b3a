"""What `attest` found, as a table for people: one line per check."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from obo_bench.core.refusal_reasons import Stage
from obo_bench.core.refusals import ExitCode
from obo_bench.core.reporter import printable

if TYPE_CHECKING:
    from obo_bench.programbench.attest_record import AttestRecord, Finding

_SHORT_HASH = 12
_SKIPPED = "not looked at"

Row = tuple[str, str, str]


def table(record: "AttestRecord") -> str:
    """Return one aligned line per check: its name, the verdict, what was found and what to do about it."""
    rows = [*_admission(record), _runtime(record), _readiness(record), _settings(record)]
    rows = [(name, verdict, printable(detail)) for name, verdict, detail in rows]
    names, verdicts = (max(len(row[column]) for row in rows) for column in (0, 1))
    return "\n".join(f"{name:<{names}}  {verdict:<{verdicts}}  {detail}".rstrip() for name, verdict, detail in rows)


def _admission(record: "AttestRecord") -> Iterator[Row]:
    refusal, lineage = record.refusal, record.lineage
    if refusal is None or refusal.exit_code != ExitCode.ADMISSION:
        yield "checkout", *_checkout(record)
        yield "lineage", *_lineage(record)
    elif lineage is not None and lineage.reason == refusal.reason:
        yield "checkout", *_checkout(record)
        yield "lineage", "refused", _refusal(record)
    else:
        yield "checkout", "refused", _refusal(record)
        yield "lineage", _SKIPPED, ""


def _lineage(record: "AttestRecord") -> tuple[str, str]:
    found = record.lineage
    if not record.seed_gate.ok:
        return _SKIPPED, ""
    if found is None or not (found.seed_commit or found.require_stamp):
        stamp = f"the stamp says {found.stamp}" if found else "there is no stamp"
        return "not asked", f"no --seed-commit, no --require-stamp; {stamp}"
    return "ok", f"descends from {found.stamp or found.seed_commit}"


def _checkout(record: "AttestRecord") -> tuple[str, str]:
    source, gate = record.source, record.seed_gate
    if not gate.ok:
        return _SKIPPED, ""
    at = f"version {source['version']} at {str(source['head'])[:_SHORT_HASH]}"
    ignored = source["ignored_importable_count"]
    notes = f"; {ignored} ignored file(s) could be imported, the manifest lists them" if ignored else ""
    if gate.reason is None:
        return "ok", f"{at}, clean{notes}"
    return "waived", f"{at}; {gate.reason} is waived by --allow-dirty-seed{notes}"


def _runtime(record: "AttestRecord") -> Row:
    if record.refusal and record.refusal.stage == Stage.RUNTIME_ATTESTATION:
        return "server", "refused", _refusal(record)
    found = record.attestation
    if found is None:
        return "server", _SKIPPED, ""
    runs = f"{found['base_url']} runs {found['runtime_version']}"
    if found["overridden"]:
        return "server", "waived", f"{runs}, expected is {found['expected_version']}; {found['override_env']} is set"
    return "server", "ok", f"{runs}, as expected"


def _readiness(record: "AttestRecord") -> Row:
    found = record.readiness
    if found is None:
        return "readiness", _SKIPPED, ""
    if found.ready:
        return "readiness", "ready", f"{found.workers_alive} of {found.workers_total} workers are alive"
    verdict = "not ready" if found.ready is False else "unknown"
    return "readiness", _verdict(record, found.findings, verdict), _told(found.findings)


def _settings(record: "AttestRecord") -> Row:
    found = record.settings
    if found is None or (found.live_model is None and not found.findings):
        return "settings", _SKIPPED, ""
    if found.findings:
        return "settings", _verdict(record, found.findings, "problem"), _told(found.findings)
    where = "the live server and the file say" if found.file_model else "the live server says"
    return "settings", "ok", f"{where} {found.live_model}"


def _refusal(record: "AttestRecord") -> str:
    refusal = record.refusal
    return f"{refusal.reason}; what to do: {refusal.remedy}" if refusal else ""


def _verdict(record: "AttestRecord", findings: Sequence["Finding"], otherwise: str) -> str:
    refused = record.refusal is not None and record.refusal.reason in {finding.reason for finding in findings}
    return "refused" if refused else otherwise


def _told(findings: Sequence["Finding"]) -> str:
    return "; ".join(f"{finding.message}; what to do: {finding.remedy}" for finding in findings)
