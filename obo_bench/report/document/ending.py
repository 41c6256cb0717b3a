"""How a run ended, in plain words, and what can be done now."""

from collections.abc import Mapping

from obo_bench.core.lock import living_owner
from obo_bench.core.manifest import RunManifest
from obo_bench.programbench.leftovers.run_lookup import owner_text
from obo_bench.report.document.parts import Ending, Invocation
from obo_bench.report.document.record import RunRecord

_RESUME = "resume it: repeat its command with --run-id {run_id}"
_STOPPED = "the reason is in the failures below; mend it, then " + _RESUME

RUNNING = "running"
"""What a run is called that a process holds."""
KILLED = "killed"
"""What a run is called that no process holds, and whose ending is not on record."""
_LOOK = "see what is left with `obo-bench programbench status {run_id}`, then " + _RESUME

OUTCOMES: Mapping[str, tuple[str, str]] = {
    RUNNING: ("It is running now: every number here is of the moment at which this report was made.", ""),
    KILLED: ("Its process ended without a word: killed, or the machine went down.", _LOOK),
    "started": ("Its ending is not on record; whether a process is at work cannot be told here.", _LOOK),
    "completed": ("It completed: all that was asked for was done.", ""),
    "instances_failed": (
        "It completed, but at least one instance has no submission.",
        "the failures below say which of them a resume solves again, and which need --retry REASON",
    ),
    "refused": ("It was refused before anything was spent.", "do what the refusal says, then repeat the command"),
    "dry_run": (
        "A rehearsal: everything was prepared, nothing was submitted, nothing was spent.",
        "run it without --dry-run",
    ),
    "official_eval_error": (
        "The official evaluation could not run, or left an instance that has a submission ungraded.",
        "evaluate it again with `obo-bench programbench eval {run_id}`; nothing is solved or paid for again",
    ),
    "nothing_exported": ("No submission could be exported.", "the failures below say why"),
    "gate_no_go": ("The gate said NO-GO.", "gate_result.json says why"),
    "gate_inconclusive": ("The gate could not decide.", "gate_result.json says what is missing"),
    "child_failed": ("The wrapped command failed.", "its log says why"),
    "stopped_provenance": (
        "It stopped itself: what it ran against is no longer what it was admitted with.",
        "restore the server that it was admitted with, then " + _RESUME,
    ),
    "stopped_systemic": (
        "It stopped itself: the same trouble of the infrastructure came again and again.",
        _STOPPED,
    ),
    "stopped_budget": (
        "It stopped itself at its spending ceiling; what was running was fetched.",
        "raise --max-cost-usd (or the server's budget), then " + _RESUME,
    ),
    "interrupted": (
        "It was interrupted by a signal. Tasks that were running may still run, and spend, at the server.",
        _RESUME + "; or end them with `obo-bench programbench cancel {run_id}`",
    ),
    "crashed": (
        "A fault in obo-bench ended it; finished work is kept.",
        "report the error, then " + _RESUME,
    ),
}
"""What every outcome means, and what to do; `{run_id}` stands for the run's."""
_UNKNOWN = ("Its manifest cannot be read, so how it ended is not known.", "the notes at the end say what is wrong")
_LATER = ("An outcome that this version of obo-bench does not know.", "use the version that wrote it")


def ending_of(record: RunRecord) -> Ending:
    """Return how the run ended; a living process goes before what is recorded."""
    owner, alive = _owner(record)
    manifest = record.manifest
    if manifest is None:
        return Ending(outcome="unknown", alive=alive, words=_UNKNOWN[0], remedy=_UNKNOWN[1])
    extra, outcome = manifest.extra, str(manifest.extra.outcome)
    if outcome == "started" and alive is not None:
        outcome = RUNNING if alive else KILLED
    words, remedy = OUTCOMES.get(outcome, _LATER)
    ending = Ending(
        outcome=outcome,
        exit_code=extra.exit_code,
        alive=alive,
        words=f"{words} ({owner} holds it)" if alive else words,
        remedy=remedy.replace("{run_id}", record.root.name),
    )
    if extra.refusal is not None:
        told = {"message": extra.refusal.message, "reason": extra.refusal.reason, "remedy": extra.refusal.remedy}
        return ending.model_copy(update=told)
    if extra.error is not None:
        return ending.model_copy(update={"message": extra.error.message, "reason": extra.error.type})
    return ending


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
    return [_invocation(manifest) for manifest in sorted(found.values(), key=lambda m: m.created_at_unix)]


def _invocation(manifest: RunManifest) -> Invocation:
    return Invocation(
        invocation=manifest.invocation,
        command=manifest.command,
        created_at_unix=manifest.created_at_unix,
        outcome=str(manifest.extra.outcome),
        exit_code=manifest.extra.exit_code,
    )
