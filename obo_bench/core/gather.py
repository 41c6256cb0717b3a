"""Run several programs at once and read all that they say: one deadline, one bound, and no process left behind."""

import contextlib
import os
import selectors
import signal
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

_CHUNK = 1 << 18
_LONGEST = 1 << 27
"""Bytes that one program may say; more is no answer."""


@dataclass(frozen=True)
class Answer:
    """How one program ended."""

    status: int
    """Its exit status; negative for a signal."""
    output: bytes
    """All of its standard output."""
    complaint: str
    """Its standard error, as text."""


def gather(argvs: Sequence[Sequence[str]], environ: Mapping[str, str], timeout: float) -> list[Answer]:
    """Start all `argvs` at once and return how they ended, in that order.

    Raises OSError when one cannot be started or says too much, TimeoutError when one has not ended after `timeout`
    seconds. No process of theirs, nor any that these started in their process group, outlives a failure.
    """
    deadline = time.monotonic() + timeout
    with contextlib.ExitStack() as stack:
        running = [stack.enter_context(_started(argv, environ)) for argv in argvs]
        said = _read([pipe for process in running for pipe in (process.stdout, process.stderr) if pipe], deadline)
        ended = [_end(process, deadline) for process in running]
    return [
        Answer(status, bytes(said[2 * at]), said[2 * at + 1].decode("utf-8", "replace").strip())
        for at, status in enumerate(ended)
    ]


@contextlib.contextmanager
def _started(argv: Sequence[str], environ: Mapping[str, str]) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        argv,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        bufsize=0,
        process_group=0,
    )
    with process:
        try:
            yield process
        finally:
            if process.returncode is None:
                # The group, because what the program started itself may hold its pipes open for ever.
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)


def _read(pipes: Sequence[object], deadline: float) -> list[bytearray]:
    said = [bytearray() for _ in pipes]
    with selectors.DefaultSelector() as selector:
        for pipe, heard in zip(pipes, said, strict=True):
            selector.register(pipe, selectors.EVENT_READ, heard)  # type: ignore[arg-type]  # an unbuffered pipe
        while selector.get_map():
            for key, _ in selector.select(_left(deadline)):
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    selector.unregister(key.fileobj)
                key.data.extend(chunk)
                if len(key.data) > _LONGEST:
                    raise OSError(f"the answer is longer than {_LONGEST} bytes")
    return said


def _end(process: "subprocess.Popen[bytes]", deadline: float) -> int:
    try:
        return process.wait(_left(deadline))
    except subprocess.TimeoutExpired as error:
        raise TimeoutError("no answer in time") from error


def _left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("no answer in time")
    return left
