"""Takes the place of the official command line: does what a recorded evaluator did, for the instances it is given.

Copied into a package of its own: only the standard library is used.
"""

import json
import os
import re
import shutil
import signal
import sys
from pathlib import Path

RECORDS = Path(__file__).parent.parent / "records"


def app(prog_name: str) -> None:
    """Run `eval RUN... [-o OUT] [--filter R]` or `info RUN`."""
    command, *words = sys.argv[1:]
    if command != "eval":
        sys.stdout.write(f"{prog_name} {command}: nothing to show\n")
        return
    run_roots = [Path(word) for word in words if Path(word).is_dir() and words[words.index(word) - 1] not in OUTPUT]
    chosen = re.compile(_option(words, ("--filter",)) or "")
    output = _option(words, OUTPUT)
    status = 0
    for run_root in run_roots:
        target = Path(output) / run_root.name if output else run_root
        for archive in sorted(run_root.glob("*/submission.tar.gz")):
            if chosen.match(archive.parent.name):
                status = _replay(archive.parent.name, target) or status
    if status < 0:
        os.kill(os.getpid(), -status)
        signal.pause()
    raise SystemExit(status)


OUTPUT = ("-o", "--output")


def _option(words: list[str], names: tuple[str, ...]) -> str:
    return next((words[place + 1] for place, word in enumerate(words[:-1]) if word in names), "")


def _replay(instance_id: str, target: Path) -> int:
    record = json.loads((RECORDS / f"{instance_id}.json").read_text(encoding="utf-8"))
    if record["exception"]:
        sys.stderr.write(f"Error evaluating {instance_id}: {record['said']}\n")
        sys.stdout.write(f" {instance_id}      0  ERROR: {record['exception']} \n")
    result = RECORDS / f"{instance_id}.eval.json"
    if result.exists():
        (target / instance_id).mkdir(parents=True, exist_ok=True)
        shutil.copy(result, target / instance_id / result.name)
    return int(record["exit_status"])
