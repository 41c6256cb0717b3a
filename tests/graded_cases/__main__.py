"""Prints the table."""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.graded_cases.replay import replay
from tests.graded_cases.table import table


def main() -> None:
    """Replay all cases, reproduce on the engine what is quick, and print what came of each."""
    parser = argparse.ArgumentParser(prog="python -m tests.graded_cases", description=__doc__)
    parser.add_argument("--replay", action="store_true", help="replay only: needs no engine")
    only_replay = parser.parse_args().replay
    with tempfile.TemporaryDirectory() as directory:
        rows = replay(Path(directory) / "replayed")
        reproduced = {}
        if not only_replay:
            from tests.graded_cases.reproduce import reproduce

            reproduced = reproduce(Path(directory) / "reproduced")
    sys.stdout.write(table(rows | reproduced, reproduced) + "\n")


if __name__ == "__main__":
    main()
