"""What is wrong with a plan: names, order, conditions that never hold, options that no command takes, lost files."""

from collections.abc import Iterator, Mapping, Sequence

from obo_bench.launch.campaign.command_lines import CommandLines
from obo_bench.launch.campaign.kinds import KINDS, PAY_AGAIN, is_reserved
from obo_bench.launch.campaign.plan import Plan, StepTable
from obo_bench.launch.campaign.plan_file import Problem, near
from obo_bench.launch.campaign.resolving import Frame, Step, resolve
from obo_bench.launch.campaign.values import problem, value_problems

_LAUNCHER = "exec"


def examine(plan: Plan, frame: Frame, lines: CommandLines | None) -> tuple[list[Step], list[Problem]]:
    """Return the steps, and all that is wrong with the plan; the steps are whole when nothing is.

    Without `lines` nothing is held against the commands themselves. Files are looked at.
    """
    problems = [*_ids(plan.steps), *_needs(plan.steps), *_conditions(plan.steps), *_launchers(plan.steps)]
    if lines is not None:
        problems += [each for step in plan.steps for each in _options(step, lines)]
    steps, unresolved = resolve(plan, frame)
    problems += unresolved
    problems += list(value_problems(steps, frame, lines, problems))
    return steps, problems


def _ids(steps: Sequence[StepTable]) -> Iterator[Problem]:
    seen: set[str] = set()
    for step in steps:
        if step.id in seen:
            yield problem(step, "id", "there are two steps of this name: give each its own")
        seen.add(step.id)


def _needs(steps: Sequence[StepTable]) -> Iterator[Problem]:
    known = {step.id: step for step in steps}
    earlier: set[str] = set()
    for step in steps:
        for need in step.needs:
            if need not in known:
                yield problem(step, "needs", f"{need!r} is no step: {near(need, list(known))}")
            elif need == step.id:
                yield problem(step, "needs", f"the step needs itself, {need!r}: leave that out")
            elif circle := _circle(step.id, need, known):
                yield problem(step, "needs", f"the steps need each other: {' -> '.join(circle)}")
            elif need not in earlier:
                yield problem(step, "needs", f"{need!r} comes later: steps go in the order of the file, put it before")
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
            yield problem(
                step, "on", "there is nothing in needs that it could be about: name the steps, or leave it out"
            )
            continue
        possible = {outcome for need in needed for outcome in KINDS[need.kind].outcomes}
        for outcome in step.on if needed else ():
            if outcome not in possible:
                yield problem(
                    step,
                    "on",
                    f"{outcome!r} can never be the outcome of what it needs: {near(outcome, sorted(possible))}",
                )
        for need in needed:
            outcomes = KINDS[need.kind].outcomes
            if not set(step.on) & set(outcomes):
                told = ", ".join(outcomes)
                yield problem(step, "on", f"it can never start: {need.id!r} ends with one of {told}, none is in on")


def _launchers(steps: Sequence[StepTable]) -> Iterator[Problem]:
    for step in steps:
        if step.kind == _LAUNCHER and not step.command:
            yield problem(step, "command", 'is missing: give the launcher and its arguments, ["python", "solve.py"]')
        if step.kind != _LAUNCHER and step.command:
            yield problem(step, "command", f"only a step of kind {_LAUNCHER!r} has one")
        if step.max_cost_usd is not None and not KINDS[step.kind].spends:
            yield problem(step, "max_cost_usd", f"a step of kind {step.kind!r} costs nothing: leave it out")


def _options(step: StepTable, lines: CommandLines) -> Iterator[Problem]:
    kind = KINDS[step.kind]
    known = lines.options(kind.command)
    for option, value in step.options.items():
        key = f"options.{option}"
        if option == "max_cost_usd" and is_reserved(kind, option):
            beside = f"write it beside the options, as max_cost_usd = {value!r:.100} of the step"
            yield problem(step, key, beside if kind.spends else "a step of this kind costs nothing: leave it out")
        elif is_reserved(kind, option):
            yield problem(step, key, "the campaign says this to its steps: leave it out here")
        elif option in PAY_AGAIN:
            yield problem(
                step, key, "a step that is repeated would pay, or change its configuration, again: leave it out"
            )
        elif option not in known:
            usable = sorted(name for name in known if not is_reserved(kind, name) and name not in PAY_AGAIN)
            yield problem(step, key, f"`obo-bench {kind.command}` has no such option: {near(option, usable)}")
        elif value is True and not known[option]:
            yield problem(step, key, "is true, but it takes a value: give one")
