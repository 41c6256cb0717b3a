"""The hint after a command: one line, `next: COMMAND`, that works as it is typed, in any directory.

It goes to stderr, is silent with -q, names runs by their directories, and never suggests what would be refused.
"""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from obo_bench.cli import answer
from obo_bench.cli.campaign_next import after_bad_end
from obo_bench.cli.placed import from_root, placed
from obo_bench.core.refusal_reasons import REASONS, Stage
from obo_bench.core.refusals import ExitCode
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.programbench.leftovers.resuming import is_practice, recorded_resume, resuming

ADMISSION = (
    *("--repo-dir", "--ouroboros-url", "--settings-path", "--solve-model", "--runs-root", "--expect"),
    *("--expected-version", "--seed-commit"),
)
"""Options with a value that `doctor`, `attest` and `run` have in common: what is asked of one is asked of the next."""
ADMISSION_FLAGS = ("--allow-dirty-seed", "--require-stamp")
"""Likewise, without a value."""
SELECTION = ("--ids-file", "--instance-id", "--slice", "--filter", "--difficulty", "--language", "--retry", "--run-id")
"""Options of a trial that the campaign after it does not take over."""
SELECTION_FLAGS = ("--shuffle", "--no-shuffle", "--redo-existing", "--dry-run", "--no-eval", "--accept-config-change")
"""Likewise, without a value."""
_DOCTOR_LOOKS = ("engine_", "gateway_", "evaluator_", "settings_", "model_slot_", "solve_model_", "target_", "budget_")
_SEEN_BY_ATTEST = (
    (REASONS["stamp_absent"], "--require-stamp"),
    (REASONS["seed_is_not_a_git_directory"], "--require-git-directory"),
)
"""What only a demand finds, of a preset also without an option of the operator's: `doctor` would find nothing wrong."""
_SIGNALS = frozenset({ExitCode.SIGHUP, ExitCode.SIGINT, ExitCode.SIGTERM})
Words = list[str]


def tell(words: Sequence[str], first: str = "") -> None:
    """Tell the operator what to do next; `first` is what has to be done before, in words, on a line of its own."""
    if first:
        answer.tell(f"first: {first}")
    answer.tell(f"next: {shlex.join(placed(words))}")


def tell_after(manifest: Mapping[str, Any] | None, arguments: Sequence[str]) -> None:
    """Tell what to do after a recorded command, by its manifest and its own arguments."""
    if manifest is not None and (words := after(manifest, arguments)):
        tell(words)


def after(manifest: Mapping[str, Any], arguments: Sequence[str]) -> Words:
    """Return the command line that comes next; empty where the ending itself has said what to do."""
    extra = manifest["extra"]
    if extra.get("still_running") or extra.get("outcome") == "crashed":
        return []
    if (refusal := extra.get("refusal")) and not _ran_a_launcher(manifest):
        return _after_refusal(manifest, str(refusal["reason"]), _own(manifest, arguments))
    return _after_ending(manifest, arguments, int(extra["exit_code"]))


def of_run(command: str, root: str | Path, *more: str) -> Words:
    """Return the command line of a command that takes a run."""
    return ["obo-bench", *command.split(), str(root), *more]


def admission(arguments: Sequence[str]) -> Words:
    """Return those of an operator's arguments that every command before a run takes."""
    return _split(arguments, ADMISSION, ADMISSION_FLAGS)[0]


def campaign(manifest: Mapping[str, Any], root: Path) -> Words:
    """Return the run of everything that is made as a trial was, under an id of its own."""
    rest = _split(recorded_resume(manifest, root), SELECTION, SELECTION_FLAGS)[1]
    return [*rest, *(() if "--eval" in rest else ("--eval",)), "--run-id", f"{root.name[:96]}-all"]


def _ran_a_launcher(manifest: Mapping[str, Any]) -> bool:
    """Say whether it is the record of a launcher that was started: a refusal in it stopped that one, and is told."""
    return bool(manifest["command"] == "exec" and manifest["extra"].get("outcome") != "refused")


def _own(manifest: Mapping[str, Any], arguments: Sequence[str]) -> Sequence[str]:
    """Return the operator's arguments without a launcher's command line, which may have options of the same names."""
    launcher = manifest["harness"].get("launcher") or {}
    return arguments[: len(arguments) - len(launcher.get("command") or ())]


def _after_refusal(manifest: Mapping[str, Any], reason: str, arguments: Sequence[str]) -> Words:
    """Doctor looks at everything at once; where it could not see the cause, the remedy alone is told.

    So it is for a launcher without a server: the commands that look would ask one, and miss it.
    """
    if manifest["command"] == "exec" and manifest["harness"].get("ouroboros_url") is None:
        return []
    known = REASONS.get(reason)
    if demand := next((flag for asked_for, flag in _SEEN_BY_ATTEST if known is asked_for), None):
        asked = [word for word in admission(arguments) if word != demand]
        return [] if manifest["command"] == "attest" else ["obo-bench", "attest", *asked, demand]
    seen = known is not None and (known.stage is not Stage.PREFLIGHT or reason.startswith(_DOCTOR_LOOKS))
    return ["obo-bench", "doctor", *admission(arguments)] if seen else []


def _after_ending(manifest: Mapping[str, Any], arguments: Sequence[str], status: int) -> Words:
    match manifest["command"]:
        case "programbench run":
            return _after_run(manifest, arguments, status)
        case "attest":
            return _after_attest(arguments, status)
        case "campaign run" | "campaign resume":
            return _after_campaign(manifest, arguments, status)
        case "grade swe-bench-pro":
            return _after_grader(manifest)
        case "exec":
            return of_run("programbench status", manifest["run_root"])
        case _:
            return _after_submissions(manifest, status)


def _after_submissions(manifest: Mapping[str, Any], status: int) -> Words:
    match manifest["command"]:
        case "programbench prepare":
            return _after_prepare(manifest, status)
        case "programbench eval":
            return _after_eval(manifest)
        case "programbench export":
            return _after_export(manifest, status)
        case "programbench gate":
            return _after_gate(manifest, status)
    return []


def _after_run(manifest: Mapping[str, Any], arguments: Sequence[str], status: int) -> Words:
    root, practice = Path(manifest["run_root"]), is_practice(manifest)
    if status in _SIGNALS or (practice and status == ExitCode.EVALUATION):
        return recorded_resume(manifest, root) if practice else ["obo-bench", *resuming(arguments, root.name)]
    if status not in (ExitCode.OK, ExitCode.EVALUATION):
        return of_run("programbench status", root)
    if manifest["harness"].get("dry_run"):
        return ["obo-bench", *(word for word in resuming(arguments, root.name) if word != "--dry-run")]
    graded = manifest["extra"].get("eval_requested") and status == ExitCode.OK
    return of_run("programbench report" if graded or practice else "eval", root)


def _after_attest(arguments: Sequence[str], status: int) -> Words:
    begin = ["obo-bench", "programbench", "run", *admission(arguments), "--slice", "3", "--dry-run"]
    return begin if status == ExitCode.OK else []


def _after_campaign(manifest: Mapping[str, Any], arguments: Sequence[str], status: int) -> Words:
    if status == ExitCode.OK:
        looked = manifest["harness"].get("dry_run")
        return ["obo-bench", *_with_file(manifest, arguments)] if looked else []
    root = Path(manifest["run_root"])
    if status in _SIGNALS:
        return of_run("campaign resume", root, *admission(arguments))
    words = after_bad_end(manifest, status)
    asked = admission(arguments) if words[:1] == ["campaign"] else []
    return ["obo-bench", *words, *asked] if words else []


def _with_file(manifest: Mapping[str, Any], arguments: Sequence[str]) -> Iterator[str]:
    """Yield the command line of a rehearsed campaign, its file named from the root on."""
    for word in arguments:
        if word != "--dry-run":
            yield from_root(word) if from_root(word) == manifest["harness"].get("file") else word


def _after_grader(manifest: Mapping[str, Any]) -> Words:
    root, summary = Path(manifest["run_root"]), manifest["output_paths"].get("grade_summary")
    return of_run("grade verify", summary, "--grader-manifest", str(root / MANIFEST_NAME)) if summary else []


def _after_prepare(manifest: Mapping[str, Any], status: int) -> Words:
    run, instance = Path(manifest["run_root"]).parent, Path(manifest["run_root"]).name
    if status not in (ExitCode.OK, ExitCode.EVALUATION):
        return of_run("programbench status", run.joinpath(instance))
    if manifest["extra"].get("eval_requested") and status == ExitCode.OK:
        return ["obo-bench", "export", "--source", str(run), "--dest", f"{run}-export"]
    return of_run("eval", run, "--instance-id", instance)


def _after_eval(manifest: Mapping[str, Any]) -> Words:
    from obo_bench.report.status.record import is_record

    root = Path(manifest["run_root"])
    return of_run("programbench report", root) if is_record(root) else []


def _after_export(manifest: Mapping[str, Any], status: int) -> Words:
    root = manifest["run_root"]
    if manifest["harness"].get("leaderboard") and status == ExitCode.OK:
        return []  # the official commands come next, and are told with what has to be filled in before
    return of_run("programbench status" if is_practice(manifest) or status != ExitCode.OK else "eval", root)


def _after_gate(manifest: Mapping[str, Any], status: int) -> Words:
    from obo_bench.core.files import read_json_object

    root = Path(manifest["run_root"])
    if status == ExitCode.EVALUATION:
        return of_run("programbench status", root)
    trial = read_json_object(root / MANIFEST_NAME) or {}
    if status == ExitCode.OK and trial.get("command") == "programbench run" and not is_practice(trial):
        return campaign(trial, root)
    return of_run("programbench report", root)


def _split(arguments: Sequence[str], valued: Sequence[str], flags: Sequence[str]) -> tuple[Words, Words]:
    """Return the arguments that are such options, each with its value, and the others."""
    chosen: Words = []
    others: Words = []
    words = iter(arguments)
    for word in words:
        name, has_value = word.partition("=")[:2]
        into = chosen if name in valued or word in flags else others
        into.append(word)
        if name in valued and not has_value:
            into.extend(value for value in (next(words, None),) if value is not None)
    return chosen, others
