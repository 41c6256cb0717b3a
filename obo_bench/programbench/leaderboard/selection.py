"""Which instances have an official result that is proven to belong to the archive in the directory."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.files import sha256_file
from obo_bench.programbench.evaluation.eval_files import EvalProvenance, proven
from obo_bench.programbench.evaluation.grade_summary import FIXTURE_PREFIX, InstanceGrade
from obo_bench.programbench.evaluation.verdicts import Verdict
from obo_bench.programbench.leaderboard.result import LeftOut
from obo_bench.programbench.leaderboard.source import InstanceRecord, RunRecord
from obo_bench.programbench.paths import InstancePaths


@dataclass(frozen=True)
class Graded:
    """An instance with a proven result."""

    instance_id: str
    """The instance."""
    sha256: str
    """Hash of its archive."""
    grade: InstanceGrade
    """Its row of the summary."""
    proof: EvalProvenance
    """What its eval.json was made from."""

    def tasks(self, record: InstanceRecord) -> int:
        """Return how many tasks the server was given for it."""
        return self.grade.account.solve_attempts if self.grade.account else len(record.attempts)


def select_graded(record: RunRecord, dest: Path) -> tuple[list[Graded], list[LeftOut]]:
    """Judge every instance of the record by the archive that lies in `dest`; raises OSError when it is unreadable."""
    judged = [_judge(record, dest, iid) for iid in record.instances]
    return [j for j in judged if isinstance(j, Graded)], [j for j in judged if isinstance(j, LeftOut)]


def graded_directories(dest: Path) -> Iterator[str]:
    """Yield what the official package would take for the result of an instance: each `<name>/<name>.eval.json`."""
    for directory in sorted(dest.iterdir()):
        if (directory / f"{directory.name}.eval.json").exists():
            yield directory.name


def _judge(record: RunRecord, dest: Path, iid: str) -> Graded | LeftOut:
    archive = InstancePaths(dest, iid).submission
    if iid.startswith(FIXTURE_PREFIX):
        return LeftOut(
            instance_id=iid, reason="not_a_benchmark_instance", detail="it is the package's own test fixture"
        )
    if not archive.is_file():
        return LeftOut(instance_id=iid, reason="submission_missing", detail="the run has no archive of it")
    grade = record.summary.instances.get(iid) if record.summary is not None else None
    if grade is None or grade.verdict not in (Verdict.PASS, Verdict.FAIL):
        why = grade.reason if grade is not None else "the run's grade_summary.json does not speak of it"
        return LeftOut(instance_id=iid, reason="ungraded", detail=why)
    return _held_against(record.root, iid, grade, sha256_file(archive))


def _held_against(root: Path, iid: str, grade: InstanceGrade, sha256: str) -> Graded | LeftOut:
    if grade.submission_sha256 != sha256:
        detail = f"graded was {grade.submission_sha256}, the archive is {sha256}"
        return LeftOut(instance_id=iid, reason="grade_of_another_archive", detail=detail)
    expected = {
        "submission_sha256": sha256,
        "evaluator_version": str(grade.evaluator_version),
        "tests_digest": str(grade.tests_digest),
    }
    proof = proven(root, iid, expected)
    if proof is None:
        detail = "its eval.json is not the file that our evaluator wrote for this archive: evaluate the run again"
        return LeftOut(instance_id=iid, reason="grade_not_proven", detail=detail)
    return Graded(iid, sha256, grade, proof)
