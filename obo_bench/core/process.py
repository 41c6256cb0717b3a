"""Ask a program one short question: no standard input, both outputs kept, a deadline."""

import subprocess
from collections.abc import Mapping, Sequence


def ask(argv: Sequence[str], environ: Mapping[str, str], timeout: float) -> "subprocess.CompletedProcess[bytes]":
    """Return how `argv` ended; raises OSError when it cannot be started, TimeoutExpired after `timeout` seconds."""
    return subprocess.run(
        argv, env=dict(environ), stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False
    )
