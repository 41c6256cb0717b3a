"""CL-Bench: an external runner that goes through its own list, one task after the other.

Neither its list nor the files in its directory follow from its arguments, so nothing is read there: the tasks are named
beside the command, and the runner, or a few lines around it, appends its rows to the ledger that it is given.
"""

from obo_bench.launch.presets.preset import Harvest, Preset

CL_BENCH = Preset(
    name="cl-bench",
    benchmark="cl-bench",
    dataset="cl-bench",
    summary="CL-Bench through its own sequential runner",
    requests="its own list: name the tasks with `--task-id` or `--ids-file`",
    leaves="no file that is known: the rows are those that it appends to `OBO_BENCH_LEDGER`",
    example="python run_cl_bench.py",
    requested=lambda _launch: None,
    outputs=lambda _launch: {},
    results=lambda _launch: Harvest(),
)
