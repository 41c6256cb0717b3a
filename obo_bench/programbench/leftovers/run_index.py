"""Which run an object on the engine belongs to: told by its nonce, found by its mount or below the runs root."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from obo_bench.engine.leftovers import Leftover
from obo_bench.programbench import BENCHMARK
from obo_bench.programbench.leftovers.run_lookup import RecordedRun, read_run, run_nonce


class RunIndex:
    """Finds the run of a group of objects with one nonce."""

    def __init__(self, runs_root: Path | None, named: RecordedRun | None = None) -> None:
        """Look at the `named` run only, or at mounts and below the runs root."""
        self._runs_root = runs_root
        self._named = named

    def run_of(self, group: Sequence[Leftover]) -> RecordedRun | str:
        """Return the run, or in words why it is not known."""
        nonce = group[0].nonce
        mounts = [item.workspace.parent.parent for item in group if item.workspace is not None]
        places = {place.resolve() for place in mounts if run_nonce(place) == nonce}
        if self._named is not None:
            places |= {self._named.root.resolve()} if self._named.nonce == nonce else set()
        else:
            places |= set(self._below_the_runs_root.get(nonce, ()))
        runs = [run for run in map(read_run, sorted(places)) if run is not None and run.original() is None]
        if len(runs) == 1:
            return runs[0]
        if runs:
            return f"several run roots claim it: {', '.join(str(run.root) for run in runs)}"
        looked = f" or below {self._runs_root / BENCHMARK}" if self._runs_root else ""
        return f"its run root cannot be found at its mount{looked}: name it as RUN"

    @cached_property
    def _below_the_runs_root(self) -> dict[str, list[Path]]:
        found: dict[str, list[Path]] = defaultdict(list)
        if self._runs_root is not None:
            for place in (self._runs_root / BENCHMARK).glob("*/"):
                found[run_nonce(place)].append(place.resolve())
        return found
