"""The table of ways out of a launcher under `exec`: `python -m tests.exec_table` prints it."""

import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from obo_bench.core.refusals import CAMPAIGN_FATAL_PROVENANCE_REASONS
from obo_bench.practice.seed import make_seed_checkout
from tests.exec_launchers.launcher import SECRET
from tests.exec_world import Ended, ExecWorld, launcher, shell
from tests.place import Place

FATAL = min(CAMPAIGN_FATAL_PROVENANCE_REASONS)
"""One reason of the set; which one does not matter."""
GRACE = ("--grace-sec", "1")


@dataclass(frozen=True)
class Way:
    """One launcher and its way out."""

    name: str
    command: list[str]
    status: int
    """What `$?` and the manifest's exit_code must be."""
    outcome: str
    child: int | None
    """What child_exit_code must be."""
    options: tuple[str, ...] = ()
    signals: tuple[int, ...] = ()
    server: str = ""
    """`same` for a server that stays, `replaced` for one that does not, else none."""
    env: Mapping[str, str] = field(default_factory=dict)


def _exits(status: int) -> list[str]:
    return launcher("exit", str(status))


def by_itself() -> Iterator[Way]:
    for kind, command in (("shell", lambda status: shell(f"exit {status}")), ("python", _exits)):
        for status in (0, 1, 7):
            outcome = "child_failed" if status else "completed"
            yield Way(f"{kind} exits {status}", command(status), status, outcome, status)
    yield Way("exits 255", _exits(255), 255, "child_failed", 255)
    for number in (signal.SIGKILL, signal.SIGTERM):
        yield Way(
            f"killed by {number.name}", launcher("kill", str(int(number))), 128 + number, "child_failed", 128 + number
        )
    yield Way("with a server", launcher("exit", "0"), 0, "completed", 0, server="same")
    yield Way("prints secrets", launcher("secrets"), 0, "completed", 0, env={"MY_API_KEY": SECRET})
    yield Way("forks", launcher("fork"), 0, "completed", 0)
    yield Way("forks a storm", launcher("storm"), 0, "completed", 0)
    yield Way("closes its outputs", launcher("close_outputs"), 0, "completed", 0)
    yield Way("changes the manifest", launcher("tamper"), 5, "child_failed", 5)


def claiming() -> Iterator[Way]:
    for outcome in (
        "instances_failed",
        "stopped_systemic",
        "stopped_budget",
        "nothing_exported",
        "official_eval_error",
    ):
        for status in (0, 1):
            yield Way(
                f"claims {outcome}, exits {status}", launcher("claim", outcome, str(status)), status, outcome, status
            )
    yield Way("claims completed, exits 3", launcher("claim", "completed", "3"), 3, "child_failed", 3)
    yield Way("claims refused, exits 0", launcher("claim", "refused", "0"), 0, "child_failed", 0)
    for thing in ("fifo", "link", "directory", "huge", "torn", "word"):
        yield Way(f"outcome file: {thing}", launcher("misplaced", thing), 0, "child_failed", 0)
    rows = ("--task-id", "t1", "--task-id", "t2")
    yield Way("bad rows", launcher("rows"), 0, "instances_failed", 0, rows)


def stopped() -> Iterator[Way]:
    limit = ("--timeout-sec", "1", *GRACE)
    yield Way("hangs", launcher("sleep"), 143, "child_failed", 143, limit)
    yield Way("hangs, ignores SIGTERM", launcher("ignoring"), 137, "child_failed", 137, limit)
    yield Way("hangs, stopped", launcher("stopped"), 143, "child_failed", 143, limit)
    yield Way("fatal reason in its outcome", launcher("fatal_claim", FATAL), 7, "stopped_provenance", 143)
    yield Way("fatal reason in a row", launcher("fatal_row", FATAL), 7, "stopped_provenance", 143)
    money = ("--max-cost-usd", "3")
    yield Way("ceiling, claimed", launcher("spend"), 8, "stopped_budget", 143, money)
    yield Way("ceiling, rows", launcher("spend_in_rows"), 8, "stopped_budget", 143, money)
    yield Way("server replaced", launcher("sleep"), 7, "stopped_provenance", 143, server="replaced")


def signalled() -> Iterator[Way]:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        status = 128 + number
        # Python itself ends with a KeyboardInterrupt as one that SIGINT ended.
        yield Way(f"our {number.name}", launcher("sleep"), status, "interrupted", status, signals=(number,))
        yield Way(
            f"our {number.name}, ignored", launcher("ignoring"), status, "interrupted", 137, GRACE, signals=(number,)
        )
    both = (signal.SIGINT, signal.SIGTERM)
    yield Way("second signal", launcher("ignoring"), 143, "interrupted", 137, ("--grace-sec", "60"), signals=both)


def not_started() -> Iterator[Way]:
    for name, word in (("missing", "/nowhere/launcher"), ("directory", "/"), ("not executable", "/etc/passwd")):
        yield Way(f"cannot start: {name}", [word], 5, "refused", None)
    yield Way("cannot start: not on PATH", ["no-such-launcher"], 5, "refused", None)


WAYS = {way.name: way for group in (by_itself, claiming, stopped, signalled, not_started) for way in group()}


def take(way: Way, directory: Path, seed: Path) -> Ended:
    """Take one way out, in a world of its own."""
    checkout = directory / "workspace" / "ouroboros"
    shutil.copytree(seed, checkout, symlinks=True)
    world = ExecWorld(directory, checkout)
    if not way.server:
        process = world.start(way.command, *way.options, env=way.env)
        for number, sent in enumerate(way.signals):
            world.until_ready()
            if number:
                told = world.run_root / "logs"
                world.until(lambda place=told: any(b"passed on" in path.read_bytes() for path in place.iterdir()))
            process.send_signal(sent)
        return world.ended(process)
    place = Place(checkout, directory / "workspace" / "data")
    try:
        process = world.start(way.command, *way.options, env=way.env, url=place.start())
        if way.server == "replaced":
            world.until_ready()
            place.replace(version="6.80.0")
        return world.ended(process)
    finally:
        place.stop()


def main() -> None:
    """Print the table."""
    base = Path(tempfile.mkdtemp(prefix="exec-table-"))
    seed = make_seed_checkout(base / "seed" / "ouroboros")
    sys.stdout.write(f"{'way out':40} {'$?':>4} {'exit_code':>9} {'child':>6}  outcome\n")
    with ThreadPoolExecutor(2) as pool:
        numbered = enumerate(WAYS.values())
        done = [(way, pool.submit(take, way, base / str(number), seed)) for number, way in numbered]
        for way, future in done:
            ended = future.result()
            extra, child = ended.extra, str(ended.extra["child_exit_code"])
            sys.stdout.write(
                f"{way.name:40} {ended.status:>4} {extra['exit_code']:>9} {child:>6}  {extra['outcome']}\n"
            )
    shutil.rmtree(base)


if __name__ == "__main__":
    main()
