"""Recorded official results (without their logs), the tests they belong to, and what each says by itself."""

import json
from pathlib import Path
from typing import Any

from obo_bench.programbench.evaluation.verdicts import Blame, Verdict

DATA = Path(__file__).parent / "data" / "eval"
INSTANCE = "testorg__calculator.abc1234"
"""The instance of the records."""

BASIC = [f"tests.test_calculator.test_{name}" for name in ("addition", "subtraction", "multiplication")]
DIVISION = [
    f"tests.test_division.test_{name}"
    for name in ("quotient", "remainder", "division_by_zero", "bad_call", "always_fails")
]
ONE_BRANCH: dict[str, Any] = {"branches": {"33128f6b8600": {"ignored": False, "tests": BASIC, "ignored_tests": []}}}
TWO_BRANCHES: dict[str, Any] = {
    "branches": {
        **ONE_BRANCH["branches"],
        "d1d1d1d1d1d1": {"ignored": False, "tests": DIVISION, "ignored_tests": [{"name": DIVISION[-1]}]},
    }
}
ONE_IGNORED: dict[str, Any] = {
    "branches": {**ONE_BRANCH["branches"], "d1d1d1d1d1d1": {"ignored": True, "tests": DIVISION}}
}

FAIL, PASS, UNGRADED = Verdict.FAIL, Verdict.PASS, Verdict.UNGRADED
SAMPLES = {
    "correct": (PASS, "all_tests_passed", None, 1.0),
    "killed-then-rerun": (PASS, "all_tests_passed", None, 1.0),
    "two-branches": (PASS, "all_tests_passed", None, 1.0),
    "incorrect": (FAIL, "tests_failed", Blame.SUBMISSION, 1 / 3),
    "shipped-tests-unchanged": (FAIL, "missing_from_junit_xml", Blame.UNKNOWN, 0.5),
    "compile-failed": (FAIL, "compile_failed", Blame.SUBMISSION, 0.0),
    "compile-missing": (FAIL, "compile_failed", Blame.SUBMISSION, 0.0),
    "compile-timeout": (FAIL, "compile_failed", Blame.SUBMISSION, 0.0),
    "original-binary-reused": (FAIL, "compile_failed", Blame.SUBMISSION, 0.0),
    "executable-missing": (FAIL, "copy_executable_failed", Blame.SUBMISSION, 0.0),
    "executable-relative-symlink": (FAIL, "hash_executable_failed", Blame.SUBMISSION, 0.0),
    "interrupted-group": (FAIL, "copy_executable_failed", Blame.SUBMISSION, 0.0),
    "owner-not-root-no-git": (UNGRADED, "seed_git_failed", Blame.UNKNOWN, None),
    "no-top-entry": (UNGRADED, "seed_git_failed", Blame.UNKNOWN, None),
    "results-missing": (UNGRADED, "results_read_failed", Blame.UNKNOWN, None),
}
"""Verdict, reason, blame and score; that the interrupted one is not to be believed is the evaluator's business."""


def sample(name: str) -> Path:
    """Return the file of a record."""
    return DATA / f"{name}.eval.json"


def plan_of(name: str) -> dict[str, Any]:
    """Return the parsed tests.json that a record belongs to."""
    return TWO_BRANCHES if name == "two-branches" else ONE_BRANCH


def document(name: str = "correct", **changes: Any) -> dict[str, Any]:
    """Return a record with other values in some of its fields."""
    recorded: dict[str, Any] = json.loads(sample(name).read_text(encoding="utf-8"))
    return recorded | changes
