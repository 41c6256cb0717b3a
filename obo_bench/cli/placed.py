"""A command line that works as it is typed in any directory: what it names relative to this one is named from the root.

The operator may be elsewhere when he comes to it.
"""

import contextlib
from collections.abc import Sequence
from pathlib import Path

PLACES = frozenset(
    {
        *("--repo-dir", "--settings-path", "--runs-root", "--output", "--ids-file", "--pin-digests", "--dest"),
        *("--workspace", "--instruction-file", "--isolated-data-root", "--ledger-output", "--manifest-output"),
        *("--tasks", "--smoke-ids-file", "--unseen-ids-file", "--into", "--directory", "--predictions"),
        *("--output-dir", "--raw-sample", "--summary", "--grader-manifest", "--run"),
    }
)
"""Options of all commands whose value is a place."""


def placed(words: Sequence[str]) -> list[str]:
    """Return a command line with every place of its own absolute; what follows `--` is another program's."""
    own = list(words[: words.index("--")] if "--" in words else words)
    for at, word in enumerate(own):
        name, sign, value = word.partition("=")
        if name in PLACES and sign:
            own[at] = f"{name}={from_root(value)}"
        elif at and own[at - 1] in PLACES:
            own[at] = from_root(word)
    return [*own, *words[len(own) :]]


def from_root(path: str) -> str:
    """Return a path from the root on, links as they are; as it is where the current directory is gone."""
    with contextlib.suppress(OSError):
        return str(Path(path).absolute()) if path else path
    return path
