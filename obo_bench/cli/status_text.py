"""A status as lines for people: plain text, foreign words made harmless, the same on a terminal and in a file."""

import shlex
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from obo_bench.core.reporter import printable
from obo_bench.report.counts import counted

if TYPE_CHECKING:
    from obo_bench.report.status.document import InstanceStatus, ResumeStatus, RunStatus

_COLUMNS = ("INSTANCE", "STATE", "FOR", "TRY", "ROUNDS", "COST", "GRADE", "DETAIL")
_LONGEST_DETAIL = 300
_MOST_STEPS = 20
_ACTIVE_FIRST = ("solving", "submitting", "packaging", "queued", "preparing", "left")


def status_lines(
    status: "RunStatus", *, most_instances: int | None = None, most_events: int | None = None
) -> list[str]:
    """Return the lines; `most_instances` keeps those at work, then the latest endings, `most_events` the latest."""
    told = list(_events(status, len(status.events) if most_events is None else most_events))
    blocks = [list(_head(status)), _table(status, most_instances), told, list(_resume(status))]
    lines = [line for block in blocks if block for line in ("", *block)][1:]
    return [printable(line) for line in lines]


def frame_lines(status: "RunStatus", height: int) -> list[str]:
    """Return at most so many lines: what is at work comes before the events, and they before what has ended."""
    instances, events = len(status.instances), len(status.events)
    at_work = min(sum(str(one.state) in _ACTIVE_FIRST for one in status.instances), instances)
    while True:
        lines = status_lines(status, most_instances=instances, most_events=events)
        excess = len(lines) - height
        if excess <= 0 or (instances <= 1 and not events):
            return lines[: max(height, 1)]
        if instances > max(at_work, 1):
            instances = max(instances - excess, at_work, 1)
        elif events:
            events = max(events - excess, 0)
        else:
            instances = max(instances - excess, 1)


def change_lines(before: "RunStatus | None", now: "RunStatus") -> list[str]:
    """Return one line for each instance, and for the run, that has changed; all of them at first."""
    stamp = time.strftime("%H:%M:%S", time.localtime(now.taken_at_unix))
    known = {one.instance_id: _state_text(one) for one in before.instances} if before else {}
    lines = [] if before and _run_text(before) == _run_text(now) else [f"{now.run_id}: {_run_text(now)}"]
    changed = [one for one in now.instances if known.get(one.instance_id) != _state_text(one)]
    lines += [f"{one.instance_id}: {_state_text(one)}" for one in changed]
    return [printable(f"{stamp} {line}") for line in lines]


def duration(seconds: float | None) -> str:
    """Return a time in seconds for people, empty when it is not known."""
    if seconds is None:
        return ""
    whole = max(0, int(seconds))
    hours, minutes = whole // 3600, whole % 3600 // 60
    if hours:
        return f"{hours}h{minutes:02d}m"
    return f"{minutes}m{whole % 60:02d}s" if minutes else f"{whole}s"


def _head(status: "RunStatus") -> Iterator[str]:
    yield f"{status.kind} {status.run_id}: {_outcome(status)}"
    facts = {
        "where": status.run_root,
        "what": " ".join(filter(None, [status.command, _workers(status)])),
        "when": _when(status),
        "process": _process(status),
        "server": _server(status),
        "model": status.model or "",
        "money": _money(status),
        "instances": _instances(status),
        "evaluation": _evaluation(status),
        "grades": _grades(status),
        "engine": f"does not tell of containers: {status.engine}" if status.engine else "",
        "why": status.why,
        "what to do": status.remedy,
    }
    for name, value in [*((name, value) for name, value in facts.items()), *(("problem", p) for p in status.problems)]:
        if value:
            yield f"  {name:<11} {value}"


def _outcome(status: "RunStatus") -> str:
    if status.process.state == "alive":
        return "at work"
    told = "killed, it died without an ending" if status.outcome == "killed" else status.outcome.replace("_", " ")
    return told if status.exit_code is None else f"{told} (exit status {status.exit_code})"


def _workers(status: "RunStatus") -> str:
    return "" if status.workers is None else f"with {status.workers} worker(s)"


def _when(status: "RunStatus") -> str:
    if status.created_at_unix is None:
        return ""
    begun = time.localtime(status.created_at_unix if status.begun_at_unix is None else status.begun_at_unix)
    told = f"begun {time.strftime('%Y-%m-%d %H:%M:%S', begun)}"
    if status.worked_sec is not None:
        took = "for" if status.process.state == "alive" else "took"
        told += f", {took} {'at least ' if status.worked_is_lower_bound else ''}{duration(status.worked_sec)}"
    killed = f", {status.killed_invocations} of them killed" if status.killed_invocations else ""
    return f"{told} in {status.invocations} invocations{killed}" if status.invocations > 1 else told


def _process(status: "RunStatus") -> str:
    process = status.process
    who = f"process {process.pid} on {process.host}" if process.pid is not None else ""
    what = f"({process.command})" if process.command and process.command != status.command else ""
    state = {"alive": "alive", "killed": "gone without an ending", "unknown": "unknown"}.get(str(process.state), "")
    told = " ".join(filter(None, [who, what, process.detail]))
    return f"{state}: {told}" if state and told else state


def _server(status: "RunStatus") -> str:
    server = status.server
    if not server.url:
        return ""
    version = server.version or server.admitted_version
    named = f"{server.url}" + (f", version {version}" if version else "")
    if server.reachable is None:
        return named + (f" ({server.detail})" if server.detail else "")
    if not server.reachable:
        return f"{named}, cannot be asked ({server.detail})"
    if server.same is False:
        return f"{named}: not the admitted {server.admitted_version}"
    load = f"{server.running} running, {server.pending} waiting"
    return f"{named}, {'ready' if server.ready else 'not ready'}, {load}"


def _money(status: "RunStatus") -> str:
    money = status.money
    bound = "at least " if money.lower_bound else ""
    parts = [f"{bound}{money.known_usd:.4f} USD"]
    if money.unknown_attempts:
        parts.append(f"unknown for {money.unknown_attempts} attempt(s)")
    if money.running_usd is not None:
        parts.append(f"{money.running_usd:.4f} USD of tasks at work")
    if money.ceiling_usd is not None:
        parts.append(f"ceiling {money.ceiling_usd:g} USD")
    if status.server.budget_usd is not None and status.server.spent_usd is not None:
        parts.append(f"server {status.server.spent_usd:.2f} of {status.server.budget_usd:g} USD")
    return ", ".join(parts) if status.kind == "run" else ""


def _instances(status: "RunStatus") -> str:
    if not status.requested:
        return ""
    told = counted(status.totals)
    return f"{status.requested}: {told}" if told else str(status.requested)


def _evaluation(status: "RunStatus") -> str:
    found = status.evaluation
    if found.state == "running":
        return f"running, {found.finished} of {found.begun} that were begun have a result"
    return "" if found.state in ("not_requested", "completed") else found.state.replace("_", " ")


def _grades(status: "RunStatus") -> str:
    grades = status.grades
    if grades is None:
        return ""
    text = f"{grades.passed} pass, {grades.failed} fail, {grades.ungraded} ungraded"
    means = {"listed": grades.mean_over_listed, "benchmark": grades.mean_over_benchmark}
    told = [f"{mean:.4f} over {name}" for name, mean in means.items() if mean is not None]
    return f"{text}; official mean {', '.join(told)}" if told else text


def _table(status: "RunStatus", most: int | None) -> list[str]:
    chosen = _chosen(status.instances, most)
    if not chosen:
        return []
    rows = [_COLUMNS, *(_cells(one, status.taken_at_unix) for one in chosen)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    shown = [at for at, _ in enumerate(_COLUMNS) if any(row[at] for row in rows[1:])]
    lines = ["  ".join(f"{row[at]:<{widths[at]}}" for at in shown).rstrip() for row in rows]
    left = len(status.instances) - len(chosen)
    return [*lines, f"and {left} more"] if left else lines


def _chosen(instances: "Sequence[InstanceStatus]", most: int | None) -> "Sequence[InstanceStatus]":
    if most is None or len(instances) <= most:
        return instances

    def weight(one: "InstanceStatus") -> tuple[int, float]:
        at_work = str(one.state) in _ACTIVE_FIRST
        return (0 if at_work else 1 if one.since_unix is not None else 2, -(one.since_unix or 0.0))

    return sorted(instances, key=weight)[: max(0, most)]


def _cells(one: "InstanceStatus", now: float) -> tuple[str, ...]:
    busy = str(one.state) in _ACTIVE_FIRST
    cost = "" if one.cost_usd is None else f"{'' if one.cost_is_final else '>='}{one.cost_usd:.4f}"
    grade = f"{one.verdict} {one.score:.3f}" if one.verdict and one.score is not None else one.verdict
    return (
        printable(one.instance_id),
        str(one.state).replace("_", " "),
        duration(now - one.since_unix) if busy and one.since_unix is not None else "",
        "" if one.attempt is None else str(one.attempt),
        "" if one.rounds is None else str(one.rounds),
        cost,
        grade,
        _cut(printable(_detail(one))),
    )


def _detail(one: "InstanceStatus") -> str:
    parts = []
    if str(one.state) in _ACTIVE_FIRST and one.task_id:
        parts.append(f"task {one.task_id} {one.task_status}".rstrip())
    if one.container is not None and one.container.state is not None:
        parts.append(f"container {one.container.detail or one.container.state}")
    if one.reason_code and one.reason_code != "submission_prepared":
        parts.append(f"{one.reason_code}: {one.error}" if one.error else one.reason_code)
    if one.degraded:
        parts.append("degraded")
    return ", ".join(parts)


def _cut(text: str) -> str:
    """Return a text at its full length, or the words of it that have room, and a sign that there are more."""
    if len(text) <= _LONGEST_DETAIL:
        return text
    kept = text[: _LONGEST_DETAIL + 1]
    return f"{kept.rpartition(' ')[0].rstrip() or kept[:-1]} ..."


def _events(status: "RunStatus", most: int) -> Iterable[str]:
    if status.events and most:
        yield "last events"
    for event in status.events[-most:] if most else ():
        stamp = time.strftime("%H:%M:%S", time.localtime(event.ts_unix))
        yield f"  {stamp} {event.subject + ': ' if event.subject else ''}{_cut(event.text)}"


def _resume(status: "RunStatus") -> Iterable[str]:
    resume = status.resume
    if resume is None or set(resume.steps) == {"skip"}:
        return
    if resume.steps:
        yield "a resume would: " + ", ".join(f"{step} {count}" for step, count in sorted(resume.steps.items()))
    steps = [(one.instance_id, one.next_step) for one in status.instances if one.next_step is not None]
    told = [f"  {name}: {step.step}: {step.why}" for name, step in steps if step.step != "skip"]
    yield from told[:_MOST_STEPS]
    if len(told) > _MOST_STEPS:
        yield f"  and {len(told) - _MOST_STEPS} more, all in the answer of --json"
    if leaves_all_alone(resume):
        yield _how_to_repeat(status, resume)
        return
    if not resume.shell:
        yield "to go on:"
    for note in resume.notes:
        yield f"  {note}"
    if resume.shell:
        yield f"next: {resume.shell}"


def leaves_all_alone(resume: "ResumeStatus") -> bool:
    """Say whether a resume would do nothing: every instance is done, or ended in a way that it does not repeat."""
    return bool(resume.steps) and set(resume.steps) <= {"skip", "keep"}


def _how_to_repeat(status: "RunStatus", resume: "ResumeStatus") -> str:
    kept = [one.reason_code for one in status.instances if one.next_step is not None and one.next_step.step == "keep"]
    wishes = [word for reason in dict.fromkeys(kept) for word in ("--retry", reason)]
    return f"to solve them again: {shlex.join([*resume.command, *wishes])}"


def _run_text(status: "RunStatus") -> str:
    evaluation = _evaluation(status)
    parts = [_outcome(status), _instances(status), f"evaluation {evaluation}" if evaluation else ""]
    return "; ".join(part for part in parts if part)


def _state_text(one: "InstanceStatus") -> str:
    return f"{str(one.state).replace('_', ' ')}{f' ({detail})' if (detail := _steady_detail(one)) else ''}"


def _steady_detail(one: "InstanceStatus") -> str:
    """Return what is told of a change: the engine counts seconds, which is none."""
    container = one.container.model_copy(update={"detail": ""}) if one.container is not None else None
    return _detail(one.model_copy(update={"container": container}))
