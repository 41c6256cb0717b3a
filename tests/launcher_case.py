"""A launcher in a process of its own, standing alone or under a run that holds its lock as `exec` does."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.core.admission import AdmissionRequest
from obo_bench.core.session import Session, benchmark_session
from obo_bench.launch.contract import variables

LAUNCHER = """
import json, os, signal, sys, threading, time
from pathlib import Path
from obo_bench import Refusal, SeedDemands, UsageError, benchmark_run, run_main

HOW, ARGUMENTS = compile(sys.argv[1], "how", "exec"), json.loads(sys.argv[2])

def main():
    with benchmark_run("gaia", **ARGUMENTS) as run:
        exec(HOW, {**globals(), "run": run})
    after()

def after():
    print("went on")

if __name__ == "__main__":
    run_main(main)
"""


@dataclass(frozen=True)
class Launched:
    """A launcher that ended."""

    status: int
    stdout: str
    stderr: str
    run_root: Path

    @property
    def manifest(self) -> dict[str, Any]:
        return document(self.run_root / "run_manifest.json")

    @property
    def extra(self) -> dict[str, Any]:
        found = self.manifest["extra"]
        assert isinstance(found, dict)
        return found

    @property
    def outcome(self) -> dict[str, Any]:
        return document(self.run_root / "child" / "outcome.json")


def document(path: Path) -> dict[str, Any]:
    value = json.loads(path.read_text())
    assert isinstance(value, dict)
    return value


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def start(
    how: str, arguments: Mapping[str, Any], env: Mapping[str, str] | None = None, program: str = LAUNCHER
) -> "subprocess.Popen[str]":
    given = {name: str(value) if isinstance(value, Path) else value for name, value in arguments.items()}
    return subprocess.Popen(
        [sys.executable, "-c", program, how, json.dumps(given)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
    )


def finish(process: "subprocess.Popen[str]", run_root: Path) -> Launched:
    stdout, stderr = process.communicate(timeout=60)
    return Launched(process.returncode, stdout, stderr, run_root)


def alone(run_root: Path, how: str, **arguments: Any) -> Launched:
    """Run a launcher that records its own run."""
    return finish(start(how, {"run_root": run_root, **arguments}), run_root)


@dataclass(frozen=True)
class World:
    """A run that goes on, and the variables that its `exec` hands to a launcher."""

    session: Session
    variables: dict[str, str]

    def launch(self, how: str, **arguments: Any) -> Launched:
        """Run a launcher under it."""
        root = self.session.run_root
        return finish(start(how, arguments, self.variables), root)


@contextmanager
def wrapping(run_root: Path, **changes: Any) -> Iterator[World]:
    """Hold a run as `exec` does while its launcher works."""
    request = {"benchmark": "gaia", "command": "exec", "run_root": run_root, "repo_dir": None, **changes}
    with benchmark_session(AdmissionRequest(**request)) as session:
        session.gates_passed()
        (run_root / "child").mkdir(exist_ok=True)
        yield World(session, contract_of(session))


def contract_of(session: Session) -> dict[str, str]:
    root = session.run_root
    return {
        variables.MANIFEST: str(root / "run_manifest.json"),
        variables.LEDGER: str(root / "child" / "ledger.jsonl"),
        variables.OUTCOME_FILE: str(root / "child" / "outcome.json"),
        variables.RUN_ROOT: str(root),
        variables.INVOCATION: session.invocation,
    }
