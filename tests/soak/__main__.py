"""`python -m tests.soak PROOF`: run one of the long proofs and print what came of it."""

import argparse
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.soak import interrupts, kills, many, random_kills, together
from tests.soak.world import world

Arguments = argparse.Namespace


def say(line: str) -> None:
    """Print one line at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def kill_table(directory: Path, given: Arguments) -> None:
    """Kill one instance at every step."""
    with world(directory, 1, *kills.SERVER, series=given.series) as place:
        for step in kills.STEPS:
            if all(word in step.name for word in given.step):
                killed = kills.kill_at(place, step)
                say(f"| {killed.step} | {killed.on_disk} | {killed.restart} | {killed.tasks} |")


def kill_randomly(directory: Path, given: Arguments) -> None:
    """Kill runs of several instances at random times."""
    with world(directory, random_kills.INSTANCES, *random_kills.SERVER, series=given.series) as place:
        say(str(random_kills.random_kills(place, given.count, given.seed, given.crashes, say)))


def interrupt(directory: Path, given: Arguments) -> None:
    """Press Ctrl-C at random moments."""
    with world(directory, random_kills.INSTANCES, *interrupts.SERVER, series=given.series) as place:
        say(str(interrupts.interrupts(place, given.count, given.seed, say)))


def run_many(directory: Path, given: Arguments) -> None:
    """Run many instances, with faults if asked for."""
    options = many.server_options(given.workers, given.chaos, given.seed)
    with world(directory, given.instances, *options, series=given.series) as place:
        say(str(many.many(place, given.workers, given.chaos, given.seed, say)))


def run_together(directory: Path, given: Arguments) -> None:
    """Let several processes work at the same time."""
    with world(directory, 3, *random_kills.SERVER, series=given.series) as place:
        together.two_runs(place)
        together.one_run_twice(place)


PROOFS: Mapping[str, Callable[[Path, Arguments], None]] = {
    "kills": kill_table,
    "random-kills": kill_randomly,
    "interrupts": interrupt,
    "many": run_many,
    "together": run_together,
}


def parser() -> argparse.ArgumentParser:
    """Return what understands the command line."""
    made = argparse.ArgumentParser(prog="python -m tests.soak", description=__doc__)
    proofs = made.add_subparsers(dest="proof", required=True)
    for name, function in PROOFS.items():
        proof = proofs.add_parser(name, help=(function.__doc__ or "").rstrip("."))
        proof.add_argument("--series", type=int, default=0, help="another number for each proof that runs now")
        proof.add_argument("--seed", type=int, default=1, help="decides what is random")
        if name == "kills":
            proof.add_argument("step", nargs="*", help="words of the steps; all of them without one")
        if name in ("random-kills", "interrupts"):
            proof.add_argument("--count", type=int, default=200 if name == "random-kills" else 50)
        if name == "random-kills":
            proof.add_argument("--crashes", type=float, default=0.0, help="probability that the server crashes too")
        if name == "many":
            proof.add_argument("--instances", type=int, default=200)
            proof.add_argument("--workers", type=int, default=8)
            proof.add_argument("--chaos", type=float, default=0.0, help="probability of a fault at each request")
    return made


def main() -> int:
    """Run the proof that is named; the status is 1 when something that must hold does not."""
    given = parser().parse_args()
    with tempfile.TemporaryDirectory(prefix="obo-bench-soak-") as directory:
        try:
            PROOFS[given.proof](Path(directory).resolve(), given)
        except AssertionError as broken:
            say(f"BROKEN: {broken}")
            return 1
    say("all as it must be")
    return 0


if __name__ == "__main__":
    sys.exit(main())
