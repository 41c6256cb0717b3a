"""What the record proves about a run and what it does not: one finding for every claim that a reader could doubt."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from obo_bench.core.ledger_check import ledger_notices
from obo_bench.core.manifest import RunManifest
from obo_bench.core.refusal_reasons import REASONS
from obo_bench.core.roots import without_dots
from obo_bench.programbench.evaluation.grade_summary import GradeSummary
from obo_bench.report.document.images import images_finding
from obo_bench.report.document.parts import Attempts, Finding, FindingVerdict
from obo_bench.report.document.record import RunRecord, mapping, text_of
from obo_bench.report.graded import GRADER, NOT_NEEDED


def findings_of(record: RunRecord) -> list[Finding]:
    """Return the findings, in the order of the gates."""
    manifest = record.manifest
    if manifest is None:
        return [_finding("Manifest", "unknown", "No manifest can be read: nothing is proven."), _ledger(record)]
    if manifest.command == GRADER:
        return [_finding("Server and checkout", "not_asked", NOT_NEEDED), _ledger(record)]
    found = [_checkout(manifest), _seed(manifest), _lineage(manifest), _server(manifest), *_restarts(manifest)]
    return [
        *found,
        _model(manifest),
        images_finding(record),
        *_protection(record),
        *_evaluation(record),
        _ledger(record),
    ]


def repeats_finding(attempts: Attempts) -> Finding:
    """Return whether the scores may hide a best-of-N."""
    told = (
        f"{attempts.attempts} attempt(s), {attempts.instances_with_several} instance(s) with several; repeats: "
        f"{attempts.after_infrastructure} after infrastructure, {attempts.asked_for} asked for, "
        f"{attempts.undeclared} undeclared; {attempts.degraded} degraded submission(s)"
    )
    if not attempts.attempts:
        return _finding("Repeats", "unknown", "No attempt is on record.")
    if attempts.undeclared:
        words = f"{attempts.undeclared} repeat(s) that no manifest announces: a best-of-N may hide in the scores."
        return _finding("Repeats", "failed", words, told)
    return _finding("Repeats", "ok", "No instance was solved again without that being announced.", told)


def _finding(name: str, verdict: FindingVerdict, words: str, evidence: object = "") -> Finding:
    return Finding(name=name, verdict=verdict, words=words, evidence=text_of(evidence))


def _checkout(manifest: RunManifest) -> Finding:
    source = manifest.source
    if not source.head:
        return _finding("Checkout", "unknown", "Which commit the server ran from is not on record.", source.repo_dir)
    version = f", version {source.version}" if source.version else ""
    return _finding(
        "Checkout", "ok", f"The commit is on record{version}.", f"{source.head} in {_shown(source.repo_dir)}"
    )


def _shown(place: str) -> str:
    # What stands there was written by others, and may be no path at all.
    return str(without_dots(Path(place))) if place and place.isprintable() else place


def _seed(manifest: RunManifest) -> Finding:
    gate, name = manifest.seed_gate, "Clean seed"
    if gate.reason is None:
        if gate.ok and gate.dirty is False:
            return _finding(name, "ok", "No file of the checkout differed from its commit.")
        if gate.ok:
            return _finding(name, "not_asked", "A clean checkout was not asked for.")
        return _finding(name, "unknown", "Whether the checkout was clean is not on record.")
    changed = ", ".join(manifest.source.status_entries[:10])
    if gate.ok:
        return _finding(name, "waived", f"The gate objected ({gate.reason}); --allow-dirty-seed overruled it.", changed)
    return _finding(name, "failed", f"The gate refused: {gate.reason}.", changed)


def _lineage(manifest: RunManifest) -> Finding:
    lineage, name = manifest.extra.lineage, "Line of descent"
    if lineage is None or (lineage.ok is None and lineage.reason is None):
        return _finding(name, "not_asked", "Nobody asked for it (--seed-commit, --require-stamp).")
    if lineage.ok:
        return _finding(name, "ok", "The commit descends from the seed's.", lineage.seed_commit or lineage.stamp)
    if lineage.ok is None:
        return _finding(
            name, "unknown", f"Nobody asked for it, but a stamp was found: {lineage.reason}.", lineage.stamp
        )
    return _finding(name, "failed", f"The gate refused: {lineage.reason}.", lineage.seed_commit or lineage.stamp)


def _server(manifest: RunManifest) -> Finding:
    record, name = mapping(manifest.extra.runtime_attestation), "Server"
    if not record:
        return _finding(name, "unknown", "No attestation of the server is on record.")
    if record.get("skipped"):
        return _finding(name, "not_asked", "No server was needed.", record.get("skipped"))
    version, reason = text_of(record.get("runtime_version")), text_of(record.get("reason"))
    seen = f"{text_of(record.get('base_url'))} runs {version or 'an unknown version'}"
    seen += f", the checkout has {text_of(record.get('expected_version')) or 'no version'}"
    if record.get("overridden"):
        variable = REASONS["runtime_skew"].waiver
        return _finding(name, "waived", f"Another version than the checkout's answered; {variable} overruled it.", seen)
    if record.get("ok") is True:
        return _finding(name, "ok", f"The live server attested version {version}, as the checkout has it.", seen)
    return _finding(name, "failed", f"The server was not accepted: {reason or 'no reason is recorded'}.", seen)


def _restarts(manifest: RunManifest) -> Iterator[Finding]:
    events = manifest.extra.server_events
    if events:
        words = f"The server restarted or changed {len(events)} time(s) during the run."
        yield _finding("Server during the run", "limited", words, events[:5])


def _model(manifest: RunManifest) -> Finding:
    model, name = text_of(manifest.harness.get("solve_model")), "Model"
    if not model:
        return _finding(name, "unknown", "Which model had to solve was not declared.")
    checked = text_of(mapping(manifest.harness.get("model_slots_checked_with")).get("with"))
    if not checked:
        return _finding(name, "unknown", "A model is declared; no check of the model slots is on record.", model)
    return _finding(name, "ok", "Settings name the declared model; every model slot was checked.", model)


def _protection(record: RunRecord) -> Iterator[Finding]:
    known = [level for rows in record.rows.values() if (level := text_of(rows[-1].details.get("protection")))]
    levels = Counter(known)
    if not levels:
        return
    told = ", ".join(f"{count} {level}" for level, count in sorted(levels.items()))
    if set(levels) == {"os"}:
        yield _finding("Reference program", "ok", "The system kept the agent from reading it, everywhere.", told)
        return
    words = "For some instances only the server's policy kept the agent from reading it, not the operating system."
    yield _finding("Reference program", "limited", words, told)


def _evaluation(record: RunRecord) -> Iterator[Finding]:
    summary, name = record.summary, "Evaluation"
    if summary is None:
        return
    images = [grade.image.same for grade in summary.instances.values() if grade.image is not None]
    evaluator = f"programbench {summary.evaluator_version or 'of unknown version'}"
    if stale := _graded_before(record, summary):
        words = f"{stale} instance(s) have another submission now than the one that was graded: evaluate again."
        yield _finding(name, "failed", words, evaluator)
    elif False in images:
        words = f"{images.count(False)} instance(s) were graded in another image than they were solved in."
        yield _finding(name, "failed", words, evaluator)
    elif str(summary.evaluation_status) != "completed":
        words = f"The official evaluation did not complete: {summary.evaluation_status}."
        yield _finding(name, "limited", words, evaluator)
    else:
        words = "The official evaluator graded it; every grade is of the submission that is on record."
        yield _finding(name, "ok", words, evaluator)


def _graded_before(record: RunRecord, summary: GradeSummary) -> int:
    """Return how many instances were solved again since they were graded."""
    now = {iid: rows[-1].submission_sha256 for iid, rows in record.rows.items()}
    graded = {iid: grade.submission_sha256 for iid, grade in summary.instances.items()}
    return sum(bool(sha256 and now.get(iid) and now[iid] != sha256) for iid, sha256 in graded.items())


def _ledger(record: RunRecord) -> Finding:
    if not record.rows:
        return _finding("Ledger", "unknown", "No ledger row is on record.")
    try:
        notices = ledger_notices(record.root)
    except OSError as error:
        return _finding("Ledger", "unknown", f"The ledgers cannot be read: {error.strerror or error}.")
    if notices:
        return _finding("Ledger", "failed", "The chain of rows is damaged, or its copies disagree.", "; ".join(notices))
    count = len(record.all_rows)
    return _finding("Ledger", "ok", f"All {count} row(s) follow from each other, and the instances' copies agree.")
