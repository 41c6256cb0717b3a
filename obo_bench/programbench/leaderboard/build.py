"""Adds to the archives of an export all that makes it a leaderboard submission.

What lies in the directory afterwards passes the official `submit package` and `submit verify`, before and after the
operator has filled in what only a human knows. Running it again changes nothing that has not changed in the run.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from obo_bench.core.files import write_text
from obo_bench.core.reporter import Reporter
from obo_bench.programbench.leaderboard import statistics_script
from obo_bench.programbench.leaderboard.attestations import TO_CONFIRM, attest
from obo_bench.programbench.leaderboard.eval_copy import (
    EvalChanged,
    copy_if_changed,
    place_eval,
    reading,
    set_unproven_aside,
)
from obo_bench.programbench.leaderboard.possible import impossible, require_possible, require_run
from obo_bench.programbench.leaderboard.readme import write_readme
from obo_bench.programbench.leaderboard.readme_blocks import human_blocks, readme_blocks
from obo_bench.programbench.leaderboard.records import mirror_records
from obo_bench.programbench.leaderboard.result import LeaderboardResult, LeftOut, Statistic
from obo_bench.programbench.leaderboard.selection import Graded, select_graded
from obo_bench.programbench.leaderboard.source import read_run
from obo_bench.programbench.leaderboard.submission_yaml import write_submission_yaml

_NEXT_COMMANDS = ("programbench submit package .", "programbench submit verify .")
_MEANINGS = {
    "cost": "USD, all attempts, as the server's closed account says",
    "calls": "model calls of all attempts up to the end of the agent's work, reviewers included",
    "tokens": "prompt and completion tokens of these calls",
}


def build_leaderboard(source: Path, dest: Path, instance_ids: Sequence[str], reporter: Reporter) -> LeaderboardResult:
    """Make `dest`, which holds `<iid>/submission.tar.gz` of the run in `source`, a leaderboard submission.

    Only results that are proven fresh for exactly these archives are taken; every other instance is listed. Raises
    PreflightRefused `leaderboard_not_possible`, before anything is written, for a directory that could not pass the
    official check; RecordUnreadable for a file of the source; and OSError.
    """
    with reading(source):
        record = read_run(source, list(dict.fromkeys(instance_ids)))
    require_run(record)
    graded, left_out = select_graded(record, dest)
    require_possible(dest, record, graded, left_out)
    mirror_records(source, dest, list(record.instances))
    _place_results(source, dest, graded, left_out, reporter)
    if not graded:
        raise impossible("every result was replaced while it was exported", {"dest": str(dest)})
    statistics = _write_statistics(dest)
    result = LeaderboardResult(
        schema="obo_bench.leaderboard.v1",
        graded=[one.instance_id for one in graded],
        left_out=left_out,
        statistics={name: _described(name, found) for name, found in statistics.items()},
        attestations=attest(record, graded),
        to_confirm=list(TO_CONFIRM),
        next_commands=list(_NEXT_COMMANDS),
    )
    write_submission_yaml(dest, record.manifest)
    write_readme(dest, readme_blocks(result, record, graded, statistics["cost"]["values"]), human_blocks(result))
    _tell(result, reporter)
    return result


def _place_results(source: Path, dest: Path, graded: list[Graded], left_out: list[LeftOut], reporter: Reporter) -> None:
    for one in list(graded):
        try:
            place_eval(source, dest, one)
        except EvalChanged as error:
            graded.remove(one)
            left_out.append(LeftOut(instance_id=one.instance_id, reason="grade_not_proven", detail=str(error)))
    for out in left_out:
        if set_unproven_aside(dest, out.instance_id):
            reporter.event("a result that is not proven was set aside: it must not be submitted", out.instance_id)


def _write_statistics(dest: Path) -> dict[str, dict[str, dict[str, Any]]]:
    script = Path(statistics_script.__file__)
    copy_if_changed(script, dest / "_scripts" / script.name)
    found = statistics_script.statistics(dest)
    (dest / "_stats").mkdir(exist_ok=True)
    for name, statistic in found.items():
        write_text(dest / "_stats" / f"{name}.json", statistics_script.stats_text(statistic["values"]))
    return found


def _described(name: str, found: Mapping[str, Mapping[str, Any]]) -> Statistic:
    return Statistic(meaning=_MEANINGS[name], known=len(found["values"]), unknown=dict(found["unknown"]))


def _tell(result: LeaderboardResult, reporter: Reporter) -> None:
    doubtful = [a.name for a in result.attestations if a.support != "supported"]
    reporter.event(f"leaderboard: {len(result.graded)} results, {len(result.left_out)} instances without one")
    if doubtful:
        reporter.event(f"the record does not fully support: {', '.join(doubtful)} (see README.md)")
    reporter.event(
        f"by hand: confirm what README.md lists, fill in submission.yaml; then {' && '.join(_NEXT_COMMANDS)}"
    )
