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
    # codes that the package gives to faults of the results file, although it now ends with an exception there
    "empty_test_results": _OPEN,
    "xml_parse_error": _OPEN,
    # exceptions that made the evaluator give an instance up without a file: its own and its parser's
    "EvalStepError": _OPEN,
    "EmptyTestResultError": _OPEN,
    "XmlParseError": _OPEN,
    "JUnitXmlError": _OPEN,
    "ValidationError": _EVALUATOR,
    "RuntimeError": _OPEN,
    "RuntimeError: Failed to start container": _HOST,
    "RuntimeError: docker commit failed": _HOST,
    "RuntimeError: docker cp failed": _HOST,
    "RuntimeError: mkdir -p ": _HOST,
    "RuntimeError: Failed to blackhole DNS": _HOST,
    "RuntimeError: can't start new thread": _HOST,
    # the language's
    "AssertionError": _EVALUATOR,
    "AttributeError": _EVALUATOR,
    "KeyError": _EVALUATOR,
    "TypeError": _EVALUATOR,
    "IndexError": _OPEN,
    "ValueError": _OPEN,
    "UnicodeDecodeError": _SUBMISSION,
    "MemoryError": _HOST,
    "TimeoutExpired": _OPEN,
    "OSError": _HOST,
    "FileNotFoundError": _HOST,
    "FileExistsError": _HOST,
    "IsADirectoryError": _HOST,
    "NotADirectoryError": _HOST,
    "PermissionError": _HOST,
    "BlockingIOError": _HOST,
    "BrokenPipeError": _HOST,
    "InterruptedError": _HOST,
    "TimeoutError": _HOST,
    # the network's and the data set service's
    "ConnectionError": _HOST,
    "ConnectionRefusedError": _HOST,
    "ConnectionResetError": _HOST,
    "ConnectError": _HOST,
    "ConnectTimeout": _HOST,
    "ReadError": _HOST,
    "ReadTimeout": _HOST,
    "RemoteProtocolError": _HOST,
    "ProxyError": _HOST,
    "HfHubHTTPError": _HOST,
    "HFValidationError": _HOST,
    "LocalEntryNotFoundError": _HOST,
    "RemoteEntryNotFoundError": _HOST,
    "EntryNotFoundError": _HOST,
    "OfflineModeIsEnabled": _HOST,
    "RepositoryNotFoundError": _HOST,
    "RevisionNotFoundError": _HOST,
    "RevisionResolutionError": _HOST,
    "GatedRepoError": _HOST,
    "DisabledRepoError": _HOST,
    "BadRequestError": _HOST,
    "LocalTokenNotFoundError": _HOST,
    "IncompleteSnapshotError": _HOST,
    "CachedRepoTreeNotFoundError": _HOST,
    "CorruptedCacheException": _HOST,
    "FileMetadataError": _HOST,
    "XetDownloadError": _HOST,
    "DryRunError": _EVALUATOR,
    # no official word at all
    "no_submission": _OPEN,
    "submission_missing": _OPEN,
    "submission_changed": _OPEN,
    "submission_corrupt": _SUBMISSION,
    "image_not_pinned": _HOST,
    "image_changed": _HOST,
    "tests_changed": _HOST,
    "not_evaluated": _OPEN,
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

FAILED_BUILDS = frozenset({"compile_failed", "copy_executable_failed", "hash_executable_failed"})
"""The only codes of an instance that are a verdict: its tests cannot run for want of a program."""
MISSING_TEST = "missing_from_junit_xml"
"""The only code of a test without a result that is a verdict."""

_MAX_CODE_LENGTH = 80


def ruling_for(code: str, message: str = "") -> tuple[str, Ruling]:
    """Return the reason to record for an official code and its ruling.

    `message` is the evaluator's own text of an exception; it can refine the blame, never the verdict.
    """
    if code not in RULINGS:
        return _unknown(code)
    full = f"{code}: {message}"
    refined = [ruling for key, ruling in RULINGS.items() if ": " in key and full.startswith(key)]
    return code, refined[0] if refined else RULINGS[code]


def ruling_without_verdict(code: str) -> tuple[str, Ruling]:
    """Return the same for a code in a place where none is a verdict: what is one elsewhere is unknown there."""
    reason, ruling = ruling_for(code)
    return (reason, ruling) if ruling.verdict is Verdict.UNGRADED else _unknown(code)


def _unknown(code: str) -> tuple[str, Ruling]:
    shown = "".join(c if c.isprintable() else "?" for c in code[:_MAX_CODE_LENGTH])
    return f"unknown_error_code:{shown}", _OPEN
