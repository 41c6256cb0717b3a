"""Every command, by what it may do (design I3): an unregistered one fails a test."""

from collections.abc import Sequence

RECORDED = frozenset(
    {
        "programbench run",
        "attest",
        "programbench attest",
        "exec",
        "eval",
        "programbench eval",
        "export",
        "programbench export",
        "programbench gate",
        "campaign resume",
        "campaign run",
        "grade swe-bench-pro",
        "prepare",
        "programbench prepare",
    }
)
"""Commands that run inside the seam and leave a manifest."""

READ_ONLY = frozenset(
    {
        "campaign check",
        "campaign status",
        "doctor",
        "grade verify",
        "ledger append",
        "practice",
        "practice gateway",
        "programbench cancel",
        "programbench gate-tasks",
        "programbench gc",
        "programbench report",
        "programbench settings",
        "programbench status",
        "reasons",
        "runs",
        "schema",
    }
)
"""Commands that write no manifest.

`cancel` and `ledger append` append ledger rows, `settings --write` changes the file it is given.
"""

SHELL = frozenset({"attest", "programbench attest"})
"""Commands that can answer with `--shell`."""

_PREFIXES = frozenset(
    " ".join(name.split()[:length]) for name in RECORDED | READ_ONLY for length in range(1, len(name.split()) + 1)
)


def command_of(arguments: Sequence[str]) -> str:
    """Return the command that a command line names, as far as it names one; values of options are not taken for it."""
    name = ""
    for word in arguments:
        longer = f"{name} {word}".strip()
        if longer in _PREFIXES:
            name = longer
    return name
