"""Statements on how an instance was solved and what was handed in."""

from obo_bench.programbench.leaderboard.source import value_at
from obo_bench.programbench.leaderboard.subject import LONGEST, Check, Subject


def _network(subject: Subject) -> str:
    body, row = subject.record.body, subject.row
    resources = value_at(body, "allowed_resources")
    if (
        value_at(body, "executor_ref", "network") != "none"
        or not isinstance(resources, dict)
        or any(resources.values())
    ):
        return "the task body does not say that network and web were off"
    if not subject.record.room:
        return "no record of its container"
    if row is None or "cleanroom_trouble" not in row.details:
        return "no record that its container was looked at after the solve"
    trouble = row.details["cleanroom_trouble"]
    return f"its container after the solve: {str(trouble)[:LONGEST]}" if trouble is not None else ""


def _protection(subject: Subject) -> str:
    level = str((subject.row.details if subject.row else {}).get("protection") or "")
    level = level or str(subject.record.room.get("protection") or "")
    if level == "os":
        return ""
    if level == "policy":
        return "level policy: the file was readable for the container's user, guarded by the server's rules only"
    return f"level {level[:LONGEST]}" if level else "its protection level is not recorded"


def _clean(subject: Subject) -> str:
    if subject.row is None:
        return "the ledger does not tell which solve made this archive"
    if "degraded" not in subject.row.details:
        return "whether its solve was clean is not recorded"
    if not subject.row.details["degraded"]:
        return ""
    return f"degraded: {str(subject.row.details.get('server_reason') or 'not a clean solve')[:LONGEST]}"


def _single(subject: Subject) -> str:
    tasks, archives = subject.graded.tasks(subject.record), len(subject.record.archives)
    if not tasks:
        return "the ledger does not tell its attempts"
    told = [f"{tasks} attempts had a task"] if tasks > 1 else []
    account = subject.graded.grade.account
    if account is not None and tasks > 1:
        told.append(
            f"{account.repeats_after_infrastructure} repeated one that the infrastructure had ended, "
            f"{account.repeats_asked_for} were asked for, {account.repeats_undeclared} are not announced by any flag"
        )
    return ", ".join(told + ([f"{archives} different archives were finished"] if archives > 1 else []))


def _evaluated(subject: Subject) -> str:
    times = subject.graded.grade.attempts
    return "" if times == 1 else f"its archive was given to the evaluator {times} times"


def _flags(subject: Subject) -> str:
    flagged = subject.record.submission.get("flagged")
    if not isinstance(flagged, list) or subject.record.submission.get("sha256") != subject.graded.sha256:
        return "no record of what the archive was made from"
    reasons = sorted({str(value_at(note, "reason"))[:LONGEST] for note in flagged})
    told = [f"{len(flagged)} flagged path(s): {', '.join(reasons)}"] if flagged else []
    warnings = subject.record.submission.get("warnings")
    return "; ".join(told + ([f"warned of: {', '.join(map(str, warnings))[:LONGEST]}"] if warnings else []))


SOLVE_CHECKS = (
    Check(
        "network_off",
        "No internet for the agent's commands: the container had the network mode `none`, inspected before the agent "
        "began and again after the solve, and the server's web tools were off in the task as it was submitted.",
        _network,
        (
            "_record/run/<instance>/ouroboros_task_body.json",
            "_record/run/<instance>/cleanroom.json",
            "_record/run/result_index.jsonl (cleanroom_trouble)",
        ),
    ),
    Check(
        "reference_protected",
        "The reference program could be run but not read: it belonged to another user, execute-only, on a read-only "
        "volume, and the container lacked the capabilities to get round that (level `os`).",
        _protection,
        ("_record/run/result_index.jsonl (protection)", "_record/run/<instance>/cleanroom.json"),
    ),
    Check(
        "clean_solve",
        "The solve ended cleanly: no failure of the provider, no spent budget, no lost container.",
        _clean,
        ("_record/run/result_index.jsonl (degraded)", "_record/run/<instance>/ouroboros_task_result.json"),
    ),
    Check(
        "single_attempt",
        "One attempt, and its archive is the one handed in.",
        _single,
        ("_record/run/result_index.jsonl", "_record/run/grade_summary.json (account)"),
    ),
    Check(
        "evaluated_once",
        "In this run the archive was given to the official evaluator once.",
        _evaluated,
        ("_record/run/grade_summary.json (attempts)",),
    ),
    Check(
        "nothing_flagged",
        "Packing found no near-copy of the reference in the archive, and nothing else that deserves a look.",
        _flags,
        ("_record/run/<instance>/submission.json",),
    ),
)
