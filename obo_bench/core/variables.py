"""The names of environment variables that belong to this program."""

from collections.abc import Mapping

PREFIX = "OBO_BENCH_"
"""What the variable of an option begins with."""
STEP = "OBO_BENCH_CAMPAIGN_STEP"
"""Set for a command that a campaign starts: what comes next is the campaign's to say. No launcher inherits it."""
PRACTICE = "OBO_BENCH_PRACTICE"
"""Set for the run that `practice` starts, to its directory: what goes on with it is `practice`."""
KEPT = frozenset(
    {
        "OBO_BENCH_OPENROUTER_URL",
        "OBO_BENCH_PARENT_FD",
        STEP,
        PRACTICE,
        # What `exec` tells a launcher, which may start commands of ours.
        "OBO_BENCH_INVOCATION",
        "OBO_BENCH_LEDGER",
        "OBO_BENCH_MANIFEST",
        "OBO_BENCH_OUTCOME_FILE",
        "OBO_BENCH_RUN_ROOT",
        "OBO_BENCH_TASK_IDS_FILE",
    }
)
"""Variables with the prefix that are no option's."""
TEST_PREFIX = "OBO_BENCH_TEST_"
"""Variables that only the tests read."""


def is_option_variable(name: str) -> bool:
    """Say whether a variable can only be meant for an option, whether or not there is such an option."""
    return name.startswith(PREFIX) and name not in KEPT and not name.startswith(TEST_PREFIX)


def without_option_variables(environ: Mapping[str, str]) -> dict[str, str]:
    """Return an environment for a child that is given all of its options: the operator's were meant for the parent."""
    ours = (STEP, PRACTICE)
    return {name: value for name, value in environ.items() if not is_option_variable(name) and name not in ours}
