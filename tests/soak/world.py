"""One place with a server, some light instances, and the runs that are made and broken there."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.practice.overlay import write_overlay
from obo_bench.practice.tasks import PracticeTask
from tests.soak.images import docker, light_instances
from tests.soak.server import ServerProcess, quiet_environment


@dataclass(frozen=True)
class Run:
    """One run of a world, over all its processes."""

    world: "World"
    name: str

    @property
    def root(self) -> Path:
        """Its run root."""
        return self.world.runs / "programbench" / self.name

    def command(self, *more: str) -> list[str]:
        """Return the command line that begins or resumes it."""
        world = self.world
        argv = ["programbench", "run", "--repo-dir", str(world.directory / "ouroboros"), "--run-id", self.name]
        argv += ["--ouroboros-url", world.server.url, "--runs-root", str(world.runs), "--skip-pull", "--json"]
        argv += ["--timeout-sec", "600", "--memory", "256m", "--cpus", "1"]
        return [sys.executable, "-m", "obo_bench", *argv, *more]

    def start(self, *more: str) -> "subprocess.Popen[bytes]":
        """Begin or resume it as a process."""
        return subprocess.Popen(
            self.command(*more), env=self.world.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def finish(self, *more: str) -> tuple[int, str]:
        """Begin or resume it, wait for its end; returns the exit status and what it told on stderr."""
        done = subprocess.run(self.command(*more), env=self.world.environ, capture_output=True, check=False)
        return done.returncode, done.stderr.decode("utf-8", "replace")

    def manifest(self) -> dict[str, Any]:
        """Return the manifest, empty when there is none yet."""
        return _json(self.root / "run_manifest.json")

    def nonce(self) -> str:
        """Return the run's nonce, empty when none was chosen yet."""
        return str(_json(self.root / "instance_order.json").get("run_nonce", ""))

    def checkpoint(self, instance_id: str) -> dict[str, Any]:
        """Return an instance's checkpoint, empty when there is none yet."""
        return _json(self.root / instance_id / "ouroboros_task_checkpoint.json")

    def rows(self, instance_id: str = "") -> list[dict[str, Any]]:
        """Return the rows of the run root's ledger, or of an instance's own."""
        ledger = self.root / instance_id / "result_index.jsonl"
        return [json.loads(line) for line in ledger.read_bytes().splitlines()] if ledger.exists() else []

    def tasks(self) -> dict[str, list[str]]:
        """Return the tasks that the server ever accepted from this run, by instance."""
        found: dict[str, list[str]] = {}
        for line in self.world.server.accepted():
            if self.nonce() and line["task_id"].startswith(f"obo-{self.nonce()}-"):
                found.setdefault(line["instance_id"], []).append(line["task_id"])
        return found

    def objects(self, kind: str = "container") -> list[str]:
        """Return the instance of each container or volume of this run on the engine."""
        listing = ["ps", "-a"] if kind == "container" else ["volume", "ls"]
        chosen = ["--filter", f"label=obo-bench.nonce={self.nonce()}"]
        return docker(*listing, *chosen, "--format", '{{.Label "obo-bench.instance"}}').split() if self.nonce() else []

    def sweep(self) -> None:
        """Remove what the run left on the engine."""
        if self.nonce():
            chosen = ("--filter", f"label=obo-bench.nonce={self.nonce()}")
            for listing, remove in ((("ps", "-aq"), ("rm", "-f")), (("volume", "ls", "-q"), ("volume", "rm", "-f"))):
                if left := docker(*listing, *chosen).split():
                    docker(*remove, *left)


@dataclass
class World:
    """What all runs of one proof share."""

    directory: Path
    instances: tuple[PracticeTask, ...]
    server: ServerProcess
    environ: dict[str, str]

    @property
    def runs(self) -> Path:
        """Where the runs are written."""
        return self.directory / "bench_runs"

    @property
    def ids(self) -> list[str]:
        """The instances' ids."""
        return [task.instance_id for task in self.instances]


@contextmanager
def world(directory: Path, count: int, *options: str, series: int = 0) -> Iterator[World]:
    """Give a world of `count` light instances; `options` are those of its server."""
    with light_instances(count, series) as tasks:
        server = ServerProcess(directory, *options)
        server.start()
        package = str(Path(__file__).resolve().parents[2])
        overlay = write_overlay(directory / "tasks", tasks)
        search = os.pathsep.join([overlay["PYTHONPATH"], package])
        made = World(directory, tasks, server, {**quiet_environment(), **overlay, "PYTHONPATH": search})
        try:
            yield made
        finally:
            server.end()
            for root in sorted(made.runs.glob("programbench/*")):
                Run(made, root.name).sweep()


def _json(path: Path) -> dict[str, Any]:
    try:
        value = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    assert isinstance(value, dict)
    return value
