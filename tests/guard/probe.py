"""Run the command line under an audit hook that records every event until the manifest exists.

Started as a program of its own, before anything of the package is imported:

    python probe.py LOG MANIFEST PACKAGE_PARENT ARGUMENT...

The log is one JSON object a line: event, arguments, stack (innermost first). The last line is the rename to MANIFEST,
at which the process ends: what comes after admission is not looked at. Standard library only.
"""

import json
import os
import sys
from types import FrameType

QUIET = frozenset(
    {"object.__getattr__", "object.__setattr__", "sys._getframe", "code.__new__", "marshal.loads", "builtins.id"}
)
"""Events of the interpreter itself, which touch nothing."""

DEEPEST = 60
"""Frames that are kept of a stack."""


def frames() -> list[tuple[str, int, str]]:
    """Return the stack of whoever caused the event."""
    found: list[tuple[str, int, str]] = []
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and len(found) < DEEPEST:
        found.append((frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name))
        frame = frame.f_back
    return found


def shown(argument: object) -> str:
    """Return an argument of an event as text."""
    if isinstance(argument, bytes):
        return os.fsdecode(argument)
    return str(argument)[:500] if isinstance(argument, str | int | os.PathLike) else type(argument).__name__


def main() -> None:
    """Install the hook and run the command."""
    log, manifest, parent, *arguments = sys.argv[1:]
    stream = open(log, "w", encoding="utf-8", errors="backslashreplace", buffering=1 << 20)  # noqa: SIM115, PTH123
    sys.path[0] = parent
    sys.argv = ["obo-bench", *arguments]
    writing = False

    def hook(event: str, details: tuple[object, ...]) -> None:
        nonlocal writing
        if writing or event in QUIET:
            return
        writing = True
        said = [shown(detail) for detail in details]
        stream.write(json.dumps([event, said, frames()]) + "\n")
        if event == "os.rename" and said[1] == manifest:
            stream.flush()
            os._exit(0)
        writing = False

    import runpy  # before the hook: it is the probe's own

    sys.addaudithook(hook)
    runpy.run_module("obo_bench", run_name="__main__", alter_sys=False)


if __name__ == "__main__":
    main()
