"""How a run ended, in plain words, and what can be done now."""

import re
import shlex
from pathlib import Path

from obo_bench.core.lock import living_owner
from obo_bench.core.manifest import RunManifest
from obo_bench.programbench.leftovers.run_lookup import owner_text
from obo_bench.report.document.outcome_words import (
    CRASHED_ITSELF,
    KILLED,
    LATER,
    NO_TASK_LEFT,
    OF_LAUNCHERS,
    OUTCOMES,
    RUNNING,
    TASKS_LEFT,
    UNKNOWN,
)
from obo_bench.report.document.parts import Ending, Invocation
from obo_bench.report.document.record import RunRecord
from obo_bench.report.graded import GRADER, UNGRADED
from obo_bench.report.launched import BENCHMARK_RUN, again, is_untold, log_of, silence, why


def ending_of(record: RunRecord) -> Ending:
    """Return how the run ended; a living process goes before what is recorded."""
    owner, alive = _owner(record)
    manifest = record.manifest
    if manifest is None:
        return Ending(outcome="unknown", alive=alive, words=UNKNOWN[0], remedy=UNKNOWN[1])
    extra, outcome = manifest.extra, str(manifest.extra.outcome)
    if outcome == "started" and alive is not None:
        outcome = RUNNING if alive else KILLED
    words, remedy = _with_tasks(*_said(outcome, record), record)
    ending = Ending(
        outcome=outcome,
        exit_code=extra.exit_code,
        alive=alive,
        words=f"{words} ({owner} holds it)" if alive else words,
        remedy=_filled(remedy, record),
    )
    return ending.model_copy(update=_told(record))


def _said(outcome: str, record: RunRecord) -> tuple[str, str]:
    """Return what an outcome means for this record, and what to do."""
    if record.command == GRADER and outcome == "official_eval_error":
        return UNGRADED
    if not record.launched:
        return OUTCOMES.get(outcome, LATER)
    document = record.document
    if outcome == "completed" and not record.rows and is_untold(document):
        return silence(document), "{log}; what became of instances is told with rows (`obo-bench ledger append`)"
    if outcome == "crashed" and record.command == BENCHMARK_RUN:
        return CRASHED_ITSELF
    return OF_LAUNCHERS.get(outcome) or OUTCOMES.get(outcome, LATER)


def _with_tasks(words: str, remedy: str, record: RunRecord) -> tuple[str, str]:
    """Add what is recorded of tasks that nobody has seen ended; a run without an ending has recorded nothing of it."""
    extra = record.manifest.extra if record.manifest else None
    if extra is None or record.launched or extra.outcome == "started":
        return words, remedy
    told = "still_running" in extra.model_fields_set
    if not told or extra.still_running:
        if not told and extra.outcome != "interrupted":
            return words, remedy
        count = f"{len(extra.still_running)} task(s)" if told else "Tasks that were running"
        return f"{words} {TASKS_LEFT[0].format(count=count)}", f"{remedy}; {TASKS_LEFT[1]}" if remedy else TASKS_LEFT[1]
    return (f"{words} {NO_TASK_LEFT}" if extra.outcome == "interrupted" else words), remedy


def _filled(remedy: str, record: RunRecord) -> str:
    """Return a remedy with what belongs to this record in its places."""
    log = log_of(record.document, record.root) if record.launched else None
    resume = f"resume it: repeat its command with --run-id {record.root.name}"
    values = {
        "again": again(record.command, record.root) if record.launched else resume,
        "log": f"look into its log {shlex.quote(str(log))}" if log is not None else "look at what it printed",
        "run_root": shlex.quote(str(record.root)),
    }
    return re.sub(r"\{(again|log|run_root)\}", lambda place: values[place[1]], remedy)


def _told(record: RunRecord) -> dict[str, str]:
    """Return what refusal or error say; of a launcher that says neither, what was found."""
    if record.manifest is None:
        return {}
    extra = record.manifest.extra
    if extra.refusal is not None:
        return {"message": extra.refusal.message, "reason": extra.refusal.reason, "remedy": extra.refusal.remedy}
    if record.launched and str(extra.outcome) != "crashed":
        return {"message": extra.error.message if extra.error is not None else why(record.document)}
    return {"message": extra.error.message, "reason": extra.error.type} if extra.error is not None else {}


def _owner(record: RunRecord) -> tuple[str, bool | None]:
    try:
        owner = living_owner(record.root)
    except OSError:
        return "", None
    return ("", False) if owner is None else (owner_text(owner), True)


def invocations_of(record: RunRecord) -> list[Invocation]:
    """Return the invocations on the run root, oldest first; the last one is the run's manifest."""
    own = [record.manifest] if record.manifest else []
    found = {manifest.invocation: manifest for manifest in (*record.earlier, *own)}
    living = living_invocation(record.root)
    return [_invocation(manifest, living) for manifest in sorted(found.values(), key=lambda m: m.created_at_unix)]


def living_invocation(root: Path) -> str | None:
    """Return the invocation that a process is at work on; None where there is none, or that cannot be tried."""
    try:
        owner = living_owner(root)
    except OSError:
        return None
    return str(owner.get("invocation")) if owner is not None else None


def _invocation(manifest: RunManifest, living: str | None) -> Invocation:
    outcome = str(manifest.extra.outcome)
    return Invocation(
        invocation=manifest.invocation,
        command=manifest.command,
        created_at_unix=manifest.created_at_unix,
        outcome=KILLED if outcome == "started" and manifest.invocation != living else outcome,
        exit_code=manifest.extra.exit_code,
    )
