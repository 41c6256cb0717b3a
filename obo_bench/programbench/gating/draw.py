"""Draws calibration tasks: smoke tasks from the easy ones, unseen tasks from all the rest.

The order of a draw is that of SHA-256 over seed, group and id, so that it does not depend on any random generator.
"""

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.instances import Instance

TASKS_PER_GROUP = 10
"""Tasks that are drawn for each group."""
LARGEST_SEED = 2**64 - 1

_HEADER = re.compile(r"# drawn by obo-bench: seed=([0-9]{1,20}) smoke=(given|drawn) catalogue=([0-9a-f]{64})")


@dataclass(frozen=True)
class Draw:
    """What decides a draw."""

    seed: int
    """The seed, 0 or more."""
    smoke_given: bool
    """Whether the smoke tasks were named, and only the unseen ones drawn."""
    catalogue_sha256: str
    """Digest of the tasks that could be drawn."""

    @property
    def header(self) -> str:
        """The comment that tells it in a list of tasks."""
        smoke = "given" if self.smoke_given else "drawn"
        return f"# drawn by obo-bench: seed={self.seed} smoke={smoke} catalogue={self.catalogue_sha256}"


@dataclass(frozen=True)
class DrawnTasks:
    """The tasks of a draw, each group in the order of its draw."""

    draw: Draw
    """How they came about."""
    smoke: tuple[str, ...]
    """Tasks that show whether anything works at all."""
    unseen: tuple[str, ...]
    """Tasks that nobody has tuned the system on."""

    def text(self) -> str:
        """Return the list as `run --ids-file` and `gate --tasks` take it, without a final newline."""
        return "\n".join([self.draw.header, "# smoke", *self.smoke, "# unseen", *self.unseen])


def catalogue_sha256(instances: Iterable[Instance]) -> str:
    """Return the digest of the benchmark's ids and difficulties, without the package's own test instances."""
    known = {instance.instance_id: instance.difficulty for instance in instances if not instance.is_fixture}
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()


def draw_tasks(instances: Sequence[Instance], seed: int, smoke: Sequence[str] | None = None) -> DrawnTasks:
    """Draw the tasks; given `smoke` tasks are kept as they are, and only unseen ones drawn.

    Raises PreflightRefused `dataset_unavailable` when the installed package has too few tasks to draw from.
    """
    benchmark = [instance for instance in instances if not instance.is_fixture]
    chosen = tuple(smoke) if smoke is not None else _first(benchmark, seed, "smoke", easy=True)
    unseen = _first(benchmark, seed, "unseen", without=chosen)
    return DrawnTasks(Draw(seed, smoke is not None, catalogue_sha256(instances)), chosen, unseen)


def told_draw(line: str) -> Draw | None:
    """Return the draw that a line of a list of tasks tells of, None when it is no such line."""
    found = _HEADER.fullmatch(line.strip())
    return Draw(int(found[1]), found[2] == "given", found[3]) if found else None


def _first(
    instances: Iterable[Instance], seed: int, group: str, *, easy: bool = False, without: Collection[str] = ()
) -> tuple[str, ...]:
    ids = [i.instance_id for i in instances if i.instance_id not in without and (not easy or i.difficulty == "easy")]
    if len(ids) < TASKS_PER_GROUP:
        raise PreflightRefused(
            "dataset_unavailable",
            f"the programbench package has {len(ids)} task(s) to draw {TASKS_PER_GROUP} {group} tasks from",
            evidence={"group": group, "candidates": len(ids)},
            remedy="list tasks of your own, one id a line: `gate --tasks FILE` takes any number",
        )
    return tuple(sorted(ids, key=lambda iid: _rank(seed, group, iid))[:TASKS_PER_GROUP])


def _rank(seed: int, group: str, instance_id: str) -> str:
    return hashlib.sha256(f"{seed}\n{group}\n{instance_id}".encode()).hexdigest()
