"""Runs commands in a container the way the server does: through the `docker` command, each with a time limit.

A cancel ends the client side only: the command inside the container lives on. A time-out ends both.
"""

import json
import os
import subprocess
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Any

from obo_bench.practice.standin.clock import now_text

COMMAND_TIMEOUT_SEC = 600.0
"""The longest that one command may take in the container, in seconds."""

OUTPUT_LIMIT = 1_000_000
"""Bytes kept of each output stream of a command; the rest is read and dropped."""

_DOCKER_TIMEOUT_SEC = 30.0
_POLL_SEC = 0.02
_WRAPPER = (
    'f=$1; shift; if command -v setsid >/dev/null 2>&1; then setsid "$@" & else "$@" & fi; '
    'p=$!; echo "$p" >"$f"; wait "$p"; s=$?; rm -f "$f"; exit "$s"'
)
# Without setsid in the image the command leads no process group, so that only itself can be ended.
_END_GROUP = (
    'p=$(cat "$1") || exit 0; e() { kill "$1" "-$2" 2>/dev/null || kill "$1" "$2" 2>/dev/null; }; '
    'e -TERM "$p"; sleep 0.5; e -KILL "$p"; rm -f "$1"'
)


class TaskCancelledError(Exception):
    """The task was cancelled, or the server is going down."""


class DeadlinePassedError(Exception):
    """The task's deadline came."""


@dataclass(frozen=True)
class Ran:
    """How a command ended."""

    status: int | None
    """Its exit status; None when it could not be started or took too long."""
    stdout: bytes = b""
    """The beginning of its output."""
    error: Mapping[str, Any] | None = None
    """The entry for `cosmetic_tool_errors`; None when all went well."""


class Shell:
    """The command tool of one task."""

    def __init__(
        self,
        executor: Mapping[str, Any] | None,
        workspace: str,
        stop: threading.Event,
        deadline: float | None,
        docker_host: str = "",
    ) -> None:
        """`deadline` is on the monotonic clock; `stop` is set when the task is cancelled.

        `docker_host` is another daemon than the one of this process's environment; empty for that one.
        """
        self._executor = executor or {}
        self._workspace = workspace
        self._stop = stop
        self._deadline = deadline
        self._environment = {**os.environ, "DOCKER_HOST": docker_host} if docker_host else None

    def sleep(self, seconds: float) -> None:
        """Wait; raises TaskCancelledError or DeadlinePassedError as soon as either happens."""
        left = self._left()
        if self._stop.wait(min(seconds, left)):
            raise TaskCancelledError
        if left <= 0 or seconds > left:
            raise DeadlinePassedError

    def run(self, argv: Sequence[str]) -> Ran:
        """Run one command in the workspace; raises TaskCancelledError or DeadlinePassedError."""
        self.sleep(0)
        problem = self._refusal()
        if problem:
            return Ran(None, error=self._failure("shell_error", None, f"SHELL_ERROR: {problem}. cwd={self._workspace}"))
        limit, started = min(COMMAND_TIMEOUT_SEC, self._left()), time.monotonic()
        pid_file = f"/tmp/ouroboros-exec-{uuid.uuid4().hex}.pid"
        status, out, err = self._docker(
            ["exec", "--workdir", self._backend(), self._name(), "sh", "-lc", _WRAPPER, "sh", pid_file, *argv], limit
        )
        if status is None:
            self._docker(["exec", self._name(), "sh", "-lc", _END_GROUP, "sh", pid_file], _DOCKER_TIMEOUT_SEC)
            self.sleep(0)
            text = f"TOOL_TIMEOUT (run_command): exceeded {limit:g} s"
            return Ran(None, out, self._failure("timeout", None, text))
        if status == 0:
            return Ran(0, out)
        elapsed = time.monotonic() - started
        return Ran(
            status, out, self._failure("non_zero_exit", status, self._exit_text(argv, status, out, err, elapsed))
        )

    def _name(self) -> str:
        return str(self._executor.get("container_name", ""))

    def _left(self) -> float:
        return (
            max(0.0, self._deadline - time.monotonic()) if self._deadline is not None else float(threading.TIMEOUT_MAX)
        )

    def _refusal(self) -> str:
        """Say why no command can be given to the container now; empty when one can."""
        if self._executor.get("type") != "docker_exec":
            return "the stand-in gateway runs commands in containers only, and this task names none"
        if self._executor.get("network") != "none":
            return ""
        inspected = ["inspect", "-f", "{{.HostConfig.NetworkMode}}", self._name()]
        status, out, err = self._docker(inspected, _DOCKER_TIMEOUT_SEC)
        mode = out.decode("utf-8", "replace").strip()
        if status != 0:
            reason = err.decode("utf-8", "replace").strip()
            return f"docker inspect failed for executor container {self._name()}: {reason}"
        return "" if mode == "none" else f"executor_ref.network=none requires Docker NetworkMode=none, got {mode!r}"

    def _backend(self) -> str:
        """Return the container's name of the workspace."""
        root = Path(self._workspace)
        for mapping in self._executor["path_mappings"]:
            host = Path(mapping["host_path"]).resolve()
            if host == root or host in root.parents:
                return str(PurePosixPath(mapping["backend_path"], root.relative_to(host).as_posix()))
        return "/"

    def _docker(self, arguments: Sequence[str], limit: float) -> tuple[int | None, bytes, bytes]:
        """Run the docker command; the status is None after a time-out, 127 without a docker command."""
        try:
            process = subprocess.Popen(
                ["docker", *arguments],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self._environment,
            )  # fmt: skip
        except OSError as error:
            return 127, b"", f"docker: {error.strerror}".encode()
        assert process.stdout is not None
        assert process.stderr is not None
        out, err = _Drain(process.stdout), _Drain(process.stderr)
        try:
            status = self._wait(process, limit)
        finally:
            process.kill()
            process.wait()
            kept = out.finish(), err.finish()
        return status, *kept

    def _wait(self, process: subprocess.Popen[bytes], limit: float) -> int | None:
        end = time.monotonic() + limit
        while process.poll() is None:
            if time.monotonic() >= end:
                return None
            if self._stop.wait(_POLL_SEC):
                raise TaskCancelledError
        return process.returncode

    def _exit_text(self, argv: Sequence[str], status: int, out: bytes, err: bytes, elapsed: float) -> str:
        """Return the text that the model would see of a failed command."""
        trace = {
            "executor_id": self._executor.get("id", ""),
            "executor_type": self._executor["type"],
            "network": self._executor.get("network", "host"),
            "cwd": self._backend(),
            "cmd": list(argv),
            "returncode": status,
            "elapsed_sec": round(elapsed, 3),
            "ts": now_text(),
        }
        parts = [f"SHELL_EXIT_ERROR: command exited with exit_code={status} (cwd={self._workspace})."]
        if err:
            parts.append("STDERR:\n" + err[:4000].decode("utf-8", "replace"))
        if out or not err:
            parts.append("STDOUT:\n" + (out[:4000].decode("utf-8", "replace") or "(empty)"))
        return "\n\n".join([*parts, "EXECUTOR_TRACE:\n" + json.dumps(trace, indent=2)])

    @staticmethod
    def _failure(kind: str, status: int | None, text: str) -> dict[str, Any]:
        mark = "\N{WARNING SIGN}\N{VARIATION SELECTOR-16} "
        return {"tool": "run_command", "status": kind, "exit_code": status, "signal": None, "result": mark + text}


class _Drain:
    """Reads a pipe to its end in a thread of its own and keeps the beginning."""

    def __init__(self, pipe: IO[bytes]) -> None:
        self._pipe = pipe
        self._kept = bytearray()
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def finish(self) -> bytes:
        """Return what was kept, once the pipe has ended."""
        self._thread.join()
        self._pipe.close()
        return bytes(self._kept)

    def _read(self) -> None:
        while chunk := self._pipe.read1(65536):  # type: ignore[attr-defined]  # Popen's pipes are buffered readers
            self._kept += chunk[: OUTPUT_LIMIT - len(self._kept)]
