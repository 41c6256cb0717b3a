"""Shaped like `inspect eval`: an `.eval` archive with the members that Inspect writes, deflated as zipfile can."""

import argparse
import json
import zipfile
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("task")
parser.add_argument("--solver")
parser.add_argument("--sample-id", required=True)
parser.add_argument("--log-dir", type=Path, required=True)
arguments = parser.parse_args()
samples = []
for name in arguments.sample_id.split(","):
    if "lost" not in name:
        sample = {"id": name, "epoch": 1, "input": "?", "target": "4", "scores": {}, "completed": True}
        if "bad" in name:
            sample["error"] = "RuntimeError('the agent gave up')"
        else:
            sample["scores"] = {"gaia_scorer": {"value": "C" if "good" in name else "I", "answer": "4"}}
        samples.append(sample)
header = {"version": 2, "status": "success", "eval": {"task": "gaia", "task_registry_name": "inspect_evals/gaia"}}
arguments.log_dir.mkdir(exist_ok=True)
with zipfile.ZipFile(arguments.log_dir / "2026_gaia_x.eval", "w", zipfile.ZIP_DEFLATED) as log:
    log.writestr("_journal/start.json", json.dumps(header))
    for sample in samples:
        log.writestr(f"samples/{sample['id']}_epoch_1.json", json.dumps(sample))
    log.writestr("summaries.json", json.dumps(samples))
    log.writestr("header.json", json.dumps(header))
