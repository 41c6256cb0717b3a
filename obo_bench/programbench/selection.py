"""Which instances a run is about: difficulty, language and ids narrow, then the official shuffle, filter and slice.

`check_selector` looks at the arguments alone, so it can run before anything is read; `select` needs the instances.
"""

import difflib
import random
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from obo_bench.core.refusals import PreflightRefused, UsageError
from obo_bench.programbench.instances import Instance

DIFFICULTIES = ("easy", "medium", "hard", "none")
"""Values of --difficulty; `none` stands for instances that the benchmark does not grade."""

SHUFFLE_SEED = 42
"""The seed that the official shuffle always uses."""

_SHOWN_IDS = 20


@dataclass(frozen=True)
class Selector:
    """What was asked for; nothing asked for means the whole benchmark."""

    difficulty: tuple[str, ...] = ()
    """Any of `DIFFICULTIES`."""
    language: tuple[str, ...] = ()
    """Languages of the originals."""
    instance_ids: tuple[str, ...] = ()
    """Ids; blanks around them and repetitions do not matter. Test instances are in the set only if named here."""
    filter: str = ""
    """Regular expression, matched from the start of the id."""
    slice: str = ""
    """Python slice without brackets, such as `0:3`; a single number means the first so many."""
    shuffle: bool = False
    """Whether the official fixed shuffle comes first."""


def check_selector(selector: Selector) -> None:
    """Raise UsageError for a value that can't mean anything, naming it, the reason and the remedy."""
    for value in selector.difficulty:
        if _folded(value) not in DIFFICULTIES:
            raise UsageError(
                f"--difficulty {_quoted(value)}: there is no such difficulty; use {', '.join(DIFFICULTIES)}"
            )
    for value in selector.language:
        if not value.strip():
            raise UsageError(f"--language {_quoted(value)}: it is blank; name a language, such as rs, go or c")
    if selector.instance_ids and not _wanted_ids(selector):
        raise UsageError("--instance-id: every id given is blank; name at least one, or leave the option out")
    _check_filter(selector.filter)
    _check_slice(selector.slice)


def select(instances: Sequence[Instance], selector: Selector) -> tuple[Instance, ...]:
    """Return the selected instances in the order of the run.

    Raises UsageError as `check_selector` does, and PreflightRefused: `unknown_instance`, or `empty_selection` that
    names the option which left nothing.
    """
    check_selector(selector)
    wanted = _wanted_ids(selector)
    _refuse_unknown(wanted, [instance.instance_id for instance in instances], "the benchmark")
    narrowing = _Narrowing(
        [instance for instance in instances if not instance.is_fixture or instance.instance_id in wanted]
    )
    narrowing.keep("--difficulty", selector.difficulty, lambda instance: instance.difficulty or "none")
    narrowing.keep("--language", selector.language, lambda instance: instance.language)
    narrowing.keep("--instance-id", wanted, lambda instance: instance.instance_id)
    narrowing.apply("--filter", selector.filter, _official(narrowing.left, selector.filter, "", selector.shuffle))
    narrowing.apply("--slice", selector.slice, _official(narrowing.left, "", selector.slice, shuffle=False))
    return tuple(narrowing.left)


def chosen_ids(requested: Sequence[str], selector: Selector, whose: str) -> tuple[str, ...]:
    """Return the ids that the selector names, in its order, or all of `requested` where it names none.

    Raises PreflightRefused `unknown_instance` for one that `whose`, such as "the run", does not have.
    """
    named = _wanted_ids(selector)
    _refuse_unknown(named, requested, whose)
    return named or tuple(requested)


class _Narrowing:
    """The instances still in the set, and how each option made them fewer."""

    def __init__(self, instances: list[Instance]) -> None:
        self.left = instances
        self._steps = [f"{len(instances)} instances"]

    def keep(self, option: str, values: Iterable[str], key: Callable[[Instance], str]) -> None:
        """Keep the instances whose key is among the values; no values keep all."""
        folded = {_folded(value) for value in values}
        if folded:
            kept = [instance for instance in self.left if _folded(key(instance)) in folded]
            self.apply(option, ", ".join(sorted(folded)), kept)

    def apply(self, option: str, value: str, kept: list[Instance]) -> None:
        """Take over what an option left; PreflightRefused if that is nothing."""
        before = self.left
        self.left = kept
        if value:
            self._steps.append(f"{option} {_quoted(value)} left {len(kept)}")
        if not kept:
            raise PreflightRefused(
                "empty_selection",
                f"{'; '.join(self._steps)}{_hint(option, before)}",
                evidence={"option": option, "value": value, "steps": self._steps},
            )


def _hint(option: str, before: list[Instance]) -> str:
    if option == "--filter":
        return " (the pattern has to match from the start of the id: begin it with .* to search)"
    if option == "--language":
        return f" (there are: {', '.join(sorted({instance.language for instance in before}))})"
    return ""


def _official(instances: list[Instance], pattern: str, cut: str, shuffle: bool) -> list[Instance]:
    """Let the official function choose, and put the global random state back that its shuffle replaces."""
    from programbench.utils.instance_filters import filter_instances

    by_id = {instance.instance_id: instance for instance in instances}
    state = random.getstate()
    try:
        chosen = filter_instances(
            [{"instance_id": name} for name in by_id], filter_spec=pattern, slice_spec=cut, shuffle=shuffle
        )
    finally:
        random.setstate(state)
    return [by_id[entry["instance_id"]] for entry in chosen]


def _wanted_ids(selector: Selector) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for given in selector.instance_ids if (name := given.strip())))


def _refuse_unknown(named: Sequence[str], known: Sequence[str], whose: str) -> None:
    having = set(known)
    unknown = [name for name in named if name not in having]
    if not unknown:
        return
    near = {name: difflib.get_close_matches(name[:200], known, n=3, cutoff=0.5) for name in unknown[:_SHOWN_IDS]}
    told = [f"{_quoted(name)} ({'near: ' + ', '.join(ids) if ids else 'nothing near'})" for name, ids in near.items()]
    more = f", and {len(unknown) - _SHOWN_IDS} more" if len(unknown) > _SHOWN_IDS else ""
    raise PreflightRefused(
        "unknown_instance",
        f"{whose} has no instance {', '.join(told)}{more}",
        evidence={"unknown": unknown, "near": near},
    )


def _check_filter(pattern: str) -> None:
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise UsageError(
            f"--filter {_quoted(pattern)}: not a regular expression: {error}; "
            "write it as for Python's re.match, such as '.*calc'"
        ) from error


def _check_slice(text: str) -> None:
    remedy = "write start:stop or start:stop:step in whole numbers, such as 0:3"
    parts = text.split(":")
    if len(parts) > 3:
        raise UsageError(f"--slice {_quoted(text)}: it has {len(parts)} parts; {remedy}")
    try:
        numbers = [int(part) if part else None for part in parts]
    except ValueError as error:
        raise UsageError(f"--slice {_quoted(text)}: not whole numbers; {remedy}") from error
    if len(numbers) == 3 and numbers[2] == 0:
        raise UsageError(f"--slice {_quoted(text)}: a step of 0 leads nowhere; {remedy}")


def _folded(text: str) -> str:
    return text.strip().lower()


def _quoted(text: str) -> str:
    """Quote a value for a message; a very long one is cut."""
    return repr(text if len(text) <= 100 else f"{text[:100]}...")
