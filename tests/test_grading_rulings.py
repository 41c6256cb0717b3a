"""The table of rulings against the source of the installed official package: a new code there fails a test here."""

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import pytest

from obo_bench.programbench.evaluation.grading import RecordedEvaluation as Recorded
from obo_bench.programbench.evaluation.grading import grade, scoring_plan, ungraded
from obo_bench.programbench.evaluation.verdicts import RULINGS, Blame, Verdict, ruling_for
from tests.eval_samples import FAIL, ONE_BRANCH, PASS, UNGRADED, document

Trees = list[ast.Module]


@pytest.fixture(scope="module")
def sources() -> Trees:
    """Return the parsed modules that take part in an evaluation."""
    import programbench.container
    import programbench.eval.eval
    import programbench.exceptions
    import programbench.utils.blob_store

    modules = [programbench.container, programbench.exceptions]
    top = [Path(module.__file__ or "") for module in modules]
    for package in (programbench.eval.eval, programbench.utils.blob_store):
        top += sorted(Path(package.__file__ or "").parent.glob("*.py"))
    return [ast.parse(path.read_text(encoding="utf-8")) for path in top]


def calls(trees: Trees) -> Iterator[tuple[str, ast.Call]]:
    """Yield every call with the last part of the called name."""
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                yield ast.unparse(node.func).rpartition(".")[2], node


def words(node: ast.AST | None) -> set[str]:
    """Return the string constants of an expression that look like codes."""
    found = (
        {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)} if node else set()
    )
    return {word for word in found if word.isidentifier() and word[0].isalpha()}


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    return next((k.value for k in call.keywords if k.arg == name), None)


def step_codes(trees: Trees) -> set[str]:
    """Return `<step>_failed` of the steps whose failure is not accepted."""
    steps: set[str] = set()
    for name, call in calls(trees):
        accepted = keyword(call, "accept_failure")
        if name in ("_run_step", "_copy_file_from_container") and not (
            isinstance(accepted, ast.Constant) and accepted.value is True
        ):
            steps |= words(keyword(call, "step_name"))
    return {f"{step}_failed" for step in steps}


def literal_codes(trees: Trees) -> set[str]:
    """Return the codes that stand in the source as such."""
    codes: set[str] = set()
    for name, call in calls(trees):
        if name in ("EvalStepError", "__init__") and call.args:
            codes |= words(call.args[0])
        if name in ("_add_branch_error", "_inject_not_run") and len(call.args) > 1:
            codes |= words(call.args[1])
        codes |= words(keyword(call, "error_code"))
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Dict):
                for key, value in zip(node.keys, node.values, strict=True):
                    codes |= words(value) if key is not None and "error_code" in words(key) else set()
    return codes - {"error_code"}


def is_exception(name: str) -> bool:
    return name.endswith(("Error", "Exception"))


def exception_names(trees: Trees) -> set[str]:
    """Return the exceptions that are raised, defined or asserted, and the one of a call with a time limit."""
    names: set[str] = set()
    for tree in trees:
        for node in ast.walk(tree):
            if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
                names.add(ast.unparse(node.exc.func).rpartition(".")[2])
            elif isinstance(node, ast.ClassDef) and any(is_exception(ast.unparse(base)) for base in node.bases):
                names.add(node.name)
            elif isinstance(node, ast.Assert):
                names.add("AssertionError")
            elif isinstance(node, ast.keyword) and node.arg == "timeout":
                names.add("TimeoutExpired")
    return names


def test_the_table_knows_every_code_of_the_package(sources: Trees) -> None:
    codes = step_codes(sources) | literal_codes(sources)
    assert {"compile_failed", "results_read_failed", "executable_hash_mismatch", "no_submission"} <= codes
    assert {"missing_from_junit_xml", "no_expected_test_list", "xml_parse_error"} <= codes
    assert "install_rerunfailures_failed" not in codes, "its failure is accepted"
    assert codes <= set(RULINGS), "the package has codes without a ruling"


def test_the_table_knows_every_exception_of_the_package(sources: Trees) -> None:
    names = exception_names(sources)
    assert {"RuntimeError", "TimeoutExpired", "XmlParseError", "EvalStepError", "AssertionError"} <= names
    assert names <= set(RULINGS), "the package raises exceptions without a ruling"


def test_the_table_knows_the_exceptions_of_the_data_set_service_and_the_parser() -> None:
    import huggingface_hub
    import junitparser.junitparser

    things = (inspect.unwrap(huggingface_hub.snapshot_download), junitparser.junitparser)
    files = [Path(str(inspect.getsourcefile(thing))) for thing in things]
    names = exception_names([ast.parse(file.read_text(encoding="utf-8")) for file in files])
    assert {"LocalEntryNotFoundError", "JUnitXmlError", "ValueError"} <= names
    assert names - {"TimeoutExpired"} <= set(RULINGS)


BEFORE_THE_TESTS = {
    "compile_failed": (FAIL, Blame.SUBMISSION),
    "copy_executable_failed": (FAIL, Blame.SUBMISSION),
    "hash_executable_failed": (FAIL, Blame.SUBMISSION),
    "seed_git_failed": (UNGRADED, Blame.UNKNOWN),
    "wipe_workspace_failed": (UNGRADED, Blame.HOST),
    "clear_stale_executable_failed": (UNGRADED, Blame.UNKNOWN),
    "no_submission": (UNGRADED, Blame.UNKNOWN),
}
"""All that can stand in the file's own error_code, or in the table for an instance without a file."""


@pytest.mark.parametrize("code", BEFORE_THE_TESTS)
def test_a_code_of_the_instance_is_ruled_as_designed_and_keeps_the_official_number(code: str) -> None:
    graded = grade(Recorded.model_validate(document(error_code=code)), scoring_plan(ONE_BRANCH))
    assert (graded.verdict, graded.reason, graded.blame) == (BEFORE_THE_TESTS[code][0], code, BEFORE_THE_TESTS[code][1])
    assert graded.official_score == 1.0
    assert graded.score == (1.0 if graded.verdict is FAIL else None)


def test_the_codes_of_the_instance_are_exactly_those_before_the_first_branch(sources: Trees) -> None:
    branch_steps = ("restore_", "verify_", "clean_stale_", "install_pytest_", "results_read")
    codes = {code for code in step_codes(sources) if not code.startswith(branch_steps)}
    assert codes | {"no_submission"} == set(BEFORE_THE_TESTS)


@pytest.mark.parametrize("code", [code for code in RULINGS if not code[0].isupper()] + ["never_heard_of"])
def test_any_branch_error_leaves_the_instance_ungraded_and_keeps_the_official_number(code: str) -> None:
    errors = {"33128f6b8600": [{"error_code": code, "error_details": ""}]}
    graded = grade(Recorded.model_validate(document(test_branch_errors=errors)), scoring_plan(ONE_BRANCH))
    assert (graded.verdict, graded.score, graded.official_score) == (UNGRADED, None, 1.0)
    known = code in RULINGS and RULINGS[code].verdict is UNGRADED
    assert graded.reason == (code if known else f"unknown_error_code:{code}"), "a verdict elsewhere is none here"
    assert graded.blame is not None


def test_no_exception_is_ever_a_verdict() -> None:
    exceptions = [code for code in RULINGS if code[0].isupper()]
    assert "XmlParseError" in exceptions
    assert {ruling_for(code)[1].verdict for code in exceptions} == {UNGRADED}
    assert {ungraded(code).verdict for code in RULINGS} == {UNGRADED}


def test_only_a_full_official_score_passes() -> None:
    assert {code for code, ruling in RULINGS.items() if ruling.verdict is PASS} == {"all_tests_passed"}
    failing = {code for code, ruling in RULINGS.items() if ruling.verdict is FAIL}
    designed = {code for code, (verdict, _) in BEFORE_THE_TESTS.items() if verdict is Verdict.FAIL}
    assert failing == designed | {"tests_failed", "missing_from_junit_xml"}


def test_an_unknown_code_is_ungraded_under_its_name() -> None:
    recorded = Recorded.model_validate(document(error_code="moon_phase_failed\x1b[2J" + "x" * 200))
    graded = grade(recorded, scoring_plan(ONE_BRANCH))
    assert (graded.verdict, graded.score, graded.official_score) == (UNGRADED, None, 1.0)
    assert graded.reason.startswith("unknown_error_code:moon_phase_failed?[2Jxxx")
    assert len(graded.reason) < 120
