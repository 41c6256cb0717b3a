"""Print the parity table: `python -m tests.parity [WORD...]`, for the ways whose names hold all words."""

import sys
import tempfile
from pathlib import Path

from obo_bench.core.reporter import SilentReporter
from obo_bench.practice.images import ensure_images
from obo_bench.practice.main_job import practice_environment
from obo_bench.practice.tasks import PRACTICE_TASKS
from tests.parity.table import cells, taken


def say(command: str, way: str, status: object, exit_code: object, story: str) -> None:
    sys.stdout.write(f"{command:20} {way:50} {status!s:>4} {exit_code!s:>9}  {story}\n")


def main(words: list[str]) -> None:
    ensure_images(PRACTICE_TASKS, SilentReporter())
    chosen = [cell for cell in cells() if all(word in " ".join(cell) for word in words)]
    say("command", "way out", "$?", "exit_code", "outcome, reason")
    with tempfile.TemporaryDirectory() as directory:
        environ = practice_environment(Path(directory) / "practice")
        with taken(chosen, Path(directory), environ) as table:
            for (command, way), future in table.items():
                ended = future.result()
                extra = (ended.manifests or [{}])[0].get("extra", {})
                outcome = extra.get("outcome", "(nothing is recorded)")
                reason = (extra.get("refusal") or {}).get("reason", "")
                say(command, way, ended.status, extra.get("exit_code"), f"{outcome} {reason}")


if __name__ == "__main__":
    main(sys.argv[1:])
