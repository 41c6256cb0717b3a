"""The environment of a wrapped launcher: where its run is recorded, and where it can say what it found.

The run's id is the name of its root; there is no variable for it, because one of that name would be taken for the
option --run-id by every `obo-bench` command that the launcher starts.
"""

from collections.abc import Mapping

from obo_bench.core.variables import without_option_variables

MANIFEST = "OBO_BENCH_MANIFEST"
"""Absolute path of the run's `run_manifest.json`; to be read only."""
LEDGER = "OBO_BENCH_LEDGER"
"""Absolute path of the file that the launcher appends its rows to, one JSON object a line."""
OUTCOME_FILE = "OBO_BENCH_OUTCOME_FILE"
"""Absolute path of the file that the launcher may leave its outcome in; not there at the start."""
RUN_ROOT = "OBO_BENCH_RUN_ROOT"
"""Absolute path of the run's directory."""
INVOCATION = "OBO_BENCH_INVOCATION"
"""Id of the invocation that started the launcher: a later one on the same run root is another's."""
TASK_IDS_FILE = "OBO_BENCH_TASK_IDS_FILE"
"""Absolute path of a file with one requested id a line; set only where the ids are known."""
CONTRACT_VARIABLES = (MANIFEST, LEDGER, OUTCOME_FILE, RUN_ROOT, INVOCATION, TASK_IDS_FILE)
"""All of them; whoever starts a launcher sets them anew, whatever they were before."""

CHILD_DIRECTORY = "child"
"""Directory within the run root that belongs to the launcher's side of the contract."""
LEDGER_FILE = "ledger.jsonl"
"""Name within `child/` of the file that OBO_BENCH_LEDGER names."""
OUTCOME_NAME = "outcome.json"
"""Name within `child/` of the file that OBO_BENCH_OUTCOME_FILE names."""
TASK_IDS_NAME = "task_ids.txt"
"""Name within `child/` of the file that OBO_BENCH_TASK_IDS_FILE names."""
LOG_NAME = "output.log"
"""Name within `child/` of the log of what the launcher printed."""


def child_environment(environ: Mapping[str, str], contract: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of a launcher: the operator's, without what was meant for options of ours."""
    kept = {name: value for name, value in without_option_variables(environ).items() if name not in CONTRACT_VARIABLES}
    return kept | dict(contract)
