"""No grade from a failed, foreign or stale evaluation: attacks on what our evaluation believes."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from obo_bench.programbench.evaluation.eval_files import provenance_path
from obo_bench.programbench.evaluation.grade_summary import InstanceGrade
from tests.eval_samples import sample
from tests.graded_cases.cases import BY_NAME
from tests.graded_cases.evaluating import evaluate, pack
from tests.graded_cases.replay import SOURCE, put_stale, write_package

IID = BY_NAME["correct"].instance_id
OTHER = BY_NAME["incorrect"].instance_id
DEAD = "raise SystemExit(1)"
GIVES_UP = 'print(f" {iid}      0  ERROR: RuntimeError ")'
WRITES = 'shutil.copy(records / f"{iid}.eval.json", result)'

_MAIN = """import os, re, shutil, sys, time
from pathlib import Path

def app(prog_name):
    if sys.argv[1] != "eval":
        return
    records, run_root = Path(__file__).parent.parent / "records", Path(sys.argv[2])
    chosen = re.compile(sys.argv[sys.argv.index("--filter") + 1])
    for archive in sorted(run_root.glob("*/submission.tar.gz")):
        iid = archive.parent.name
        result = archive.parent / f"{iid}.eval.json"
        if chosen.match(iid):
{body}
"""


class Attack:
    """A run root with a submission, and an evaluator that does what the test says."""

    def __init__(self, work: Path) -> None:
        self.environ = write_package(work / "package")
        self._main = work / "package" / "programbench" / "cli" / "main.py"
        self.run_root = work / "run"
        self.shas: dict[str, str | None] = {IID: pack(self.run_root, IID, SOURCE)}
        self.invocation = 0
        self.evaluator(WRITES)

    def evaluator(self, *body: str) -> None:
        """Let the evaluator do this for every instance: it knows `iid`, `archive`, `result` and `records`."""
        lines = "\n".join(" " * 12 + line for line in body)
        self._main.write_text(_MAIN.replace("{body}", lines), encoding="utf-8")

    def evaluate(self, **changes: Any) -> InstanceGrade:
        """Evaluate and return the row of the instance that is correct."""
        self.invocation += 1
        return evaluate(self.run_root, self.environ, self.shas, invocation=f"inv-{self.invocation}", **changes)[IID]

    def submit_other(self) -> None:
        """Add another instance, whose record is a failure; it is evaluated first."""
        self.shas = {OTHER: pack(self.run_root, OTHER, SOURCE), **self.shas}

    def result(self, iid: str = IID) -> Path:
        return self.run_root / iid / f"{iid}.eval.json"

    def aside(self) -> list[str]:
        """Return the results that were set aside."""
        found = self.run_root.glob("eval/stale/*/*.eval.json")
        return [path.name for path in found if path.name == self.result().name]


@pytest.fixture
def attack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Attack:
    # There is no engine here that could still be at work.
    monkeypatch.setattr("obo_bench.programbench.evaluation.instance_evaluation._QUIET_AFTER_KILL_SEC", 0.0)
    return Attack(tmp_path)


def refused(row: InstanceGrade) -> str:
    """Return the reason of a row that must carry no verdict and no official number."""
    assert (row.verdict, row.score, row.official_score) == ("ungraded", None, None)
    return row.reason


def test_an_honest_evaluator_is_believed(attack: Attack) -> None:
    row = attack.evaluate()
    assert (row.verdict, row.score, row.official_score) == ("pass", 1.0, 1.0)
    assert provenance_path(attack.run_root, IID).is_file()
    assert attack.aside() == []


@pytest.mark.parametrize("skew", [-60 * 365 * 86400, 0, 60 * 365 * 86400])
@pytest.mark.parametrize("ending", [DEAD, GIVES_UP, "pass"])
def test_an_old_result_of_any_age_is_never_taken_for_a_new_one(attack: Attack, skew: int, ending: str) -> None:
    put_stale(attack.run_root, IID)
    os.utime(attack.result(), (2e9 + skew, 2e9 + skew))
    attack.evaluator(ending)
    reasons = {DEAD: "evaluator_failed", GIVES_UP: "RuntimeError", "pass": "eval_json_missing"}
    assert refused(attack.evaluate()) == reasons[ending]
    assert attack.aside() == [attack.result().name]


@pytest.mark.parametrize("skew", [-60 * 365 * 86400, 60 * 365 * 86400])
def test_the_clock_decides_nothing(attack: Attack, skew: int) -> None:
    attack.evaluator(WRITES, f"os.utime(result, (2e9 + {skew}, 2e9 + {skew}))")
    assert attack.evaluate().verdict == "pass"
    attack.evaluator(DEAD)
    assert attack.evaluate().verdict == "pass", "the proven result is kept"


def test_force_with_a_dead_evaluator_does_not_fall_back_to_the_old_result(attack: Attack) -> None:
    assert attack.evaluate().verdict == "pass"
    attack.evaluator(GIVES_UP)
    assert refused(attack.evaluate(force=True)) == "RuntimeError"
    assert attack.aside() == [attack.result().name]
    assert not attack.result().exists()


SWAPS = {
    "replaced": 'archive.with_name("new").write_bytes(b"other"); os.replace(archive.with_name("new"), archive)',
    "written to": 'archive.open("ab").write(b"more")',
    "removed": "archive.unlink()",
    "replaced and put back": (
        'shutil.move(archive, archive.with_name("kept")); archive.write_bytes(b"other"); '
        'archive.unlink(); shutil.copyfile(archive.with_name("kept"), archive)'
    ),
}


@pytest.mark.parametrize("swap", SWAPS)
def test_an_archive_that_changes_while_it_is_evaluated_gets_no_grade(attack: Attack, swap: str) -> None:
    attack.evaluator(WRITES, SWAPS[swap])
    assert refused(attack.evaluate()) == ("submission_missing" if swap == "removed" else "submission_changed")
    assert attack.aside() == [attack.result().name]
    assert not provenance_path(attack.run_root, IID).exists()


def test_an_archive_that_changes_in_the_queue_is_not_evaluated(attack: Attack) -> None:
    attack.submit_other()
    attack.evaluator(f'if iid == "{OTHER}": (archive.parent.parent / "{IID}" / archive.name).unlink()', WRITES)
    row = attack.evaluate(workers=1)
    assert (refused(row), row.attempts) == ("submission_missing", 0)


def test_an_archive_that_is_replaced_after_its_grade_loses_it(attack: Attack) -> None:
    assert attack.evaluate().verdict == "pass"
    pack(attack.run_root, IID, SOURCE | {"./more": (b"", 0o644)})
    assert refused(attack.evaluate()) == "submission_changed"
    assert attack.aside() == [attack.result().name]


def test_another_archive_on_record_does_not_inherit_the_grade(attack: Attack) -> None:
    assert attack.evaluate().verdict == "pass"
    attack.shas[IID] = pack(attack.run_root, IID, SOURCE | {"./more": (b"", 0o644)})
    attack.evaluator(DEAD)
    assert refused(attack.evaluate()) == "evaluator_failed"


def edit_result(attack: Attack) -> None:
    path = attack.result()
    path.write_text(path.read_text(encoding="utf-8").replace('"warnings": []', '"warnings": [""]'), encoding="utf-8")


def swap_results(attack: Attack) -> None:
    """Take both the result and its proof from another instance."""
    shutil.copy(attack.result(OTHER), attack.result())
    shutil.copy(provenance_path(attack.run_root, OTHER), provenance_path(attack.run_root, IID))


def edit_tests(attack: Attack) -> None:
    package = Path(attack.environ["PYTHONPATH"]) / "programbench"
    path = package / "data" / "tasks" / IID / "tests.json"
    path.write_text(path.read_text(encoding="utf-8") + " ", encoding="utf-8")


def test_tests_that_change_while_they_run_make_no_grade(attack: Attack) -> None:
    tests = 'records.parent / "data" / "tasks" / iid / "tests.json"'
    attack.evaluator(WRITES, f'({tests}).open("a").write(" ")')
    assert refused(attack.evaluate()) == "tests_changed"
    assert attack.aside() == [attack.result().name]


def drop_proof(attack: Attack) -> None:
    provenance_path(attack.run_root, IID).unlink()


def damage_proof(attack: Attack) -> None:
    provenance_path(attack.run_root, IID).write_bytes(b"{")


def other_version(attack: Attack) -> None:
    package = Path(attack.environ["PYTHONPATH"]) / "programbench"
    (package / "__init__.py").write_text('__version__ = "9.9.99"\n', encoding="utf-8")


@pytest.mark.parametrize(
    "forge", [edit_result, swap_results, edit_tests, drop_proof, damage_proof, other_version], ids=lambda f: f.__name__
)
def test_a_result_that_is_not_proven_is_evaluated_again(attack: Attack, forge: Callable[[Attack], None]) -> None:
    attack.submit_other()
    assert attack.evaluate().verdict == "pass"
    forge(attack)
    attack.evaluator(DEAD)
    assert refused(attack.evaluate()) == "evaluator_failed"
    assert attack.aside() == [attack.result().name]
    attack.evaluator(WRITES)
    again = attack.evaluate()
    assert (again.verdict, again.attempts) == ("pass", 3)


def test_a_result_of_an_instance_that_the_evaluator_gave_up_is_somebody_elses(attack: Attack) -> None:
    attack.evaluator(WRITES, GIVES_UP)
    assert refused(attack.evaluate()) == "RuntimeError"
    assert attack.aside() == [attack.result().name]


def test_a_result_that_says_another_code_than_the_evaluator_is_somebody_elses(attack: Attack) -> None:
    attack.evaluator(WRITES, GIVES_UP.replace("RuntimeError", "compile_failed"))
    assert refused(attack.evaluate()) == "compile_failed"


@pytest.mark.parametrize("content", ['b"{"', 'b"{}x"', 'b""', 'b"\\xff"'])
def test_half_a_result_is_no_result(attack: Attack, content: str) -> None:
    attack.evaluator(f"result.write_bytes({content})")
    assert refused(attack.evaluate()) == "eval_json_unreadable"


def test_a_later_failure_does_not_take_proven_grades_away(attack: Attack) -> None:
    attack.submit_other()
    assert attack.evaluate().verdict == "pass"
    drop_proof(attack)
    attack.evaluator(DEAD)
    attack.evaluate()
    summary = json.loads((attack.run_root / "grade_summary.json").read_text(encoding="utf-8"))
    assert summary["evaluation_status"] == "evaluator_failed"
    assert summary["instances"][OTHER]["verdict"] == "fail"
    assert (summary["pass"], summary["fail"], summary["ungraded"]) == (0, 1, 1)
    assert attack.result(OTHER).read_bytes() == sample("incorrect").read_bytes()
