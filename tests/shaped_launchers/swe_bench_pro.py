"""Shaped like the SWE-bench Pro launcher for frozen repositories: predictions and `.diff` files, no ledger."""

import argparse
import json
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--input", type=Path, required=True)
parser.add_argument("--output", type=Path, required=True)
arguments = parser.parse_args()
failed = 0
with arguments.output.open("w") as predictions:
    for line in arguments.input.read_text().splitlines():
        task = json.loads(line)
        name, patch = task["instance_id"], f"diff --git a/{task['base_commit']} b/x\n"
        if "lost" in name:
            failed += 1
            continue
        patch = " \n" if "empty" in name else patch
        arguments.output.with_name(f"{name}.diff").write_text(patch)
        print(json.dumps({"instance_id": name, "model_patch": patch, "prefix": "ouroboros"}), file=predictions)
raise SystemExit(1 if failed else 0)
