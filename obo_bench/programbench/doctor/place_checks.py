"""The checkout, and the place where runs are kept: what would be refused there, found out without making anything."""

import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from obo_bench.core.lock import OWNER_NAME, living_owner
from obo_bench.core.refusal_reasons import REASONS
from obo_bench.core.roots import check_confined, forbidden_places
from obo_bench.programbench.doctor.verdict import CannotLook, Verdict, fail, ok, warn
from obo_bench.programbench.doctor.world import World
from obo_bench.programbench.leftovers.run_lookup import owner_text

_SHORT_HASH = 12
_MOST_RUNS = 5000
"""Run directories that are looked at."""
_MOST_TOLD = 5


def checkout(world: World) -> Verdict:
    """Say what the gates of admission say to the checkout."""
    if world.options.repo_dir is None:
        return fail(
            f"no checkout is named and {str(Path.cwd())!r} is none",
            "give --repo-dir DIR (or set OUROBOROS_REPO_DIR) with the checkout that the server runs from",
        )
    report = world.seed.ask()
    if report.objection is not None:
        return fail(report.objection.message, report.objection.remedy or REASONS[report.objection.reason].remedy)
    source = report.source
    told = f"version {source.version} at {str(source.head)[:_SHORT_HASH]}"
    if report.seed_gate.reason is not None:
        reason = report.seed_gate.reason
        return warn(f"{told}; {reason} is waived by --allow-dirty-seed", REASONS[reason].remedy)
    if source.ignored_importable_count:
        count = source.ignored_importable_count
        return warn(f"{told}, clean; {count} ignored file(s) could be imported", "see them with `git status --ignored`")
    return ok(f"{told}, clean")


def runs_root(world: World) -> Verdict:
    """Say whether a run could be written there."""
    root = world.options.runs_root
    if root is None:
        return fail(
            "nothing tells where runs are to be kept",
            "give --runs-root or --repo-dir, or set OUROBOROS_BENCH_RUNS_ROOT",
        )
    check_confined(root / "programbench", forbidden_places(world.options.repo_dir, world.options.settings_path))
    place = next(each for each in (root, *root.parents) if os.path.lexists(each))
    remedy = REASONS["run_root_unwritable"].remedy
    if not place.is_dir():
        return fail(f"{str(root)!r} cannot be made: {str(place)!r} is no directory", remedy)
    if not os.access(place, os.W_OK | os.X_OK):
        return fail(f"{str(root)!r} cannot be written: {str(place)!r} is closed to uid {os.geteuid()}", remedy)
    return ok(f"{str(root)!r} can be written" if place == root else f"{str(root)!r} would be made below {str(place)!r}")


def locks(world: World) -> Verdict:
    """Say which runs are at work, and which a dead process has left in the middle."""
    root = world.options.runs_root
    if root is None or not root.is_dir():
        raise CannotLook("there are no runs yet")
    alive, dead = [], []
    for run in islice(_marked(root), _MOST_RUNS):
        owner = living_owner(run)
        if owner is None:
            dead.append(str(run.relative_to(root)))
        else:
            alive.append(f"{run.relative_to(root)} ({owner_text(owner)})")
    working = f"at work: {', '.join(alive[:_MOST_TOLD])}" if alive else "no run is at work"
    if dead:
        told = ", ".join(dead[:_MOST_TOLD]) + (f" and {len(dead) - _MOST_TOLD} more" if len(dead) > _MOST_TOLD else "")
        return warn(
            f"{working}; left in the middle by a process that died: {told}",
            "resume each with its --run-id, or cancel its tasks with `obo-bench programbench cancel`",
        )
    return ok(working)


def _marked(root: Path) -> Iterator[Path]:
    """Yield the runs that have an owner: their process lives, or it died without an ending."""
    return (path.parent for path in root.glob(f"*/*/{OWNER_NAME}"))
