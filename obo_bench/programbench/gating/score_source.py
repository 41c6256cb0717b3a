"""Finds out what a reference or baseline is, from its content, and reads its scores.

| what was named | recognised by | format |
|---|---|---|
| an evaluated run | `grade_summary.json` in the directory, or the file itself | `grade_summary` |
| a leaderboard entry | `_stats/score.json` in the directory, or the file itself | `score_json` |
| a directory of official evaluations | `<id>/<id>.eval.json` in it | `eval_json` |
| a table | a file that is not JSON | `csv` |
"""

import hashlib
import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.files import LARGEST_DOCUMENT
from obo_bench.core.peek import peek
from obo_bench.programbench import BENCHMARK
from obo_bench.programbench.evaluation.grade_summary import GRADE_SUMMARY_NAME
from obo_bench.programbench.evaluation.grading import grade_file
from obo_bench.programbench.evaluation.verdicts import Verdict
from obo_bench.programbench.gating.living_run import refuse_living
from obo_bench.programbench.gating.official_tasks import OfficialTasks
from obo_bench.programbench.gating.score_csv import parse_csv
from obo_bench.programbench.gating.score_grades import graded_task, parse_summary
from obo_bench.programbench.gating.score_stats import load_object, parse_stats
from obo_bench.programbench.gating.scores import InputFile, Score, ScoreTable, unreadable

STATS_FILE = Path("_stats", "score.json")
_SUMMARY_SCHEMA = "obo_bench.grade_summary.v1"


@dataclass(frozen=True)
class ScoreReader:
    """Reads the scores of the wanted tasks."""

    tasks: OfficialTasks
    """The benchmark."""
    wanted: Collection[str]
    """Ids of the tasks that are compared."""
    runs_root: Path | None = None
    """Where a run is looked for that was named by its id."""

    def read(self, role: str, named: str) -> ScoreTable:
        """Return the scores of what the option `--role` named.

        Raises PreflightRefused: `scores_unreadable`, or `run_locked` for a run that a process is at work on.
        """
        place = self._place(role, named)
        if not place.is_dir():
            return self._file(role, place)
        refuse_living(place)
        for file in (place / GRADE_SUMMARY_NAME, place / STATS_FILE):
            if file.exists():
                return self._file(role, file)
        return self._evaluations(role, place)

    def _place(self, role: str, named: str) -> Path:
        places = [Path(named).absolute()]
        if self.runs_root is not None and os.sep not in named:
            places.insert(0, self.runs_root / BENCHMARK / named)
        for place in places:
            if place.exists():
                return place
        what = "file or directory" if _is_path(named) else "file, directory or run"
        raise unreadable(role, named, f"there is no such {what}", looked=[str(place) for place in places])

    def _file(self, role: str, path: Path) -> ScoreTable:
        data = read_bounded(role, path)
        try:
            form, scores, absent = self._parsed(data)
        except (ValueError, RecursionError) as error:
            raise unreadable(role, path, _words(error)) from error
        return ScoreTable(InputFile(role, str(path), form, hashlib.sha256(data).hexdigest()), scores, absent)

    def _parsed(self, data: bytes) -> tuple[str, dict[str, Score], dict[str, str]]:
        if not data.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{"):
            return "csv", parse_csv(data, self.tasks.instances), {}
        document = load_object(data)
        if document.get("schema") == _SUMMARY_SCHEMA:
            return "grade_summary", *self._summary(data)
        return "score_json", parse_stats(document, self.tasks.instances, self.wanted, self.tasks.plan), {}

    def _summary(self, data: bytes) -> tuple[dict[str, Score], dict[str, str]]:
        rows = parse_summary(data).instances
        told = {iid: graded_task(rows[iid]) for iid in self.wanted if iid in rows}
        scores = {iid: task.score for iid, task in told.items() if task.score is not None}
        return scores, {iid: task.reason for iid, task in told.items() if task.score is None}

    def _evaluations(self, role: str, place: Path) -> ScoreTable:
        """Grade the official files of the wanted tasks; their digest is over lines `id sha256`, sorted by id."""
        scores: dict[str, Score] = {}
        absent: dict[str, str] = {}
        digest = hashlib.sha256()
        for iid in sorted(self.wanted):
            grade, sha256 = grade_file(place / iid / f"{iid}.eval.json", self.tasks.plan(iid))
            if grade.reason == "eval_json_missing":
                continue
            digest.update(f"{iid} {sha256}\n".encode())
            if grade.verdict is Verdict.UNGRADED:
                absent[iid] = grade.reason
            else:
                passed, failed, not_run = grade.passed or 0, grade.failed or 0, grade.not_run or 0
                scores[iid] = Score.of_counts(passed, passed + failed + not_run)
        if not scores and not absent:
            raise unreadable(
                role, place, f"there is neither {GRADE_SUMMARY_NAME}, {STATS_FILE} nor an eval.json of a listed task"
            )
        return ScoreTable(InputFile(role, str(place), "eval_json", digest.hexdigest()), scores, absent)


def _is_path(named: str) -> bool:
    """Say whether a name can only mean a file or a directory: no run is called so."""
    return os.sep in named or Path(named).suffix in (".json", ".csv")


def read_bounded(role: str, path: Path) -> bytes:
    """Return the bytes of a file that is not too large; raises PreflightRefused `scores_unreadable`."""
    try:
        data = peek(path, LARGEST_DOCUMENT + 1)
    except OSError as error:
        raise unreadable(role, path, f"it cannot be read: {error.strerror or error}") from error
    if len(data) > LARGEST_DOCUMENT:
        raise unreadable(role, path, f"it is larger than {LARGEST_DOCUMENT} bytes")
    return data


def _words(error: Exception) -> str:
    return str(error)[:500] or type(error).__name__
