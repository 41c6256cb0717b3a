"""Shaped like `harbor run`: a job's directory with `result.json` of the job and of each trial."""

import argparse
import json
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("run")
parser.add_argument("-d", "--dataset")
parser.add_argument("-i", "--include-task-name", action="append", default=[])
parser.add_argument("-o", "--jobs-dir", type=Path, default=Path("jobs"))
parser.add_argument("--job-name", required=True)
parser.add_argument("-k", "--n-attempts", type=int, default=1)
arguments = parser.parse_args()
job = arguments.jobs_dir / arguments.job_name
job.mkdir(parents=True)
for name in arguments.include_task_name:
    for number in range(0 if "lost" in name else arguments.n_attempts):
        trial = job / f"{name}__{number}"
        trial.mkdir()
        reward = 1.0 if "good" in name or ("mixed" in name and number) else 0.0
        result = {
            "id": "00000000-0000-0000-0000-000000000000",
            "task_name": name,
            "trial_name": trial.name,
            "agent_result": {"cost_usd": 0.125},
            "verifier_result": None if "bad" in name else {"rewards": {"reward": reward}},
            "exception_info": None,
            "reward_valid": "bad" not in name,
        }
        if "bad" in name:
            result["exception_info"] = {"exception_type": "AgentTimeoutError", "exception_message": "900 s"}
        (trial / "result.json").write_text(json.dumps(result, indent=4))
(job / "result.json").write_text(json.dumps({"id": "x", "n_total_trials": 3, "stats": {}}))
