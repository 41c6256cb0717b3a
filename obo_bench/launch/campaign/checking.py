"""What is wrong with a plan: names, order, conditions that never hold, options that no command takes, lost files."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from obo_bench.launch.campaign.kinds import KINDS, PAY_AGAIN, is_reserved
from obo_bench.launch.campaign.plan import Plan, StepTable
from obo_bench.launch.campaign.plan_file import Problem, near
from obo_bench.launch.campaign.resolving import PLACEHOLDER, Frame, Step, resolve

_LAUNCHER = "exec"


class CommandLines(Protocol):
    """What the real command line says; handed in by whoever knows it."""

    def options(self, command: str) -> Mapping[str, bool]:
        """Return a command's options and arguments by name, `ids_file` for --ids-file: whether it takes no value."""

    def complaint(self, command: str, arguments: Sequence[str]) -> str | None:
        """Return what its parser has against these arguments; None when it takes them."""

    def task_ids(self, kind: str, options: Mapping[str, Any], directory: Path) -> list[str] | None:
        """Return the ids that a step with these options asks for; None where that is not known beforehand."""


def examine(plan: Plan, frame: Frame, lines: CommandLines | None) -> tuple[list[Step], list[Problem]]:
    """Return the steps, and all that is wrong with the plan; the steps are whole when nothing is.

    Without `lines` nothing is held against the commands themselves. Files are looked at.
    """
    problems = [*_ids(plan.steps), *_needs(plan.steps), *_conditions(plan.steps), *_launchers(plan.steps)]
    if lines is not None:
        problems += [problem for step in plan.steps for problem in _options(step, lines)]
    steps, unresolved = resolve(plan, frame)
    problems += unresolved
    if lines is not None and not problems:
        problems += _parsed(steps, lines)
    return steps, [*problems, *_files(steps, frame)]


def _problem(step: StepTable, key: str, text: str) -> Problem:
    return Problem(f"[[steps]] {step.id!r}", key, text)


def _ids(steps: Sequence[StepTable]) -> Iterator[Problem]:
    seen: set[str] = set()
    for step in steps:
        if step.id in seen:
            yield _problem(step, "id", "there are two steps of this name: give each its own")
        seen.add(step.id)


def _needs(steps: Sequence[StepTable]) -> Iterator[Problem]:
    known = {step.id: step for step in steps}
    earlier: set[str] = set()
    for step in steps:
        for need in step.needs:
            if need not in known:
                yield _problem(step, "needs", f"{need!r} is no step: {near(need, list(known))}")
            elif circle := _circle(step.id, need, known):
                yield _problem(step, "needs", f"the steps need each other: {' -> '.join(circle)}")
            elif need not in earlier:
                yield _problem(step, "needs", f"{need!r} comes later: steps go in the order of the file, put it before")
        earlier.add(step.id)


def _circle(start: str, need: str, known: Mapping[str, StepTable]) -> list[str]:
    """Return the way from a step over one that it needs back to itself, empty when there is none."""
    ways, seen = [[start, need]], {need}
    while ways:
        way = ways.pop()
        if way[-1] == start:
            return way
        more = [name for name in known[way[-1]].needs if name in known and name not in seen]
        seen.update(set(more) - {start})
        ways += [[*way, name] for name in more]
    return []


def _conditions(steps: Sequence[StepTable]) -> Iterator[Problem]:
    known = {step.id: step for step in steps}
    for step in steps:
        needed = [known[need] for need in step.needs if need in known]
        if step.on != ("completed",) and not step.needs:
            yield _problem(
                step, "on", "there is nothing in needs that it could be about: name the steps, or leave it out"
            )
            continue
        possible = {outcome for need in needed for outcome in KINDS[need.kind].outcomes}
        for outcome in step.on if needed else ():
            if outcome not in possible:
                yield _problem(
                    step,
                    "on",
                    f"{outcome!r} can never be the outcome of what it needs: {near(outcome, sorted(possible))}",
                )
        for need in needed:
            outcomes = KINDS[need.kind].outcomes
            if not set(step.on) & set(outcomes):
                told = ", ".join(outcomes)
                yield _problem(step, "on", f"it can never start: {need.id!r} ends with one of {told}, none is in on")


def _launchers(steps: Sequence[StepTable]) -> Iterator[Problem]:
    for step in steps:
        if step.kind == _LAUNCHER and not step.command:
            yield _problem(step, "command", 'is missing: give the launcher and its arguments, ["python", "solve.py"]')
        if step.kind != _LAUNCHER and step.command:
            yield _problem(step, "command", f"only a step of kind {_LAUNCHER!r} has one")
        if step.max_cost_usd is not None and not KINDS[step.kind].spends:
            yield _problem(step, "max_cost_usd", f"a step of kind {step.kind!r} costs nothing: leave it out")


def _options(step: StepTable, lines: CommandLines) -> Iterator[Problem]:
    kind = KINDS[step.kind]
    known = lines.options(kind.command)
    for option, value in step.options.items():
        key = f"options.{option}"
        if is_reserved(kind, option):
            yield _problem(step, key, "the campaign says this to its steps: leave it out here")
        elif option in PAY_AGAIN:
            yield _problem(
                step, key, "a step that is repeated would pay, or change its configuration, again: leave it out"
            )
        elif option not in known:
            usable = sorted(name for name in known if not is_reserved(kind, name) and name not in PAY_AGAIN)
            yield _problem(step, key, f"`obo-bench {kind.command}` has no such option: {near(option, usable)}")
        elif value is True and not known[option]:
            yield _problem(step, key, "is true, but it takes a value: give one")


def _parsed(steps: Sequence[Step], lines: CommandLines) -> Iterator[Problem]:
    for step in steps:
        words = len(step.kind.command.split())
        complaint = lines.complaint(step.kind.command, step.arguments(step.table.max_cost_usd)[words:])
        if complaint:
            yield _problem(step.table, "options", f"`obo-bench {step.kind.command}` does not take them: {complaint}")


def _files(steps: Sequence[Step], frame: Frame) -> Iterator[Problem]:
    for step in steps:
        for key, value in step.table.options.items():
            if not isinstance(value, str) or PLACEHOLDER.search(value):
                continue  # an earlier step makes what it names
            if key in step.kind.files and not (frame.directory / value).is_file():
                yield _problem(step.table, f"options.{key}", f"there is no file {value!r} in {frame.directory}")
            if key in step.kind.runs and not _is_there(value, frame):
                where = f"neither a run in {frame.runs_root / 'programbench'} nor in {frame.directory}"
                hint = "name what an earlier step makes as ${steps.ID.run_root}"
                yield _problem(step.table, f"options.{key}", f"{value!r} is {where}; {hint}")


def _is_there(value: str, frame: Frame) -> bool:
    return (frame.directory / value).exists() or (frame.runs_root / "programbench" / value).exists()
