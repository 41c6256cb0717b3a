"""The parts of the README that are made from the record, by the official heading that each belongs under."""

import shlex
from collections.abc import Mapping, Sequence

from obo_bench.core.manifest import RunManifest
from obo_bench.core.redact import process_redactor
from obo_bench.programbench.leaderboard.markdown import code, fenced
from obo_bench.programbench.leaderboard.overview import overview_lines
from obo_bench.programbench.leaderboard.result import Attestation, LeaderboardResult, Statistic
from obo_bench.programbench.leaderboard.selection import Graded
from obo_bench.programbench.leaderboard.source import RunRecord

_LISTED = 20


def readme_blocks(
    result: LeaderboardResult, record: RunRecord, graded: Sequence[Graded], costs: Mapping[str, float]
) -> dict[str, list[str]]:
    """Return Markdown lines by heading; all foreign text in them is code."""
    return {
        "System overview": [*overview_lines(record, graded, costs), *_left_out(result)],
        "Reproducing this run": _commands(record, result.next_commands),
        "Extra stats (optional)": _statistics(result.statistics),
        "Integrity attestations": _integrity(result),
    }


def human_blocks(result: LeaderboardResult) -> dict[str, list[str]]:
    """Return what a human must confirm, as boxes to tick."""
    return {"What no record can show": [f"- [ ] {text}" for text in result.to_confirm]}


def _left_out(result: LeaderboardResult) -> list[str]:
    if not result.left_out:
        return []
    items = [f"{code(out.instance_id)}: {out.reason}, {code(out.detail)}" for out in result.left_out]
    return ["", "Asked for, but without a result here:", "", *_listed(items)]


def _commands(record: RunRecord, official: Sequence[str]) -> list[str]:
    lines: list[str] = []
    for manifest in record.commands:
        lines += _command(manifest)
    return [
        "As recorded, secrets masked; paths and addresses are those of the machine it ran on.",
        "",
        *fenced(lines or ["# the record holds no command line"], "bash"),
        "",
        "Then, in this directory:",
        "",
        *fenced(official, "bash"),
    ]


def _command(manifest: RunManifest) -> list[str]:
    # Documents of other tools may hold what our own writers mask.
    words = [process_redactor().text(word) for word in manifest.argv[1:]]
    return [f"obo-bench {shlex.join(words)}"] if words and manifest.benchmark == "programbench" else []


def _statistics(statistics: Mapping[str, Statistic]) -> list[str]:
    lines = [
        "Computed by `_scripts/statistics_script.py` from the server's task records in `_record`, not entered by hand;",
        "`python3 _scripts/statistics_script.py` repeats it and compares. Unknown values are left out, never 0.",
        "",
    ]
    for name, statistic in statistics.items():
        lines.append(f"- `_stats/{name}.json`: {statistic.meaning}. Known of {statistic.known} instance(s).")
        items = [f"{code(iid)}: {code(why)}" for iid, why in statistic.unknown.items()]
        lines += [f"  {line}" for line in _listed(["unknown of " + item for item in items])]
    return lines


def _integrity(result: LeaderboardResult) -> list[str]:
    return [
        "What the record shows, and what it does not. The boxes below, and those under the last heading of this file,",
        "are the submitter's to tick.",
        "",
        *(line for attestation in result.attestations for line in _attestation(attestation)),
    ]


def _attestation(attestation: Attestation) -> list[str]:
    word = {"supported": "Supported", "limited": "Only in part"}.get(str(attestation.support), "NOT supported")
    proof = ", ".join(code(name) for name in attestation.proof)
    lines = [f"- **{word}** ({attestation.name}): {attestation.statement} Proof: {proof}"]
    return lines + [f"  {line}" for line in _listed([f"but: {code(text)}" for text in attestation.exceptions])]


def _listed(items: Sequence[str]) -> list[str]:
    more = [f"- and {len(items) - _LISTED} more: see `export_manifest.json`"] if len(items) > _LISTED else []
    return [f"- {item}" for item in items[:_LISTED]] + more
