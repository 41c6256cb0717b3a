"""A stand-in server as a process of its own, which can be killed hard and started again on its data."""

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import httpx

QUICK = ("--solve-delay-sec", "1", "--finalize-delay-sec", "0.3")
"""A solve that takes long enough to be killed in its midst."""

_MOST_QUESTIONS = 100


class ServerProcess:
    """`obo-bench practice gateway` below one directory, always at the same address."""

    def __init__(self, directory: Path, *options: str) -> None:
        self._directory = directory
        self._options = options
        self._process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def start(self) -> None:
        """Start it and wait until it serves."""
        port = self.url.rpartition(":")[2] or "0"
        place = ["--directory", str(self._directory), "--port", port]
        self._process = subprocess.Popen(
            [sys.executable, "-m", "obo_bench", "practice", "gateway", *place, *self._options], stderr=subprocess.PIPE
        )
        assert self._process.stderr is not None
        said = self._process.stderr.readline().decode().split()[-1]
        assert self.url in ("", said), f"the server moved from {self.url} to {said}"
        self.url = said

    def end(self, signum: int = signal.SIGTERM) -> None:
        """End it; a SIGKILL leaves its tasks as a crash does."""
        if self._process is not None:
            self._process.send_signal(signum)
            self._process.wait(timeout=30)
            assert self._process.stderr is not None
            self._process.stderr.close()
            self._process = None

    def crash(self) -> None:
        """Kill it and start it again."""
        self.end(signal.SIGKILL)
        self.start()

    def faults(self, *lines: str) -> None:
        """Let exactly this go wrong from now on."""
        httpx.put(f"{self.url}/stand-in/faults", content="\n".join(lines), trust_env=False).raise_for_status()

    def struck(self) -> int:
        """Return how often a fault has struck."""
        rows = httpx.get(f"{self.url}/stand-in/faults", trust_env=False).json()["faults"]
        return sum(row["struck"] for row in rows)

    def accepted(self) -> list[dict[str, Any]]:
        """Return every task that was ever accepted, from the log that survives the process."""
        log = self._directory / "data" / "tasks.jsonl"
        return [json.loads(line) for line in log.read_bytes().splitlines()] if log.exists() else []

    def record(self, task_id: str) -> dict[str, Any]:
        """Return the record of a task as it is on disk, without asking the server."""
        with contextlib.suppress(FileNotFoundError):
            value = json.loads((self._directory / "data" / "task_results" / f"{task_id}.json").read_bytes())
            assert isinstance(value, dict)
            return value
        return {}

    def live(self) -> list[str]:
        """Return the ids of the tasks that wait or run now; asked again where a fault strikes the answer."""
        for _ in range(_MOST_QUESTIONS):
            with contextlib.suppress(httpx.HTTPError, ValueError, KeyError, TypeError):
                queue = httpx.get(f"{self.url}/api/tasks?limit=1", trust_env=False, timeout=30).json()["queue"]
                return [row["id"] for row in (*queue["pending"], *queue["running"])]
        raise AssertionError(f"{self.url} does not say what is live")


def quiet_environment() -> dict[str, str]:
    """Return this environment without what would steer a run or its server."""
    foreign = ("OUROBOROS_", "OBO_ALLOW", "GIT_")
    return {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
