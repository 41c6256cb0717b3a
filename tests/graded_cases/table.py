"""The proof table: one line per case."""

from collections.abc import Iterable

from tests.graded_cases.cases import CASES
from tests.graded_cases.evaluating import Rows


def table(rows: Rows, reproduced: Iterable[str]) -> str:
    """Return what came of each case; `reproduced` are the instance ids that were not replayed."""
    really = set(reproduced)
    lines = [("case", "verdict", "reason", "blame", "official score", "")]
    for case in CASES:
        row = rows[case.instance_id]
        score = "none" if row.official_score is None else f"{row.official_score:.3f}"
        how = "reproduced" if case.instance_id in really else "replayed"
        lines.append((case.name, str(row.verdict), row.reason, str(row.blame or "nobody"), score, how))
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    padded = ("  ".join(f"{word:<{width}}" for word, width in zip(line, widths, strict=True)) for line in lines)
    return "\n".join(line.rstrip() for line in padded)
