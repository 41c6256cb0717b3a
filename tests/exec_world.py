"""A checkout, a place for runs, a real server: where `obo-bench exec` is run as a process."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.core.ledger import Row, read_rows

LAUNCHER = Path(__file__).parent / "exec_launchers" / "launcher.py"


def launcher(*words: str) -> list[str]:
    """Return the command line of the launcher of the tests."""
    return [sys.executable, str(LAUNCHER), *words]


def shell(script: str) -> list[str]:
    return ["sh", "-c", script]


@dataclass(frozen=True)
class Ended:
    """What a process and its run root say of its end."""

    status: int
    stdout: str
    stderr: bytes
    run_root: Path

    @property
    def manifest(self) -> dict[str, Any]:
        found = json.loads((self.run_root / "run_manifest.json").read_text())
        assert isinstance(found, dict)
        return found

    @property
    def extra(self) -> dict[str, Any]:
        found = self.manifest["extra"]
        assert isinstance(found, dict)
        return found

    @property
    def report(self) -> dict[str, Any]:
        found = self.extra["child_report"]
        assert isinstance(found, dict)
        return found

    @property
    def log(self) -> bytes:
        return (self.run_root / "child" / "output.log").read_bytes()

    @property
    def rows(self) -> list[Row]:
        return list(read_rows(self.run_root / "result_index.jsonl"))


class ExecWorld:
    """Starts `exec` on one checkout."""

    def __init__(self, directory: Path, checkout: Path) -> None:
        self.directory = directory
        self.checkout = checkout
        self.runs = directory / "runs"
        self.runs.mkdir(parents=True, exist_ok=True)
        self.run_id = "r"

    @property
    def run_root(self) -> Path:
        return self.runs / "demo" / self.run_id

    def start(
        self, command: Sequence[str], *options: str, env: Mapping[str, str] | None = None, url: str | None = None
    ) -> "subprocess.Popen[bytes]":
        """Start it in a session of its own, so that a signal meets nobody else."""
        server = ["--no-server"] if url is None else ["--ouroboros-url", url]
        named = ["--benchmark", "demo", "--repo-dir", str(self.checkout), "--runs-root", str(self.runs)]
        line = ["-m", "obo_bench", "exec", *named, "--run-id", self.run_id, *server, *options, "--", *command]
        return subprocess.Popen(
            [sys.executable, *line],
            cwd=self.directory,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )

    def run(self, command: Sequence[str], *options: str, **more: Any) -> Ended:
        return self.ended(self.start(command, *options, **more))

    def ended(self, process: "subprocess.Popen[bytes]") -> Ended:
        stdout, stderr = process.communicate(timeout=120)
        return Ended(process.returncode, stdout.decode(), stderr, self.run_root)

    def until_ready(self) -> None:
        """Wait until the launcher says that it is where it wants to be."""
        self.until((self.directory / "ready").exists)

    def until(self, true: Any) -> None:
        give_up = time.monotonic() + 60
        while not true():
            assert time.monotonic() < give_up
            time.sleep(0.02)


def alive(pid: int) -> bool:
    """Say whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
