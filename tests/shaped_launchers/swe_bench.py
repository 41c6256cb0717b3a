"""Shaped like the SWE-bench launcher: an id says what becomes of it (good, bad, empty, lost)."""

import argparse
import json
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--input", type=Path, required=True)
parser.add_argument("--output", type=Path, required=True)
parser.add_argument("--timeout", type=float, default=7200)
parser.add_argument("--continue-on-error", action="store_true")
arguments = parser.parse_args()
ledger = arguments.output.with_name(f"{arguments.output.name}.ledger.jsonl")
failed = 0
with arguments.output.open("a") as predictions, ledger.open("a") as rows:
    for line in arguments.input.read_text().splitlines():
        name = json.loads(line)["instance_id"]
        if "lost" in name:
            continue
        row = {"schema": "ouroboros.benchmark.task_result.v1", "instance_id": name, "status": "completed"}
        if "bad" in name:
            failed += 1
            row |= {"status": "failed", "reason_code": "client_poll_timeout", "error": "no answer within 7200 s"}
        else:
            patch = "" if "empty" in name else f"diff --git a/{name} b/{name}\n"
            prediction = {"instance_id": name, "model_name_or_path": "ouroboros", "model_patch": patch}
            print(json.dumps(prediction), file=predictions)
            row["cost"] = {"usd": 0.5}
        print(json.dumps(row), file=rows)
raise SystemExit(1 if failed else 0)
