"""What a launcher says of its run before anything is touched; building it touches nothing."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from obo_bench.core.admission import AdmissionRequest, SeedDemands
from obo_bench.core.refusals import UsageError
from obo_bench.core.roots import new_run_id, runs_root
from obo_bench.launch.benchmark_name import check_benchmark_name

COMMAND = "benchmark_run"
"""What the manifest of a launcher that records its own run calls the command."""


@dataclass(frozen=True)
class Asked:
    """The arguments of `benchmark_run`."""

    benchmark: str
    """The benchmark's name."""
    named_root: Path | None = None
    """Where the run is to be recorded unless an `exec` does it; None for a place of its own under the runs root."""
    requested_task_ids: tuple[str, ...] | None = None
    """What is asked for; None until the launcher has read it."""
    repo_dir: Path | None = None
    """The checkout that the server runs from."""
    ouroboros_url: str | None = None
    """The server's address; None where the launcher talks to none."""
    expected_version: str | None = None
    """Version the server must run, where it is not the checkout's."""
    settings_path: Path | None = None
    """The server's settings file."""
    solve_model: str | None = None
    """The model that must solve."""
    seed: SeedDemands = field(default_factory=SeedDemands)
    """What the checkout must be."""
    dataset: str = ""
    """The data set and its version."""
    official_command: tuple[str, ...] = ()
    """The official evaluator's command line."""
    timeout_sec: float | None = None
    """Time limit of one instance in seconds."""
    output_paths: Mapping[str, Path] = field(default_factory=dict)
    """Where results will lie, by what they are; relative ones begin in the run root."""
    harness: Mapping[str, Any] = field(default_factory=dict)
    """What else the launcher says of itself."""

    def __post_init__(self) -> None:
        """Raise UsageError for what can mean nothing."""
        check_benchmark_name(self.benchmark, "benchmark")
        if self.repo_dir is not None:
            return
        if self.ouroboros_url is not None:
            raise UsageError(
                f"ouroboros_url={self.ouroboros_url!r} without repo_dir: a server can only be held against the "
                "checkout that it runs from, so name that"
            )
        if self.seed != SeedDemands():
            raise UsageError(f"{self.seed} without repo_dir: name the checkout that must be so")
        if self.settings_path is not None or self.solve_model is not None:
            raise UsageError("settings_path and solve_model are of a server: name the checkout it runs from (repo_dir)")

    @cached_property
    def run_root(self) -> Path:
        """Where the run is recorded that no `exec` does; raises UsageError where nothing says it."""
        if self.named_root is not None:
            return self.named_root
        if self.repo_dir is None and not os.environ.get("OUROBOROS_BENCH_RUNS_ROOT"):
            raise UsageError(
                f"nothing says where the run of {self.benchmark!r} is kept: give run_root or repo_dir, or set "
                "OUROBOROS_BENCH_RUNS_ROOT"
            )
        return runs_root(None, self.repo_dir or Path()) / self.benchmark / new_run_id()

    def admission(self) -> AdmissionRequest:
        """Return what the seam is asked for where the launcher records its own run; raises UsageError."""
        ids = self.requested_task_ids
        return AdmissionRequest(
            benchmark=self.benchmark,
            command=COMMAND,
            run_root=self.run_root,
            repo_dir=self.repo_dir,
            settings_path=self.settings_path,
            outputs=[path for path in self.output_paths.values() if path.is_absolute()],
            argv=list(sys.argv),
            seed=self.seed,
            harness={"ouroboros_url": self.ouroboros_url, "solve_model": self.solve_model, **self.harness},
            fields={
                "requested_task_ids": None if ids is None else list(ids),
                "requested_count": None if ids is None else len(ids),
                "dataset": self.dataset,
                "official_command": list(self.official_command),
                "timeout_sec": self.timeout_sec,
                "output_paths": {name: str(path) for name, path in self.output_paths.items()},
            },
        )


def ids_of(task_ids: Sequence[str]) -> tuple[str, ...]:
    """Return requested ids in their order, each once; raises UsageError for what is no list of ids."""
    names: list[Any] = [] if isinstance(task_ids, str) else list(task_ids)
    if isinstance(task_ids, str) or not all(isinstance(name, str) and name for name in names):
        raise UsageError(f"requested task ids are a list of texts that are not empty, not {task_ids!r:.200}")
    return tuple(dict.fromkeys(names))
