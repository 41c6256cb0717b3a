"""SWE-bench: a launcher that writes predictions, or the official evaluation of them.

The launcher takes `--input FILE.jsonl --output PREDICTIONS.jsonl`. The official evaluation is
`python -m swebench.harness.run_evaluation --predictions_path P --run_id R`; its report is the official verdict.
"""

from pathlib import Path

from obo_bench.launch.presets import swe_bench_report
from obo_bench.launch.presets.launch import Launch
from obo_bench.launch.presets.predictions import input_ids, prediction_files, prediction_results
from obo_bench.launch.presets.preset import Harvest, Preset


def _requested(launch: Launch) -> list[str] | None:
    return swe_bench_report.requested(launch) if swe_bench_report.is_evaluation(launch) else input_ids(launch)


def _outputs(launch: Launch) -> dict[str, Path]:
    return swe_bench_report.outputs(launch) if swe_bench_report.is_evaluation(launch) else prediction_files(launch)


def _results(launch: Launch) -> Harvest:
    return swe_bench_report.results(launch) if swe_bench_report.is_evaluation(launch) else prediction_results(launch)


SWE_BENCH = Preset(
    name="swe-bench",
    benchmark="swe-bench",
    dataset="SWE-bench/SWE-bench_Verified",
    summary="SWE-bench predictions, or their official evaluation",
    requests="`instance_id` of each line of `--input`; of an evaluation, the instances of `--predictions_path`",
    leaves="`--output` and the ledger beside it; of an evaluation, its report `*.<run id>.json`",
    requested=_requested,
    outputs=_outputs,
    results=_results,
    task_timeout_sec=7200,
    example="python swe_bench.py --input verified.jsonl --output predictions.jsonl --continue-on-error",
)
