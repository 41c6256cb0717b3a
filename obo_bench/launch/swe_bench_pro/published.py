"""What a consumer asks before it uses a summary: is it the one that a grader of ours wrote, of what is there now?

Nothing in a summary is believed. Its manifest must have ended with verdicts and name this file with this hash; and the
same inputs, read again now, must give the same verdicts. Nobody signs a manifest: who can write both files can forge
both.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from obo_bench.core.documents import UnreadableDocument, parse_document, read_document
from obo_bench.core.files import read_whole
from obo_bench.core.manifest import RunManifest
from obo_bench.core.redact import process_redactor
from obo_bench.core.refusals import PreflightRefused, Refusal
from obo_bench.core.reporter import printable
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.core.why import why
from obo_bench.launch.swe_bench_pro import COMMAND
from obo_bench.launch.swe_bench_pro.assessment import assess, read_evidence
from obo_bench.launch.swe_bench_pro.grade_summary import ProGradeSummary, SummaryInputs
from obo_bench.launch.swe_bench_pro.options import GradeInputs

WITH_VERDICTS = frozenset({"completed", "official_eval_error"})
"""Outcomes of a grader that has done its work."""
_OF_THE_GRADER = ("invocation", "run_root", "created_at_unix")
_NOT_COMPARED = ("official_output_mtime_unix", "older_than_predictions", "detail")
"""A copy of the same bytes is as good, and so is a reason that another version says in other words."""
_LONGEST_WHY = 500
_LONGEST_FIELD = 100
_FIELDS = 5
"""Wrong fields that are named."""


class _Stale(Exception):
    """A summary must not be used; the text says why."""


@dataclass(frozen=True)
class PublishedSummary:
    """A summary that may be used."""

    summary: ProGradeSummary
    """What stands in it."""
    sha256: str
    """SHA-256 of its bytes."""
    manifest: Path
    """The manifest that vouches for it."""


def published_summary(path: Path, *, manifest: Path | None = None) -> PublishedSummary:
    """Return the summary in `path`; raises PreflightRefused `summary_not_fresh` for one that must not be used.

    `manifest` names the attempt that it must be of, as its grader's answer does; without it the summary itself says
    whose it is.
    """
    try:
        return _checked(path, manifest)
    except (_Stale, UnreadableDocument) as error:
        told = str(error)
    except OSError as error:
        told = f"it cannot be read: {why(error)}"
    except Refusal as unreadable:
        unreadable.settle()
        told = f"what it rests on cannot be read any more: {unreadable.message}"
    raise PreflightRefused(
        "summary_not_fresh", f"{str(path)!r} must not be used: {told}", evidence={"summary": str(path), "why": told}
    )


def _checked(path: Path, named: Path | None) -> PublishedSummary:
    data = read_whole(path)
    try:
        summary = parse_document(ProGradeSummary, data)
    except ValidationError as error:
        raise _Stale(f"it is no grade summary: {_wrong_fields(error)}") from error
    except (ValueError, RecursionError) as error:
        raise _Stale(f"it is no grade summary: it is no JSON: {why(error)[:_LONGEST_WHY]}") from error
    sha256 = hashlib.sha256(data).hexdigest()
    vouching = named or Path(summary.run_root) / MANIFEST_NAME
    _check_manifest(read_document(RunManifest, vouching), vouching, summary, path, sha256)
    _check_inputs(summary)
    return PublishedSummary(summary, sha256, vouching)


def _wrong_fields(error: ValidationError) -> str:
    """Return which fields are not as the format says, and why; their names are foreign text."""
    told = error.errors(include_url=False, include_input=False)
    fields = ["".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in each["loc"]) for each in told]
    shown = [
        f"{printable(field.removeprefix('.'))[:_LONGEST_FIELD] or 'the document'}: {each['msg']}"
        for field, each in zip(fields[:_FIELDS], told, strict=False)
    ]
    return "; ".join(shown) + (f"; and {len(told) - _FIELDS} more field(s)" if len(told) > _FIELDS else "")


def _check_manifest(manifest: RunManifest, at: Path, summary: ProGradeSummary, path: Path, sha256: str) -> None:
    outcome, recorded = manifest.extra.outcome, manifest.extra.grades.get("sha256")
    place = manifest.output_paths.get("grade_summary")
    if manifest.command != COMMAND or manifest.invocation != summary.invocation:
        raise _Stale(f"{at} is of another invocation: {manifest.command!a} {manifest.invocation!a}")
    if outcome not in WITH_VERDICTS:
        raise _Stale(f"its grader did not end normally: {at} says {outcome}")
    if recorded != sha256:
        raise _Stale(f"its SHA-256 is {sha256}, that of what the grader wrote is {recorded}")
    if place is None or Path(place).resolve() != path.resolve():
        raise _Stale(f"it was published as {place}, not here")


def _check_inputs(summary: ProGradeSummary) -> None:
    if summary.inputs is None:
        raise _Stale("it does not say what was graded")
    now = assess(read_evidence(_inputs(summary.inputs)))
    if _comparable(summary) != _comparable(now):
        raise _Stale(f"what it rests on has changed: {_difference(summary, now)}")


def _inputs(recorded: SummaryInputs) -> GradeInputs:
    return GradeInputs(Path(recorded.predictions.path), Path(recorded.output_dir), Path(recorded.raw_sample.path))


def _comparable(summary: ProGradeSummary) -> dict[str, Any]:
    """Return what two gradings of the same files have in common, as it is written: without secrets."""
    document: dict[str, Any] = process_redactor().document(summary.document())
    for name in _OF_THE_GRADER:
        del document[name]
    for verdict in document["verdicts"]:
        for name in _NOT_COMPARED:
            verdict.pop(name, None)
    return document


def _difference(told: ProGradeSummary, found: ProGradeSummary) -> str:
    assert told.inputs is not None
    assert found.inputs is not None
    for name in ("predictions", "raw_sample"):
        if getattr(told.inputs, name) != getattr(found.inputs, name):
            return f"{name.replace('_', ' ')} {getattr(told.inputs, name).path}"
    for old, new in zip(_comparable(told)["verdicts"], _comparable(found)["verdicts"], strict=False):
        if old != new:
            return f"the official output of {old['instance_id']!a}"
    return "its figures are not those of its verdicts"
