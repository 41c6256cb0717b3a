"""Runs foreign programs with a deadline, keeping at most the ends of what they print."""

import os
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from obo_bench.practice.setup_error import PracticeSetupError

KEPT_BYTES = 64 * 1024
"""How much of each output stream is kept."""


@dataclass(frozen=True)
class Finished:
    """A program that ended by itself."""

    status: int
    """Exit status; negative for a signal."""
    stdout: str
    """The end of the standard output, at most `KEPT_BYTES`; empty when it went to a file."""
    stderr: str
    """The end of the standard error, at most `KEPT_BYTES`."""

    @property
    def complaint(self) -> str:
        """The last lines that were printed, as one line."""
        lines = (self.stderr.strip() or self.stdout.strip()).splitlines()
        return " / ".join(line.strip() for line in lines[-4:]) or "it printed nothing"


def run_bounded(
    argv: Sequence[str],
    *,
    timeout: float,
    stdin: bytes | IO[bytes] = b"",
    stdout: IO[bytes] | None = None,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] | None = None,
) -> Finished:
    """Run `argv` for at most `timeout` seconds; its output may go to the file `stdout`.

    Raises PracticeSetupError when the program is missing, cannot be started or does not end in time.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err, tempfile.TemporaryFile() as given:
        if isinstance(stdin, bytes):
            given.write(stdin)
            given.seek(0)
        source = given if isinstance(stdin, bytes) else stdin
        try:
            done = subprocess.run(
                argv, stdin=source, stdout=stdout or out, stderr=err, timeout=timeout, env=env, cwd=cwd, check=False
            )
        except subprocess.TimeoutExpired:
            raise PracticeSetupError(
                f"`{' '.join(argv[:3])}` did not end within {timeout:g} s", "look at the load of the machine, try again"
            ) from None
        except OSError as error:
            raise PracticeSetupError(f"`{argv[0]}` cannot be started ({error.strerror})", "install it") from None
        return Finished(done.returncode, _tail(out), _tail(err))


def _tail(stream: IO[bytes]) -> str:
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(0, size - KEPT_BYTES))
    return stream.read().decode("utf-8", "replace")
