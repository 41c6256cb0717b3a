"""A refusal is built only in order to be raised: one that is not would end an invocation that nobody refused."""

import ast
from collections.abc import Sequence
from pathlib import Path

import pytest

import obo_bench
from tests.test_refusal_family import family

PACKAGE = Path(obo_bench.__file__).parent


def refusal_names() -> set[str]:
    return {kind.__name__ for kind in family()}


def builds_refusal(node: ast.AST | None) -> bool:
    """Say whether an expression builds one: a constructor of the family, or the `refusal()` of an objection."""
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute):
        return node.func.attr == "refusal"
    return isinstance(node.func, ast.Name) and node.func.id in refusal_names()


def name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def helpers_of(trees: Sequence[ast.AST]) -> set[str]:
    """Return the names of the functions that return a refusal, directly or from each other."""
    functions = [node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    helpers: set[str] = set()
    while True:
        more = {
            function.name
            for function in functions
            for node in ast.walk(function)
            if isinstance(node, ast.Return)
            and (builds_refusal(node.value) or (isinstance(node.value, ast.Call) and name_of(node.value) in helpers))
        }
        if more == helpers:
            return helpers
        helpers = more


def wrong_uses(tree: ast.AST, helpers: set[str]) -> list[str]:
    """Return what makes a refusal and neither raises it nor hands it on to be raised."""
    nodes = list(ast.walk(tree))
    used = {id(node.exc) for node in nodes if isinstance(node, ast.Raise)}
    used |= {id(node.value) for node in nodes if isinstance(node, ast.Return)}
    return [
        f"line {node.lineno}: {ast.unparse(node)[:80]}"
        for node in nodes
        if isinstance(node, ast.Call) and (builds_refusal(node) or name_of(node) in helpers) and id(node) not in used
    ]


def test_a_refusal_is_built_only_to_be_raised() -> None:
    modules = [module for module in sorted(PACKAGE.rglob("*.py")) if module.name != "refusals.py"]
    trees = {module: ast.parse(module.read_text("utf-8")) for module in modules}
    helpers = helpers_of(list(trees.values()))
    assert "_unwritable" in helpers
    assert {module: wrong for module, tree in trees.items() if (wrong := wrong_uses(tree, helpers))} == {}


@pytest.mark.parametrize(
    "source",
    [
        "kept = PreflightRefused('x', 'y')",
        "log(Objection('x', 'y').refusal())",
        "def helper():\n    return PreflightRefused('x', 'y')\nkept = helper()",
        "def helper(self):\n    return self.o.refusal()\nself.helper()",
    ],
)
def test_the_check_finds_one_that_is_not_raised(source: str) -> None:
    tree = ast.parse(source)
    assert len(wrong_uses(tree, helpers_of([tree]))) == 1
