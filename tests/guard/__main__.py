"""`python -m tests.guard`: what the three guards say of the product and of violations planted in copies of it."""

import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from tests.guard import traced
from tests.guard.invocations import World
from tests.guard.kinds import HARMLESS_CODE, VIOLATIONS
from tests.guard.planted import Verdict, judge, plants
from tests.guard.planted_bodies import BODIES, judge_bodies
from tests.guard.planted_runtime import AUDITED, PROBED, audited, certain_plants, probed
from tests.guard.runtime import record
from tests.guard.static import PRODUCT, distinct, recorded_commands, walk_commands
from tests.guard.walk import Walk
from tests.guard.writers import foreign_writers

SEED = 20250101
"""Decides the places of the table; `python -m tests.guard SEED` tries others."""


def say(line: str) -> None:
    """Print one line."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def main() -> int:
    """Print the tables; the status is 1 when the product has a violation or a planted one was missed."""
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else SEED
    with tempfile.TemporaryDirectory() as directory:
        work = Path(directory).resolve()
        wrong = [*_product(work), *_planted(work, seed)]
    say(f"seed {seed}: " + ("all as it must be" if not wrong else f"{len(wrong)} WRONG"))
    for line in wrong:
        say(line)
    return 1 if wrong else 0


def _product(work: Path) -> Iterator[str]:
    commands = recorded_commands()
    found: dict[str, Sequence[object]] = {
        "static": walk_commands(PRODUCT, commands)[1],
        "manifest writers": foreign_writers(PRODUCT),
    }
    for command in distinct(commands):
        found[f"audit hook: {command.name}"] = record(_world(work), command.name, PRODUCT).violations()
        if not traced.trouble():
            calls = traced.trace(_world(work), command.name, PRODUCT).violations()
            found[f"strace: {command.name}"] = calls
    say(f"{'the product':46} violations")
    for guard, violations in found.items():
        say(f"  {guard:44} {len(violations):5}")
        yield from map(str, violations)


def _world(work: Path) -> World:
    return World(Path(tempfile.mkdtemp(dir=work)) / "world").prepare()


def _planted(work: Path, seed: int) -> Iterator[str]:
    sources, commands = PRODUCT.parent, recorded_commands()
    walk, _ = walk_commands(PRODUCT, commands)
    verdicts = list(judge(plants(VIOLATIONS, walk, sources, seed, rounds=2), sources, work, commands))
    yield from _table("planted before admission, static guard", verdicts, bool)
    harmless = list(judge(plants(HARMLESS_CODE, walk, sources, seed, rounds=3), sources, work, commands))
    yield from _table("harmless code, static guard", harmless, lambda told: not told)
    yield from _table("planted in bodies, manifest writers", list(judge_bodies(BODIES, sources, work, seed)), bool)
    yield from _at_run_time(walk, work, seed)


def _table(title: str, verdicts: Sequence[Verdict], right: Callable[[object], bool]) -> Iterator[str]:
    planted = Counter(verdict.plant.kind for verdict in verdicts)
    told = Counter(verdict.plant.kind for verdict in verdicts if verdict.findings)
    say(f"\n{title:46} planted reported")
    for kind, number in planted.items():
        say(f"  {kind:44} {number:7} {told[kind]:8}")
    say(f"  {'all':44} {planted.total():7} {told.total():8}")
    yield from (str(verdict) for verdict in verdicts if not right(verdict.findings))


def _at_run_time(walk: Walk, work: Path, seed: int) -> Iterator[str]:
    sources = PRODUCT.parent
    told = {f"{kind} (audit hook)": len(v) for kind, v in _audited(walk, work, seed).items()}
    if not traced.trouble():
        for plant in certain_plants(PROBED, walk, sources, seed):
            told[f"{plant.kind} (strace)"] = len(probed(plant, sources, work))
    say(f"\n{'planted before admission, at run time':46} planted reported")
    for kind, number in told.items():
        say(f"  {kind:44} {1:7} {min(number, 1):8}")
    yield from (f"{kind} was not seen at run time" for kind, number in told.items() if not number)


def _audited(walk: Walk, work: Path, seed: int) -> dict[str, list[object]]:
    found = audited(certain_plants(AUDITED, walk, PRODUCT.parent, seed), PRODUCT.parent, work)
    return {kind: list(events) for kind, events in found.items()}


if __name__ == "__main__":
    sys.exit(main())
