"""What every code of the official evaluator means for a grade: one table, so that no fault is scored by accident.

A code that is not in the table leaves its instance ungraded under `unknown_error_code:<code>`.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Verdict(StrEnum):
    """How an instance ended."""

    PASS = "pass"
    FAIL = "fail"
    UNGRADED = "ungraded"


class Blame(StrEnum):
    """Who kept an instance from passing."""

    SUBMISSION = "submission"
    EVALUATOR = "evaluator"
    HOST = "host"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Ruling:
    """What a code does to the grade."""

    verdict: Verdict
    """The state of the instance."""
    blame: Blame | None
    """Who is at fault; None where nobody is."""


_FAILS = Ruling(Verdict.FAIL, Blame.SUBMISSION)
_HOST = Ruling(Verdict.UNGRADED, Blame.HOST)
_EVALUATOR = Ruling(Verdict.UNGRADED, Blame.EVALUATOR)
_SUBMISSION = Ruling(Verdict.UNGRADED, Blame.SUBMISSION)
_OPEN = Ruling(Verdict.UNGRADED, Blame.UNKNOWN)

RULINGS: Mapping[str, Ruling] = {
    # the official verdict, by its score
    "all_tests_passed": Ruling(Verdict.PASS, None),
    "tests_failed": _FAILS,
    # error_code of the instance
    "compile_failed": _FAILS,
    "copy_executable_failed": _FAILS,
    "hash_executable_failed": _FAILS,
    "wipe_workspace_failed": _HOST,
    "clear_stale_executable_failed": _OPEN,
    "seed_git_failed": _OPEN,
    # error_code of a branch
    "restore_executable_failed": _OPEN,
    "verify_executable_hash_failed": _OPEN,
    "executable_hash_mismatch": _OPEN,
    "no_executable_hash": _EVALUATOR,
    "clean_stale_results_failed": _HOST,
    "install_pytest_timeout_retry_failed": _HOST,
    "results_read_failed": _OPEN,
    "no_expected_test_list": _EVALUATOR,
    "no_results_in_log": _EVALUATOR,
    # why a single test has no result although its branch was read
    "missing_from_junit_xml": Ruling(Verdict.FAIL, Blame.UNKNOWN),
    # exceptions that made the evaluator give an instance up without a file
    "RuntimeError": _OPEN,
    "RuntimeError: Failed to start container": _HOST,
    "RuntimeError: docker commit failed": _HOST,
    "RuntimeError: docker cp failed": _HOST,
    "RuntimeError: Failed to blackhole DNS": _HOST,
    "FileNotFoundError": _HOST,
    "AssertionError": _EVALUATOR,
    "TimeoutExpired": _HOST,
    "UnicodeDecodeError": _SUBMISSION,
    "EmptyTestResultError": _OPEN,
    "XmlParseError": _OPEN,
    "ValidationError": _EVALUATOR,
    "LocalEntryNotFoundError": _HOST,
    "OfflineModeIsEnabled": _HOST,
    "HfHubHTTPError": _HOST,
    "RepositoryNotFoundError": _HOST,
    "RevisionNotFoundError": _HOST,
    "GatedRepoError": _HOST,
    "ConnectError": _HOST,
    "ConnectionError": _HOST,
    "OSError": _HOST,
    "PermissionError": _HOST,
    # no official word at all
    "no_submission": _OPEN,
    "submission_missing": _OPEN,
    "submission_changed": _OPEN,
    "unknown_to_evaluator": _EVALUATOR,
    "eval_json_missing": _EVALUATOR,
    "eval_json_unreadable": _EVALUATOR,
    "eval_json_too_large": _EVALUATOR,
    "incomplete_branches": _EVALUATOR,
    "no_tests_recorded": _EVALUATOR,
    "evaluator_container_lost": _HOST,
    "evaluator_unavailable": _HOST,
    "evaluator_failed": _EVALUATOR,
    "evaluator_timed_out": _OPEN,
    "evaluator_interrupted": _HOST,
}
"""Every reason of a grade; `Exception: text` rules over `Exception` where the evaluator's message begins so."""

_MAX_CODE_LENGTH = 80


def ruling_for(code: str, message: str = "") -> tuple[str, Ruling]:
    """Return the reason to record for an official code and its ruling.

    `message` is the evaluator's own text of an exception; it can refine the blame, never the verdict.
    """
    if code not in RULINGS:
        shown = "".join(c if c.isprintable() else "?" for c in code[:_MAX_CODE_LENGTH])
        return f"unknown_error_code:{shown}", _OPEN
    full = f"{code}: {message}"
    refined = [ruling for key, ruling in RULINGS.items() if ": " in key and full.startswith(key)]
    return code, refined[0] if refined else RULINGS[code]
