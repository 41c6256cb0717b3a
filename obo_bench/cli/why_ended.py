"""Why a recorded command did not end well, in one line by its record: with -q all that is told, whatever command it is.

A command that knows better says it with `answer.because`, or says it itself when its ending is on record.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from obo_bench.cli import answer
from obo_bench.core.refusals import ExitCode

_COUNTS = ("completed", "failed", "not_attempted")
_GRADES = ("pass", "fail", "ungraded")


def tell(manifest: Mapping[str, Any] | None) -> None:
    """Tell it on stderr where the operator asked for nothing else and has been told nothing of the ending yet."""
    if manifest is not None and manifest["extra"]["exit_code"] != ExitCode.OK and answer.is_unexplained():
        answer.say(line(manifest, answer.reason()))


def line(manifest: Mapping[str, Any], reason: str = "") -> str:
    """Return command, outcome and status, and why: `reason`, else what the record tells."""
    extra = manifest["extra"]
    ended = f"{manifest['command']}: {extra['outcome']} (exit status {extra['exit_code']})"
    why = " ".join((reason or _recorded(extra, manifest.get("requested_count"))).split())
    return f"{ended}: {why}" if why else ended


def _recorded(extra: Mapping[str, Any], requested: int | None) -> str:
    for told in (extra.get("refusal"), extra.get("error")):
        if told:
            return str(told["message"])
    return "; ".join(_figures(extra, requested))


def _figures(extra: Mapping[str, Any], requested: int | None) -> Iterator[str]:
    counts = _counted({name: extra.get(f"{name}_count") for name in _COUNTS})
    # A grader counts as failed what it could not grade; the grades say that better.
    if counts and extra["outcome"] != "official_eval_error":
        yield counts if requested is None else f"of {requested} instance(s) {counts}"
    grades = _counted({name: (extra.get("grades") or {}).get(name) for name in _GRADES})
    if grades:
        yield f"grades: {grades}"
    elif extra.get("official_eval_status") in ("error", "not_run"):
        yield f"official evaluation: {extra['official_eval_status']}"


def _counted(numbers: Mapping[str, int | None]) -> str:
    return ", ".join(f"{number} {name}" for name, number in numbers.items() if number)
