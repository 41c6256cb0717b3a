"""The answer of a command on stdout: one line, or with `--json` one object, also for refusals and usage errors."""

import json
import os
import sys
from collections.abc import Sequence
from typing import Any

from obo_bench.core import ending
from obo_bench.core.redact import process_redactor
from obo_bench.core.refusals import ExitCode, Refusal, UsageError

SCHEMA = "obo_bench.result.v1"

_state: dict[str, Any] = {}


def begin(arguments: Sequence[str]) -> None:
    """Forget earlier answers; whether JSON is wanted is known even when the arguments cannot be parsed."""
    words = [word for word in arguments if not word.startswith("-")]
    _state.clear()
    _state.update(json="--json" in arguments, command=" ".join(words[:2]), result={}, line="")


def give(command: str, line: str, result: dict[str, Any]) -> None:
    """Set the answer: `line` for people, `result` for `--json`."""
    _state.update(command=command, line=line, result=result)


def silence() -> None:
    """Print nothing: a child process has given the answer already."""
    _state.update(json=False, line="")


def say(text: str) -> None:
    """Tell the operator something on stderr, secrets redacted."""
    encoding = sys.stderr.encoding or "utf-8"
    message = process_redactor().text(text) + "\n"
    try:
        sys.stderr.write(message.encode(encoding, "backslashreplace").decode(encoding))
        sys.stderr.flush()
    except (OSError, ValueError):
        return


def finish(status: int, error: BaseException | None, manifest: dict[str, Any] | None) -> None:
    """Print the answer; a closed stdout is not an error of the run."""
    text = _envelope(status, error, manifest) if _state["json"] else _state["line"]
    if not text:
        return
    try:
        sys.stdout.write(text + "\n")
        sys.stdout.flush()
    except (OSError, ValueError):
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, PTH123  # kept open until the process ends


def _envelope(status: int, error: BaseException | None, manifest: dict[str, Any] | None) -> str:
    extra = (manifest or {}).get("extra") or {}
    refusal = ending.refusal_record(error).model_dump() if isinstance(error, Refusal) else None
    path = ending.manifest_path()
    document = {
        "schema": SCHEMA,
        "command": (manifest or {}).get("command") or _state["command"],
        "outcome": extra.get("outcome") or _outcome(status, error),
        "exit_code": int(status),
        "run_root": (manifest or {}).get("run_root"),
        "manifest": str(path) if path else None,
        "refusal": extra.get("refusal") or refusal,
        "error": extra.get("error") or _error(status, error),
        "result": _state["result"],
    }
    return json.dumps(process_redactor().document(document))


def _outcome(status: int, error: BaseException | None) -> str:
    if isinstance(error, Refusal):
        return "refused"
    if status == ExitCode.OK:
        return "completed"
    return "usage_error" if status == ExitCode.USAGE else "crashed"


def _error(status: int, error: BaseException | None) -> dict[str, str] | None:
    if status == ExitCode.USAGE:
        message = str(error) if isinstance(error, UsageError) else "the command line cannot be parsed; see stderr"
        return {"type": "UsageError", "message": message}
    if error is None or isinstance(error, Refusal | SystemExit):
        return None
    return {"type": type(error).__name__, "message": str(error)}
