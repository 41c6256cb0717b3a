"""Take many ways out at a time, and tell what came of them."""

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from obo_bench.cli.registry import RECORDED
from obo_bench.practice.seed import make_seed_checkout
from obo_bench.practice.standin import StandIn, StandInConfig
from tests.parity.command_lines import function_of, options
from tests.parity.ways import WAYS
from tests.parity.world import Ended, World

NEED_ENGINE = frozenset({"programbench run", "prepare", "programbench prepare", "eval", "programbench eval"})
"""Commands whose success needs a container engine."""

Taken = dict[tuple[str, str], "Future[Ended]"]


def cells() -> list[tuple[str, str]]:
    """Every recorded command with every way out that it has; a few where its function answers under another name."""
    found: list[tuple[str, str]] = []
    functions: set[object] = set()
    for command in sorted(RECORDED):
        known, function = options(command), function_of(command)
        found += [
            (command, way.name)
            for way in WAYS.values()
            if set(way.needs) <= known and not set(way.unless) & known and (way.brief or function not in functions)
        ]
        functions.add(function)
    return found


@contextmanager
def taken(chosen: Iterable[tuple[str, str]], directory: Path, environ: dict[str, str]) -> Iterator[Taken]:
    """Start all chosen ways, a few at a time; each has a directory of its own."""
    checkout = make_seed_checkout(directory / "served" / "ouroboros")
    servers = [
        StandIn(StandInConfig(repo_dir=checkout, data_dir=directory / "served" / f"data-{version}", version=version))
        for version in ("6.75.0", "6.99.0")
    ]
    urls = servers[0].start(), servers[1].start()

    def take(number: int, command: str, name: str) -> Ended:
        return World(directory / str(number), checkout, urls, environ).take(command, WAYS[name])

    with ThreadPoolExecutor((os.cpu_count() or 1) + 1) as pool:
        try:
            yield {cell: pool.submit(take, number, *cell) for number, cell in enumerate(chosen)}
        finally:
            pool.shutdown(cancel_futures=True)
            for server in servers:
                server.stop()
