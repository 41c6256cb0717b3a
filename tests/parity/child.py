"""`obo-bench` with one of its functions made to misbehave: `python -m tests.parity.child PLACE DEED -- ARGUMENT...`.

PLACE is a key of PLACES; DEED is Python that runs in its stead, after which it does what it always did. The product
itself holds no test hooks. `announce()` and `block()` talk with the test over the pipes whose numbers are in the
environment.
"""

import functools
import importlib
import os
import sys
import time
from typing import Any

PLACES = {
    "parsing": ("obo_bench.cli.answer", "begin"),
    "opening": ("obo_bench.core.record", "ManifestStore.prepare"),
    "admission": ("obo_bench.core.session", "examine_seed"),
    "body": ("obo_bench.gateway.client", "GatewayClient.health"),
    "grading": ("obo_bench.launch.swe_bench_pro.grade", "assess"),
    "closing": ("obo_bench.core.ending", "describe"),
    "releasing": ("obo_bench.core.lock", "RunLock.release"),
    "answering": ("obo_bench.cli.answer", "finish"),
}


def announce() -> None:
    os.write(int(os.environ["PARITY_SAY"]), b"here\n")


def block() -> None:
    """Wait until the test lets go; a signal handler that raises ends it earlier."""
    os.read(int(os.environ["PARITY_GO"]), 1)


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("no text")


class Own(BaseException):
    pass


def misbehave(place: str, deed: str) -> None:
    module_name, path = PLACES[place]
    holder: Any = importlib.import_module(module_name)
    *outer, name = path.split(".")
    for part in outer:
        holder = getattr(holder, part)
    real = getattr(holder, name)
    names = {**globals(), "refusals": importlib.import_module("obo_bench.core.refusals"), "time": time}

    @functools.wraps(real)
    def instead(*arguments: Any, **options: Any) -> Any:
        setattr(holder, name, real)
        # Compiled first: Python ends by SIGINT when a KeyboardInterrupt leaves an exec of text, whatever comes then.
        exec(compile(deed, place, "exec"), names)
        return real(*arguments, **options)

    setattr(holder, name, instead)


if __name__ == "__main__":
    place, deed, separator, *rest = sys.argv[1:]
    sys.argv = ["obo-bench", *rest]
    misbehave(place, deed)
    from obo_bench.__main__ import run

    run()
