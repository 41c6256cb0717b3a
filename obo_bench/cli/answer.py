"""The answer of a command on stdout: one line, one object (`--json`) or assignments (`--shell`).

The last two also answer refusals and usage errors, so that a script never has to read stderr.
"""

import contextlib
import errno
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from obo_bench.cli import registry, shell, variables
from obo_bench.core import ending
from obo_bench.core.redact import process_redactor
from obo_bench.core.refusals import ExitCode, Refusal, UsageError
from obo_bench.core.reporter import printable
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.core.signals import Interrupted

SCHEMA = "obo_bench.result.v1"

_NOBODY_READS = frozenset({errno.EPIPE, errno.EBADF})
"""Errors of a stdout that is closed, or whose reader has gone."""
_state: dict[str, Any] = {}


def begin(arguments: Sequence[str]) -> None:
    """Forget earlier answers; what form is wanted is known even when the arguments cannot be parsed."""
    command = registry.command_of(arguments)
    # What follows `--` is another program's.
    own = arguments[: arguments.index("--")] if "--" in arguments else arguments
    form = "json" if "--json" in own or variables.is_on("--json") else "line"
    if ("--shell" in own or variables.is_on("--shell")) and command in registry.SHELL:
        form = "shell"
    _state.clear()
    _state.update(form=form, command=command, arguments=list(arguments))
    _state.update(result={}, line="", variables=None, given=False, run_root=None)


def give(command: str, line: str, result: Any, variables: Mapping[str, object] | None = None) -> None:
    """Set the answer: `line` for people, `result` for `--json`, `variables` for `--shell` where they are its own."""
    _state.update(command=command, line=line, result=result, variables=variables, given=True)


def about(run_root: Path) -> None:
    """Say which run the answer is about, for a command that has no record of its own."""
    _state.update(run_root=run_root)


def arguments() -> list[str]:
    """Return what the operator typed after the program's name."""
    return list(_state["arguments"])


def silence() -> None:
    """Print nothing: a child process has given the answer already."""
    _state.update(form="line", line="")


def say(text: str) -> None:
    """Tell the operator something on stderr, secrets redacted and without anything that drives the terminal."""
    if ending.concluded() is not None:
        _state["explained"] = True
    encoding = sys.stderr.encoding or "utf-8"
    message = "".join(f"{printable(line)}\n" for line in process_redactor().text(text).split("\n"))
    try:
        sys.stderr.write(message.encode(encoding, "backslashreplace").decode(encoding))
        sys.stderr.flush()
    except (OSError, ValueError):
        return


def hush() -> None:
    """Say nothing more but why it ended: -q."""
    _state["quiet"] = True


def tell(text: str) -> None:
    """Tell the operator a result or a hint on stderr, unless -q."""
    if not _state.get("quiet"):
        say(text)


def because(reason: str) -> None:
    """Set why a recorded command did not end well, in one line: told with -q, unless the command says more itself."""
    _state["reason"] = reason


def reason() -> str:
    """Return what `because` has set, else nothing."""
    return str(_state.get("reason") or "")


def is_unexplained() -> bool:
    """Say whether -q is given and nothing was said since the ending is on record."""
    return bool(_state.get("quiet")) and not _state.get("explained")


def finish(status: int, error: BaseException | None, manifest: dict[str, Any] | None) -> OSError | None:
    """Print the answer; return what kept it from being written, such as a full disk.

    That nobody reads, because stdout is closed or its reader has gone, is no trouble: None.
    """
    text = _text(status, error, manifest)
    return show(text) if text else None


def show(text: str) -> OSError | None:
    """Print a line on stdout at once, for a command that goes on after it; returns the trouble like `finish`."""
    try:
        sys.stdout.buffer.write(_bytes(text + "\n"))
        sys.stdout.buffer.flush()
    except (OSError, ValueError) as trouble:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123  # kept open until the process ends
        return trouble if isinstance(trouble, OSError) and trouble.errno not in _NOBODY_READS else None
    return None


def _text(status: int, error: BaseException | None, manifest: dict[str, Any] | None) -> str:
    if _state["form"] == "line":
        return str(_state["line"])
    if status == ExitCode.OK and not _state["given"] and manifest is None:
        return ""  # --help and --version have answered
    envelope = _envelope(status, error, manifest)
    if _state["form"] == "json":
        return json.dumps(envelope)
    return shell.assignments(_state["variables"] or shell.attest_variables(envelope))


def _bytes(text: str) -> bytes:
    """Paths give back the bytes they were made of, whatever the locale; a lone surrogate of foreign text is escaped."""
    for encoding in (sys.getfilesystemencoding(), "utf-8"):
        with contextlib.suppress(UnicodeEncodeError):
            return text.encode(encoding, "surrogateescape")
    return text.encode("utf-8", "backslashreplace")


def _envelope(status: int, error: BaseException | None, manifest: dict[str, Any] | None) -> dict[str, Any]:
    extra = (manifest or {}).get("extra") or {}
    refusal = ending.refusal_record(error).model_dump() if isinstance(error, Refusal) else None
    root, path = _state["run_root"], ending.manifest_path()
    if path is None and root is not None:
        path = root / MANIFEST_NAME
    document = {
        "schema": SCHEMA,
        "command": (manifest or {}).get("command") or _state["command"],
        "outcome": extra.get("outcome") or _outcome(status, error),
        "exit_code": int(status),
        "run_root": (manifest or {}).get("run_root") or (str(root) if root is not None else None),
        "manifest": str(path) if path else None,
        "refusal": extra.get("refusal") or refusal,
        "error": extra.get("error") or _error(status, error, recorded=manifest is not None),
        "result": _state["result"],
    }
    envelope: dict[str, Any] = process_redactor().document(document)
    return envelope


def _outcome(status: int, error: BaseException | None) -> str:
    if isinstance(error, Refusal):
        return "refused"
    if status == ExitCode.USAGE:
        return "usage_error"
    if isinstance(error, Interrupted | KeyboardInterrupt):
        return "interrupted"
    answered = _state["given"] and isinstance(error, SystemExit | None)
    return "completed" if status == ExitCode.OK or answered else "crashed"


def _error(status: int, error: BaseException | None, *, recorded: bool) -> dict[str, str] | None:
    # Nothing is recorded of a usage error: a recorded 2 is a wrapped command's own.
    if status == ExitCode.USAGE and not recorded:
        return {"type": "UsageError", "message": str(error) if isinstance(error, UsageError) else _parser_said(error)}
    if error is None or isinstance(error, Refusal | SystemExit):
        return None
    return {"type": type(error).__name__, "message": str(error)}


def _parser_said(error: BaseException | None) -> str:
    """Return the parser's own message, which it has shown before it ended the process."""
    cause = error.__context__ if error is not None else None
    told = getattr(cause, "format_message", None)
    return str(told()) if told is not None else "the command line cannot be parsed; see stderr"
