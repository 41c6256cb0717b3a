"""Holds the words of `--retry` against what the run's instances ended with, before anything is paid for.

The server's codes are an open set, so that a word which nobody knows may be right.
"""

import difflib
from collections.abc import Sequence
from pathlib import Path

from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.paths import InstancePaths
from obo_bench.programbench.row_reasons import ROW_REASONS
from obo_bench.programbench.solving.endings import DEGRADED, last_ending

_NEAR = 0.8


def check_retry_words(run_root: Path, instance_ids: Sequence[str], words: Sequence[str]) -> list[str]:
    """Return a notice for each word that no instance of the run has ended with.

    Raises PreflightRefused `nothing_to_retry` where nothing has ended at all (with a mistyped run id all tasks of a
    new run would be paid for), and for a word that is nearly one that is known.
    """
    ended = _endings(run_root, instance_ids)
    if words and not ended:
        _refuse(run_root, words, "no instance of the run has ended yet")
    told, known = f"they ended with {', '.join(sorted(ended))}", ended | ROW_REASONS.keys() | {DEGRADED}
    for word in (word for word in words if word not in known):
        near = difflib.get_close_matches(word, sorted(known), 1, _NEAR)
        if near:
            _refuse(
                run_root, [word], f"no instance of the run has ended with it, {told}; {near[0]!r} is nearly the same"
            )
    return [f"--retry {word}: no instance of this run has ended with it; {told}" for word in words if word not in ended]


def _endings(run_root: Path, instance_ids: Sequence[str]) -> set[str]:
    ended = set()
    for name in instance_ids:
        row = last_ending(InstancePaths(run_root, name))
        if row is not None:
            ended |= {row.reason_code} | ({DEGRADED} if row.details.get("degraded") else set())
    return ended


def _refuse(run_root: Path, words: Sequence[str], why: str) -> None:
    raise PreflightRefused(
        "nothing_to_retry",
        f"{' '.join(f'--retry {word}' for word in words)} in run {run_root.name!r}: {why}",
        evidence={"retry": list(words), "run_id": run_root.name},
    )
