"""Images made for one test by running a script in another image."""

import itertools
import os
from collections.abc import Iterator
from contextlib import contextmanager

from obo_bench.engine.daemon import Engine

_numbers = itertools.count()


@contextmanager
def committed_image(engine: Engine, base: str, script: str) -> Iterator[str]:
    """Give the name of an image that is `base` after `script` was run in it as root; removed afterwards."""
    name = f"obo-bench-test/made:{os.getpid()}-{next(_numbers)}"
    container = engine.client.containers.run(
        base, entrypoint=["sh", "-ec", script], user="0:0", detach=True, network_mode="none"
    )
    try:
        assert container.wait(timeout=120)["StatusCode"] == 0, container.logs()
        container.commit(*name.split(":"))
    finally:
        container.remove(force=True)
    try:
        yield name
    finally:
        engine.client.images.remove(name, force=True)
