"""What is wrong with the values that a plan gives to its steps: what their commands refuse, and lost files."""

import os
from collections.abc import Iterator, Sequence

from obo_bench.core.refusals import PreflightRefused
from obo_bench.launch.campaign.command_lines import CommandLines
from obo_bench.launch.campaign.plan import StepTable
from obo_bench.launch.campaign.plan_file import Problem
from obo_bench.launch.campaign.resolving import PLACEHOLDER, Frame, Step
from obo_bench.launch.executing.startable import require_startable


def problem(step: StepTable, key: str, text: str) -> Problem:
    """Return one thing that is wrong with a step."""
    return Problem(f"[[steps]] {step.id!r}", key, text)


def value_problems(
    steps: Sequence[Step], frame: Frame, lines: CommandLines | None, found: Sequence[Problem]
) -> Iterator[Problem]:
    """Yield what is wrong with the values; options against which something was `found` already are left out.

    Without `lines` nothing is held against the commands themselves. Files are looked at.
    """
    for step in steps:
        wrong = _wrong(step.table, found)
        if lines is not None:
            yield from _parsed(step, lines, wrong)
            yield from _values(step, frame, lines, wrong)
        yield from _programs(step, frame)
        yield from _files(step, frame)


def _wrong(step: StepTable, found: Sequence[Problem]) -> set[str]:
    """Return the options of a step against which something stands already."""
    table = problem(step, "", "").table
    return {each.key.removeprefix("options.") for each in found if each.table == table}


def _parsed(step: Step, lines: CommandLines, wrong: set[str]) -> Iterator[Problem]:
    """Yield what the command's parser has against a step, one value after the other: it tells of the first alone."""
    command = step.kind.command
    arguments = step.arguments(step.table.max_cost_usd)[len(command.split()) :]
    left = _arguments_without(arguments, wrong)
    while complaint := lines.complaint(command, left):
        named = {option for option in (*step.table.options, *wrong) if f"'{_flag(option)}'" in complaint}
        if named & wrong:
            return  # it misses what was left out
        given = "".join(f" (it is {step.table.options[option]!r:.100})" for option in sorted(named))
        yield problem(step.table, "options", f"`obo-bench {command}` does not take them: {complaint}{given}")
        fewer = _arguments_without(left, named)
        if fewer == left:
            return
        left = fewer


def _flag(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def _arguments_without(arguments: Sequence[str], options: set[str]) -> list[str]:
    end = list(arguments).index("--") if "--" in arguments else len(arguments)
    flags = {_flag(option) for option in options}
    return [word for at, word in enumerate(arguments) if at >= end or word.partition("=")[0] not in flags]


def _values(step: Step, frame: Frame, lines: CommandLines, wrong: set[str]) -> Iterator[Problem]:
    given = step.table.options.items()
    options = {
        key: value
        for key, value in given
        if key not in wrong and not PLACEHOLDER.search(str(value)) and not _is_lost(step, key, value, frame)
    }
    whole = len(options) == len(given)
    for option, text in lines.wrong_values(step.table.kind, options, frame.directory, whole=whole):
        yield problem(step.table, f"options.{option}" if option else "options", text)


def _programs(step: Step, frame: Frame) -> Iterator[Problem]:
    if not step.table.command or PLACEHOLDER.search(step.table.command[0]):
        return
    try:
        require_startable(step.table.command, frame.directory, os.environ)
    except PreflightRefused as refusal:
        refusal.settle()
        yield problem(step.table, "command", refusal.message)


def _files(step: Step, frame: Frame) -> Iterator[Problem]:
    for key, value in step.table.options.items():
        if not isinstance(value, str) or PLACEHOLDER.search(value):
            continue  # an earlier step makes what it names
        if _is_lost(step, key, value, frame):
            yield problem(step.table, f"options.{key}", f"there is no file {value!r} in {frame.directory}")
        if key in step.kind.runs and not _is_there(value, frame):
            where = f"neither a run in {frame.runs_root / 'programbench'} nor in {frame.directory}"
            hint = "name what an earlier step makes as ${steps.ID.run_root}"
            yield problem(step.table, f"options.{key}", f"{value!r} is {where}; {hint}")


def _is_lost(step: Step, key: str, value: object, frame: Frame) -> bool:
    return isinstance(value, str) and key in step.kind.files and not (frame.directory / value).is_file()


def _is_there(value: str, frame: Frame) -> bool:
    if not frame.runs_known and "/" not in value:
        return True  # an id among runs that nobody has named the place of
    return (frame.directory / value).exists() or (frame.runs_root / "programbench" / value).exists()
