"""The table of row reasons is whole: it holds each code that the code can put into a row, and no other."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import obo_bench
from obo_bench.core.refusal_reasons import REASONS
from obo_bench.gateway.settlement import SettledBy
from obo_bench.programbench.row_reasons import NO_ROW, ROW_REASONS, SERVER_INFRASTRUCTURE, SERVER_OTHER, Resume, explain
from obo_bench.programbench.solving.endings import PERMANENT, REATTACHABLE

PACKAGE = Path(obo_bench.__file__).parent
ARGUMENT = {
    "append_row": 3, "repeat_row": 3, "_repeated": 3, "row": 1, "failed": 0, "not_attempted": 0,
    "halt": 0, "close_admission": 0, "NotReady": 0, "Blocked": 0, "ImageUnavailable": 0, "NotTransferred": 0,
    "reason_of": 2,
}  # fmt: skip
"""Where each function that ends in a row takes its reason."""
KEYS = ("reason_code", "reason")
RETURNING = {"pull_failure", "reason_of", "_ending", "_reason_of"}
"""Functions that return one."""
WRITERS = ("programbench/solving", "programbench/preparing", "programbench/exporting", "programbench/leftovers")
ONLY_AT_THE_SERVER = {"task_not_completed"}
"""What `judge` says where the server gives no code."""
WITHOUT_A_ROW = {NO_ROW}
"""Of an instance that no row tells of."""


@cache
def trees() -> dict[Path, ast.Module]:
    found = [*PACKAGE.glob("programbench/**/*.py"), *PACKAGE.glob("engine/*.py"), *PACKAGE.glob("gateway/*.py")]
    return {path: ast.parse(path.read_text("utf-8")) for path in found}


@cache
def constants() -> dict[str, str]:
    return {
        node.targets[0].id: node.value.value
        for tree in trees().values()
        for node in tree.body
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }


def words(value: ast.expr | None) -> Iterator[str]:
    """Every text that an expression may be: itself, a constant's, one side of an `or` or of a condition."""
    match value:
        case ast.Constant(value=str(text)):
            yield text
        case ast.Name(id=name) if name in constants():
            yield constants()[name]
        case ast.BoolOp(values=parts) | ast.Tuple(elts=parts):
            for part in parts:
                yield from words(part)
        case ast.IfExp(body=one, orelse=other):
            yield from words(one)
            yield from words(other)


def codes_of(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=arguments):
            place = ARGUMENT.get(name, len(arguments))
            yield from words(arguments[place] if place < len(arguments) else None)
            for keyword in node.keywords:
                yield from words(keyword.value) if keyword.arg in KEYS else ()
        case ast.Dict(keys=keys, values=values):
            for key, value in zip(keys, values, strict=True):
                yield from words(value) if isinstance(key, ast.Constant) and key.value in KEYS else ()
        case ast.Assign(targets=[ast.Name(id="reason")], value=value):
            yield from words(value)
        case ast.FunctionDef(name=name) if name in RETURNING:
            for inner in ast.walk(node):
                yield from words(inner.value) if isinstance(inner, ast.Return) else ()


def codes_in_the_code() -> set[str]:
    nodes = (node for path, tree in trees().items() if writes_rows(path) for node in ast.walk(tree))
    found = {code for node in nodes for code in codes_of(node)}
    statuses = {"completed", "failed", "skipped", "blocked", "copied", ""}
    return (
        (found - statuses)
        | {str(end) for end in SettledBy if end is not SettledBy.FINAL}
        | ONLY_AT_THE_SERVER
        | WITHOUT_A_ROW
    )


def writes_rows(path: Path) -> bool:
    place = path.relative_to(PACKAGE).as_posix()
    return place.startswith(WRITERS) or place in ("programbench/rows.py", "programbench/run.py", "engine/images.py")


def test_the_table_holds_each_reason_that_a_row_can_carry_and_no_other() -> None:
    found = codes_in_the_code()
    assert {"submission_prepared", "image_pull_failed", "hash_differs", "superseded", "executor_lost"} <= found
    refused = {code for code in found if code in REASONS and code not in ROW_REASONS}
    assert refused == set()
    assert sorted(found - set(ROW_REASONS)) == []
    assert sorted(set(ROW_REASONS) - found) == []


@pytest.mark.parametrize("code", sorted(ROW_REASONS))
def test_a_reason_tells_what_the_state_machine_does(code: str) -> None:
    reason = ROW_REASONS[code]
    assert explain(code) is reason
    assert reason.meaning
    assert (code in REATTACHABLE) == (reason.resume in (Resume.GOES_ON, Resume.BLOCKED))
    if code in PERMANENT:
        assert reason.resume is Resume.KEEPS


def test_codes_of_the_server_and_of_the_gates_are_explained_too() -> None:
    assert explain("provider_unavailable") is explain("worker_crash_signal") is SERVER_INFRASTRUCTURE
    assert explain("empty_final_text") is explain("a_word_of_tomorrow") is SERVER_OTHER
    assert explain("seed_dirty").remedy == REASONS["seed_dirty"].remedy
    assert explain("seed_dirty").resume is Resume.BEGINS
