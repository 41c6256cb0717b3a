"""Every refusal that the package builds says what its verdict rests on."""

import ast
from pathlib import Path

import obo_bench
from obo_bench.core import refusals

PACKAGE = Path(obo_bench.__file__).parent
FAMILY = (refusals.Refusal, refusals.Objection)
KINDS = {kind.__name__ for kind in vars(refusals).values() if isinstance(kind, type) and issubclass(kind, FAMILY)}
LATER = {"gateway/attestation.py"}
"""Where the evidence is the whole record, added by `require_attested`."""


def bare(source: str) -> list[str]:
    """Return where a refusal or an objection is built without evidence."""
    calls = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call))
    return [
        f"{call.lineno}: {ast.unparse(call)}"
        for call in calls
        if (call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")) in KINDS
        and not any(keyword.arg == "evidence" for keyword in call.keywords)
    ]


def test_no_refusal_is_built_without_evidence() -> None:
    modules = {str(path.relative_to(PACKAGE)): path for path in PACKAGE.rglob("*.py")}
    found = {name: bare(path.read_text("utf-8")) for name, path in modules.items() if name not in LATER}
    assert {name: calls for name, calls in found.items() if calls} == {}


def test_the_scan_finds_a_refusal_without_evidence() -> None:
    assert bare('raise PreflightRefused("run_locked", "x")')
    assert bare('raise refusals.Objection("run_locked", "x", remedy="y").refusal()')
    assert bare('raise PreflightRefused("run_locked", "x", evidence={"a": 1})') == []
