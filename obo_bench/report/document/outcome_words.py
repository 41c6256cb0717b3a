"""What every outcome means in plain words, and what can be done then."""

from collections.abc import Mapping

_STOPPED = "the reason is in the failures below; mend it, then {again}"

RUNNING = "running"
"""What a run is called that a process holds."""
KILLED = "killed"
"""What a run is called that no process holds, and whose ending is not on record."""
_LOOK = "see what is left with `obo-bench programbench status {run_root}`, then {again}"

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
        "evaluate it again with `obo-bench programbench eval {run_root}`; nothing is solved or paid for again",
    ),
    "nothing_exported": ("No submission could be exported.", "the failures below say why"),
    "gate_no_go": ("The gate said NO-GO.", "gate_result.json says why"),
    "gate_inconclusive": ("The gate could not decide.", "gate_result.json says what is missing"),
    "child_failed": ("The wrapped command failed.", "its log says why"),
    "stopped_provenance": (
        "It stopped itself: what it ran against is no longer what it was admitted with.",
        "restore the server that it was admitted with, then {again}",
    ),
    "stopped_systemic": (
        "It stopped itself: the same trouble of the infrastructure came again and again.",
        _STOPPED,
    ),
    "stopped_budget": (
        "It stopped itself at its spending ceiling; what was running was fetched.",
        "raise --max-cost-usd (or the server's budget), then {again}",
    ),
    "interrupted": ("It was interrupted by a signal.", "{again}"),
    "crashed": (
        "A fault in obo-bench ended it; finished work is kept.",
        "report the error, then {again}",
    ),
}
"""What every outcome means, and what to do; `{run_root}` stands for the run's directory, `{again}` for its resume."""
TASKS_LEFT = (
    "{count} may still run, and spend, at the server.",
    "or end what still runs with `obo-bench programbench cancel {run_root}`",
)
"""What is added for a run that left tasks to the server, and to its remedy."""
NO_TASK_LEFT = "No task of it was left running."
OF_LAUNCHERS: Mapping[str, tuple[str, str]] = {
    "completed": ("The launcher completed, and told of no instance that failed.", ""),
    "instances_failed": (
        "It completed, but at least one instance failed or was not attempted.",
        "mend what the failures below name, then {again}",
    ),
    "official_eval_error": ("The launcher says that its official evaluation could not run.", "{log}, then {again}"),
    "nothing_exported": ("The launcher says that it exported nothing.", "{log}, then {again}"),
    "child_failed": ("The launcher failed, or was stopped.", "{log}, then {again}"),
    "stopped_systemic": (
        "The launcher says that the same trouble of the infrastructure came again and again.",
        "{log}, then {again}",
    ),
    "stopped_budget": (
        "It ended at a spending ceiling.",
        "raise --max-cost-usd, or the launcher's own ceiling, then {again}",
    ),
    "interrupted": (
        "It was interrupted by a signal. What the launcher had begun elsewhere may still run, and spend.",
        "{log}, then {again}",
    ),
}
"""The same where another launcher did the work; `{log}` stands for where more is said."""
CRASHED_ITSELF = ("An error that the launcher did not catch ended it; its rows are kept.", "mend it, then {again}")
UNKNOWN = ("Its manifest cannot be read, so how it ended is not known.", "the notes at the end say what is wrong")
LATER = ("An outcome that this version of obo-bench does not know.", "use the version that wrote it")
