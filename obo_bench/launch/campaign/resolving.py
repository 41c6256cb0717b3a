"""Make the command of each step out of the plan: run ids, roots and placeholders; nothing is looked at."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.launch.campaign.kinds import KINDS, OF_THE_SERVER, Kind, root_of
from obo_bench.launch.campaign.plan import Plan, StepTable
from obo_bench.launch.campaign.plan_file import Problem

CEILING = "--max-cost-usd"
UNKNOWN_RUNS = Path("/RUNS-ROOT")
"""Stands for the runs root where nobody has said it."""
PLACEHOLDER = re.compile(r"\$\{([^}]*)\}?")
_KNOWN = re.compile(r"steps\.([a-z0-9_-]+)\.(run_root|run_id)")


@dataclass(frozen=True)
class Frame:
    """What all steps of one campaign share."""

    campaign_id: str
    """The campaign's run id."""
    runs_root: Path
    """Where runs are kept."""
    directory: Path
    """The directory of the campaign file: paths in it are relative to this, and steps run there."""
    shared: Mapping[str, object]
    """Options that the campaign gives to its steps, by name; what is None, False or empty is not given."""
    runs_known: bool = True
    """Whether `runs_root` is where runs are kept; otherwise it only stands for that place."""


@dataclass(frozen=True)
class Step:
    """A step that can be started."""

    table: StepTable
    """As the plan has it."""
    kind: Kind
    """Its kind."""
    run_id: str
    """Its run id; empty where it works within another run."""
    root: Path
    """Where it writes; its lock is there."""
    flags: tuple[str, ...]
    """Its options, without the ceiling."""
    tail: tuple[str, ...]
    """What comes after all options: a run's name, or a launcher with its arguments."""
    retries: int
    """How often it may be repeated."""

    @property
    def id(self) -> str:
        """Its name."""
        return self.table.id

    @property
    def manifest(self) -> Path:
        """Where its manifest is."""
        return self.root / self.kind.manifest

    def arguments(self, ceiling_usd: float | None = None, *, quiet: bool = False) -> list[str]:
        """Return its command line; a `ceiling_usd` is given to what can cost money."""
        ceiling = [f"{CEILING}={ceiling_usd:.6f}"] if ceiling_usd is not None and self.kind.spends else []
        flags = [*self.flags, *ceiling, "--json", *(["--quiet"] if quiet else [])]
        return [*self.kind.command.split(), *flags, *(["--", *self.tail] if self.tail else [])]


class Unresolved(ValueError):
    """A placeholder that cannot be replaced, or an option that no command line can hold."""

    def __init__(self, key: str, text: str) -> None:
        super().__init__(text)
        self.key = key
        """The key of the step's table."""


def resolve(plan: Plan, frame: Frame) -> tuple[list[Step], list[Problem]]:
    """Return the steps that can be made, in their order, and what stands against the others.

    A step of which only single options do not fit is made without them, so that the rest of it can be looked at.
    """
    steps: dict[str, Step] = {}
    problems = []
    for table in plan.steps:
        left: StepTable | None = table
        while left is not None:
            try:
                steps[table.id] = _step(left, plan, frame, steps)
                break
            except Unresolved as error:
                problems.append(Problem(f"[[steps]] {table.id!r}", error.key, str(error)))
                left = _without(left, error.key.removeprefix("options."))
    return list(steps.values()), problems


def _without(table: StepTable, option: str) -> StepTable | None:
    """Return a step without one of its options, None where it has no such option."""
    if option not in table.options:
        return None
    return table.model_copy(update={"options": {key: value for key, value in table.options.items() if key != option}})


def _step(table: StepTable, plan: Plan, frame: Frame, earlier: Mapping[str, Step]) -> Step:
    kind = KINDS[table.kind]
    own_id = f"{frame.campaign_id}.{table.id}"
    options = {key: _replaced(f"options.{key}", value, earlier) for key, value in table.options.items()}
    missing = [key for key in kind.required if not options.get(key)]
    if missing:
        raise Unresolved(f"options.{missing[0]}", f"is missing: a step of kind {table.kind!r} needs it")
    given = dict(options)
    asks_server = not options.get("no_server")
    shared = [key for key in kind.shared if asks_server or key not in OF_THE_SERVER]
    given.update({key: frame.shared[key] for key in shared if frame.shared.get(key)})
    if kind.identity and not (kind.identity == "dest_run_id" and {"dest", "dest_run_id"} & options.keys()):
        given[kind.identity] = own_id
    return Step(
        table=table,
        kind=kind,
        run_id=own_id if kind.identity else "",
        root=root_of(table.kind, own_id, options, frame.runs_root, frame.directory).absolute(),
        flags=tuple(_flags({key: value for key, value in given.items() if key != kind.argument})),
        tail=_tail(table, kind, options, earlier),
        retries=plan.campaign.retries if table.retries is None else table.retries,
    )


def _tail(table: StepTable, kind: Kind, options: Mapping[str, Any], earlier: Mapping[str, Step]) -> tuple[str, ...]:
    if table.kind == "exec":
        return tuple(str(_replaced("command", word, earlier)) for word in table.command)
    return (str(options[kind.argument]),) if kind.argument else ()


def _replaced(key: str, value: Any, earlier: Mapping[str, Step]) -> Any:
    if isinstance(value, list):
        return [_replaced(key, item, earlier) for item in value]
    if not isinstance(value, str):
        return value
    return PLACEHOLDER.sub(lambda found: _value(key, found, earlier), value)


def _value(key: str, found: "re.Match[str]", earlier: Mapping[str, Step]) -> str:
    known = _KNOWN.fullmatch(found[1])
    if known is None or not found[0].endswith("}"):
        raise Unresolved(key, f"{found[0]!r:.100} is no placeholder: there are ${{steps.ID.run_root}} and .run_id")
    step = earlier.get(known[1])
    if step is None:
        raise Unresolved(key, f"{found[0]} names no earlier step that is in order: there are {', '.join(earlier)}")
    if known[2] == "run_root":
        return str(step.root)
    if not step.run_id:
        raise Unresolved(key, f"{found[0]}: step {step.id!r} works within another run and has no run id; use run_root")
    return step.run_id


def _flags(options: Mapping[str, object]) -> Iterator[str]:
    """Yield options as a command line has them, each value within its word, so that none is taken for an option."""
    for key, value in options.items():
        flag = f"--{key.replace('_', '-')}"
        match value:
            case True:
                yield flag
            case False:
                raise Unresolved(f"options.{key}", "is false: leave it out, or give its opposite if it has one")
            case list() | tuple():
                yield from (f"{flag}={_word(key, item)}" for item in value)
            case _:
                yield f"{flag}={_word(key, value)}"


def _word(key: str, value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float | Path):
        raise Unresolved(f"options.{key}", f"{value!r:.100} is no value of an option: give text, a number or a list")
    return str(value)


def by_id(steps: Sequence[Step]) -> dict[str, Step]:
    """Return steps by their names."""
    return {step.id: step for step in steps}
