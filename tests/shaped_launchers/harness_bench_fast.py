"""Shaped like the harness-bench-fast launcher: the harness's own results of each task under the run root."""

import argparse
import json
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--bench-root", type=Path, required=True)
parser.add_argument("--task", action="append", default=[])
parser.add_argument("--task-file", type=Path)
parser.add_argument("--attempts", type=int, default=1)
parser.add_argument("--timeout", type=float, default=900)
parser.add_argument("--run-root", type=Path, required=True)
arguments = parser.parse_args()
names = list(arguments.task)
if arguments.task_file:
    names += arguments.task_file.read_text().split()
arguments.run_root.mkdir(exist_ok=True)
(arguments.run_root / "settings.json").write_text("{}")
for name in names:
    if "lost" in name:
        continue
    tries = [
        {
            "task_id": name,
            "number": 1,
            "passed": "good" in name,
            "message": "checked",
            "elapsed_seconds": 1.5,
            "error": "the agent ended with status 1" if "bad" in name else None,
            "attempt": attempt,
            "attempts": arguments.attempts,
        }
        for attempt in range(1, arguments.attempts + 1)
    ]
    payload = {"task_set_version": "0.13.0", "total": len(tries), "passed": 1, "pass_rate": 1.0, "tasks": tries}
    (arguments.run_root / name).mkdir()
    (arguments.run_root / name / "results.json").write_text(json.dumps(payload, indent=2))
raise SystemExit(1 if any("good" not in name for name in names) else 0)
