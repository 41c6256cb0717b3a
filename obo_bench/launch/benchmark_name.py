"""What a benchmark may be called: the name is the directory of its runs."""

import re

from obo_bench.core.refusals import UsageError

OWN_DIRECTORIES = frozenset({"attest", "campaign", "eval", "export", "grade", "prepare", "programbench"})
"""Directories of the runs root that belong to commands of this program."""
_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def check_benchmark_name(name: str, flag: str = "--benchmark") -> str:
    """Return `name`, or raise UsageError that names the option when no benchmark of a launcher can be called so."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{flag} {name!r} is no name of a benchmark: it names the directory of its runs, so use lower-case "
            "letters, digits, '.', '_' and '-' (at most 64, starting with a letter or digit)"
        )
    if name in OWN_DIRECTORIES:
        raise UsageError(f"{flag} {name!r} is the directory of a command of obo-bench: choose another name")
    return name
