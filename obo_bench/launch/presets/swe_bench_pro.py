"""SWE-bench Pro on frozen repositories: a launcher that solves each input line in a checkout of its own.

It takes `--input FILE.jsonl` (`instance_id`, `repo_dir` or `workspace_root`, `base_commit`) and `--output`; the seed is
mounted into the containers. Its predictions are graded by `obo-bench grade swe-bench-pro`.
"""

from obo_bench.launch.presets.predictions import input_ids, prediction_files, prediction_results
from obo_bench.launch.presets.preset import Preset

SWE_BENCH_PRO = Preset(
    name="swe-bench-pro",
    benchmark="swe-bench-pro",
    dataset="ScaleAI/SWE-bench_Pro",
    summary="SWE-bench Pro predictions on frozen repositories",
    requests="`instance_id` of each line of `--input`",
    leaves="`--output` (`instance_id`, `model_patch`, `prefix`), and the ledger beside it where there is one",
    example="python swe_bench_pro.py --input pro.jsonl --output predictions.jsonl",
    requested=input_ids,
    outputs=prediction_files,
    results=prediction_results,
    needs_git_directory=True,
)
