"""Arrows go down only, the core knows no benchmark, and every command says what it may do."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
import typer

import obo_bench
from obo_bench.cli import registry
from obo_bench.cli.app import app
from obo_bench.core.refusal_reasons import REASONS
from obo_bench.core.refusals import Refusal

PACKAGE = Path(obo_bench.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
BELOW = {
    "core": {"core"},
    "gateway": {"core", "gateway"},
    "engine": {"core", "engine"},
    "programbench": {"core", "gateway", "engine", "programbench"},
    "launch": {"core", "gateway", "engine", "launch"},
    "report": {"core", "gateway", "engine", "programbench", "report"},
    "practice": {"core", "gateway", "engine", "programbench", "practice"},
    "cli": {"core", "gateway", "engine", "programbench", "launch", "practice", "report", "cli"},
}
FOREIGN_TO_CORE = {"typer", "docker", "httpx", "programbench", "rich"}


def imported(module: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return found


@pytest.mark.parametrize(
    "module", [m for m in MODULES if m.parent != PACKAGE], ids=lambda m: str(m.relative_to(PACKAGE))
)
def test_imports_go_down_only(module: Path) -> None:
    layer = module.relative_to(PACKAGE).parts[0]
    for name in imported(module):
        parts = name.split(".")
        if parts[0] == "obo_bench" and len(parts) > 1 and parts[1] in BELOW:
            assert parts[1] in BELOW[layer], f"{layer} must not import {name}"
        if layer == "core":
            assert parts[0] not in FOREIGN_TO_CORE, f"core must not import {name}"


def test_only_one_module_imports_httpx() -> None:
    users = [m.relative_to(PACKAGE).as_posix() for m in MODULES if any(n.split(".")[0] == "httpx" for n in imported(m))]
    assert users == ["gateway/http.py"]


def test_only_main_exits() -> None:
    for module in MODULES:
        text, name = module.read_text("utf-8"), module.relative_to(PACKAGE).as_posix()
        if "sys.exit(" in text or "os._exit(" in text:
            assert name in {
                "__main__.py",
                "early.py",
                "programbench/evaluation/official_child.py",
                "gateway/admission/migration_child.py",
            }, name


def command_names(group: object = None, prefix: str = "") -> set[str]:
    group = group or typer.main.get_command(app)
    found: set[str] = set()
    for name, command in getattr(group, "commands").items():  # noqa: B009  # typer's own group type is private
        path = f"{prefix} {name}".strip()
        if hasattr(command, "commands"):
            found |= command_names(command, path)
            if command.invoke_without_command:
                found.add(path)
        else:
            found.add(path)
    return found


def test_every_command_is_registered_once() -> None:
    assert command_names() == registry.RECORDED | registry.READ_ONLY
    assert not registry.RECORDED & registry.READ_ONLY


def test_public_names_resolve() -> None:
    for name in obo_bench.__all__:
        assert getattr(obo_bench, name) is not None


def test_the_atomic_writer_needs_only_the_standard_library(tmp_path: Path) -> None:
    script = (
        "import sys, obo_bench\n"
        f"obo_bench.write_json({str(tmp_path / 'x.json')!r}, {{'a': 'ü'}})\n"
        "loaded = {m.split('.')[0] for m in sys.modules}\n"
        "third = loaded & {'pydantic', 'typer', 'docker', 'httpx', 'filelock', 'rich'}\n"
        "assert not third, third\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
    assert (tmp_path / "x.json").read_bytes() == '{\n  "a": "ü"\n}\n'.encode()


def refusal_classes(base: type[Refusal] = Refusal) -> list[type[Refusal]]:
    """The classes that take a reason; PracticeSetupError always means the same one."""
    children = [child for child in base.__subclasses__() if child.__name__ != "PracticeSetupError"]
    return [base, *(found for child in children for found in refusal_classes(child))]


@pytest.mark.parametrize("module", MODULES, ids=lambda m: str(m.relative_to(PACKAGE)))
def test_every_raised_reason_is_in_the_table_and_fits_its_class(module: Path) -> None:
    classes = {found.__name__: found for found in refusal_classes()}
    for node in ast.walk(ast.parse(module.read_text("utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in classes and node.args:
            reason = node.args[0]
            if isinstance(reason, ast.Constant):
                assert isinstance(reason.value, str)
                assert REASONS[reason.value].stage in classes[node.func.id].stages
