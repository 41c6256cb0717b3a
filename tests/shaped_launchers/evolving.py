"""Shaped like the driver of an evolving volume: each task's entry point, its timeline row, and the slow archive."""

import argparse
import csv
import json
import sys
import time
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--csv", type=Path, required=True)
parser.add_argument("--start", type=int, default=0)
parser.add_argument("--limit", type=int)
parser.add_argument("--out-dir", type=Path, required=True)
parser.add_argument("--volume-suffix", default="")
arguments = parser.parse_args()


def archive() -> None:
    """Take as long as a loaded daemon does, for everyone to see."""
    (arguments.out_dir / "archive_begun").touch()
    time.sleep(0.5)
    (arguments.out_dir / "archive_finished").touch()


def entry_point(name: str) -> tuple[int, str]:
    """Return status and reason of the container; an id such as `88:line:runtime_skew` says what to do."""
    status, _, rest = name.partition(":")
    how, _, reason = rest.partition(":")
    if how == "line":
        # As it comes through a container's log: a time, colours, a carriage return.
        sys.stderr.write(f"2026-01-02T03:04:05Z solve \x1b[31mSOLVE_INFRA_SUSPECT\x1b[0m reason={reason}\r\n")
        sys.stderr.flush()
    return (int(status), reason) if how else (0, "")


arguments.out_dir.mkdir(exist_ok=True)
spent = 1.0
with arguments.csv.open(newline="") as schedule, (arguments.out_dir / "timeline.jsonl").open("a") as timeline:
    tasks = list(csv.DictReader(schedule))[arguments.start :]
    for task in tasks[: arguments.limit]:
        name = task["instance_id"]
        status, reason = entry_point(name)
        if status == 88:
            # Long enough that whoever watches has to act in the meantime, before the archive is begun.
            time.sleep(10 if ":line:" in name else 0)
            if ":line:" in name:
                archive()
            raise SystemExit(2)
        if status == 2:
            raise SystemExit(2)
        spent += 0.25
        row = {"instance_id": name, "patch_bytes": 0 if status or "empty" in name else 120, "api_errors": 0}
        row |= {"infra_suspect": bool(status), "infra_reason": reason or None, "spent_after_usd": spent}
        row |= {"secret_opt_in_required": False, "libc_skip": False}
        if "lost" not in name:
            print(json.dumps(row), file=timeline, flush=True)
archive()
