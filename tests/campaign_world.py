"""A campaign as an operator has it: a file in a directory, the command as a process, and what it left behind."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from obo_bench.core.ledger import Row, read_rows
from tests.conftest import Done, obo

PATIENCE_SEC = 150
"""For a campaign to come to something on a loaded machine."""

ASK = '[[steps]]\nid = "ask"\nkind = "attest"\n'
"""A step that costs nothing."""
QUICK = "[campaign]\nretry_pause_sec = 0.0\nretries = 1\n"
WAIT = """
import pathlib, time
here = pathlib.Path(__file__)
here.with_suffix('.waits').touch()
while not here.with_suffix('.go').exists():
    time.sleep(0.05)
"""
"""A program that says that it is there, and ends when it is let go."""


class CampaignWorld:
    """One campaign `c` in a directory of its own."""

    def __init__(self, place: Path, checkout: Path, env: dict[str, str] | None = None) -> None:
        self.place, self.checkout, self.env = place, checkout, env or {}
        self.runs = place / "runs root"
        self.file = place / "the campaign's" / "c.toml"
        self.file.parent.mkdir(parents=True)
        self.url = ""
        self.processes: list[subprocess.Popen[bytes]] = []

    def write(self, text: str) -> None:
        self.file.write_text(textwrap.dedent(text))

    def script(self, name: str, text: str) -> Path:
        """Put a Python program beside the campaign file; it notes each of its starts."""
        path = self.file.parent / name
        path.write_text(f"open({str(self.place / name)!r} + '.starts', 'a').write('x')\n{textwrap.dedent(text)}")
        return path

    def started(self, name: str) -> int:
        """How often a program was started."""
        path = self.place / f"{name}.starts"
        return len(path.read_text()) if path.exists() else 0

    def exec_step(self, name: str, *more: str, options: str = "") -> str:
        """Return a step that runs a program."""
        lines = [
            "[[steps]]",
            f'id = "{name}"',
            'kind = "exec"',
            f'command = [{sys.executable!r}, "{name}.py"]',
            *more,
            f'options = {{ benchmark = "b"{options} }}',
        ]
        return "\n".join(lines) + "\n"

    def arguments(self, verb: str, *more: str) -> list[str]:
        named = [str(self.file)] if verb == "run" else ["c"]
        places = ["--repo-dir", str(self.checkout), "--runs-root", str(self.runs), "--ouroboros-url", self.url]
        return ["campaign", verb, *named, *places, *more]

    def run(self, verb: str = "run", *more: str) -> Done:
        return obo(*self.arguments(verb, *more), "--json", env=self.env, timeout=PATIENCE_SEC)

    def start(self, verb: str = "run") -> "subprocess.Popen[bytes]":
        with (self.place / "told").open("ab") as told:
            process = subprocess.Popen(
                [sys.executable, "-m", "obo_bench", *self.arguments(verb)],
                env={**os.environ, **self.env},
                stdout=subprocess.DEVNULL,
                stderr=told,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    @property
    def root(self) -> Path:
        return self.runs / "campaign" / "c"

    @property
    def manifest(self) -> dict[str, Any]:
        value = json.loads((self.root / "run_manifest.json").read_text())
        assert isinstance(value, dict)
        return value

    def rows(self) -> list[Row]:
        return list(read_rows(self.root / "result_index.jsonl"))

    def story(self) -> list[tuple[str, str]]:
        """What the ledger tells, step by step."""
        return [(row.instance_id, row.reason_code) for row in self.rows()]

    def last(self) -> dict[str, str]:
        """The last word on each step."""
        return dict(self.story())

    def status(self) -> dict[str, Any]:
        done = obo("campaign", "status", "c", "--runs-root", self.runs, "--json", env=self.env)
        assert done.status == 0, done.stderr
        value = done.envelope["result"]
        assert isinstance(value, dict)
        return value

    def resumes(self) -> dict[str, str]:
        """What a resume would do, by step."""
        return {step["id"]: step["a_resume"] for step in self.status()["steps"]}

    def step_processes(self) -> list[int]:
        """The processes of steps that are at work, by what they were started with."""
        return [pid for pid in _processes() if f"--runs-root={self.runs}".encode() in _command(pid)]

    def kill(self, pids: Sequence[int]) -> None:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def tasks(self) -> list[str]:
        """What the server was given."""
        log = self.checkout.parent / "data" / "tasks.jsonl"
        return [json.loads(line)["task_id"] for line in log.read_text().splitlines()] if log.exists() else []

    def end(self) -> None:
        """Leave no process behind where a test has failed."""
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait()
        self.kill(self.step_processes())


def _processes() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit()]


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""
