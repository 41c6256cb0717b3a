"""Tells a run from a directory that only a refused `eval` or `gate` has made: their record of a name without a run.

Nothing heavy is imported: a shell's completion waits for the answer.
"""

import os
from pathlib import Path

_THEIRS = frozenset({"eval", "gate", "logs"})
"""What they make, beside hidden files, which are locks."""


def holds_only_refusals(root: Path) -> bool:
    """Say whether all that a directory holds was made by `eval` and `gate` themselves: there was nothing to judge.

    False for an empty directory, and for one that cannot be read.
    """
    something = False
    try:
        with os.scandir(root) as entries:
            for entry in entries:
                if entry.name not in _THEIRS and not entry.name.startswith("."):
                    return False
                something = True
    except OSError:
        return False
    return something
