"""Whether a source and a directory can become a leaderboard submission at all."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.leaderboard.result import LeftOut
from obo_bench.programbench.leaderboard.selection import Graded, graded_directories
from obo_bench.programbench.leaderboard.source import RunRecord
from obo_bench.programbench.leaderboard.submission_yaml import UnreadableSubmissionYaml, check_submission_yaml

_SHOWN = 5


def require_run(record: RunRecord) -> None:
    """Raise PreflightRefused `leaderboard_not_possible` for an export as source.

    It has one row for each instance: whoever added those up would forget attempts and their cost.
    """
    origin = record.order.exported_from if record.order is not None else None
    if origin is not None:
        raise impossible(
            f"{str(record.root)!r} is an export of {origin.run_root!r}: it does not hold the records of the solves",
            {"source": str(record.root), "exported_from": origin.document()},
            remedy="name the run itself with --source, evaluated there",
        )


def require_possible(dest: Path, record: RunRecord, graded: Sequence[Graded], left_out: Sequence[LeftOut]) -> None:
    """Raise PreflightRefused `leaderboard_not_possible` where the official check would fail, or pass wrong results."""
    evidence = {"left_out": [out.document() for out in left_out], "dest": str(dest)}
    if not graded:
        told = "; ".join(f"{out.instance_id}: {out.reason} ({out.detail})" for out in left_out[:_SHOWN])
        raise impossible(
            f"no instance has a proven official result that counts: {told or 'none was asked for'}", evidence
        )
    strange = sorted(set(graded_directories(dest)) - set(record.instances))
    if strange:
        names = ", ".join(map(repr, strange[:_SHOWN]))
        raise impossible(
            f"{str(dest)!r} holds results that do not belong to this export and would be submitted with it: {names}",
            {"strange": strange, "dest": str(dest)},
            remedy="export to a new directory, or select these instances as well",
        )
    try:
        check_submission_yaml(dest)
    except UnreadableSubmissionYaml as error:
        raise impossible(
            f"the official package could not read {error}",
            evidence,
            remedy="correct the file, or move it away: a new one is written",
        ) from error


def impossible(message: str, evidence: Mapping[str, Any], remedy: str | None = None) -> PreflightRefused:
    """Return the refusal to raise."""
    return PreflightRefused("leaderboard_not_possible", message, evidence=evidence, remedy=remedy)
