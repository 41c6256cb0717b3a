"""Invariants I1 and I3 over the source: what may run before the manifest exists, and who may write it."""

from pathlib import Path

import pytest

from obo_bench.cli import registry
from tests.guard import seam
from tests.guard.findings import Finding
from tests.guard.source import Package
from tests.guard.static import PRODUCT, recorded_commands, walk_commands
from tests.guard.walk import Walk
from tests.guard.writers import foreign_writers


def test_every_recorded_command_is_walked() -> None:
    commands = recorded_commands()
    assert {command.name for command in commands} == registry.RECORDED
    package = Package(PRODUCT)
    for command in commands:
        module, _, function = command.callbacks[-1].partition(":")
        assert function in package.modules[module].scope.bindings


def test_nothing_that_depends_on_the_world_precedes_the_manifest() -> None:
    walk, findings = walk_commands(PRODUCT, recorded_commands())
    assert not findings, "\n".join(map(str, findings))
    walked = {place.scope.module.name for place in walk.statements.values()}
    assert {"obo_bench.__main__", "obo_bench.core.session", "obo_bench.core.lock", "obo_bench.core.files"} <= walked


def test_nothing_but_the_seam_writes_a_manifest_or_states_an_ending() -> None:
    findings = foreign_writers(PRODUCT)
    assert not findings, "\n".join(map(str, findings))


@pytest.mark.parametrize("qualname", sorted({*seam.FIRST_ACTS, *seam.PROBES, *seam.RECORDED, *seam.ENTRANCES}))
def test_the_named_acts_are_there(qualname: str) -> None:
    """A name that went out of use would allow whatever takes it later."""
    module, _, path = qualname.partition(":")
    package = Package(PRODUCT)
    scope = package.modules[module].scope
    for name in path.split("."):
        [binding] = [found for found in scope.bindings[name] if found.how in {"def", "class"}]
        scope = scope.enter(binding.node, name)


def test_collecting_before_the_first_checkpoint_is_reported(tmp_path: Path) -> None:
    findings = findings_with(tmp_path, "core/session.py", "        session.open()\n", "        session.collect()\n")
    assert any("subprocess" in finding.what for finding in findings)


def test_a_command_that_never_comes_to_the_seam_is_reported(tmp_path: Path) -> None:
    findings = findings_with(
        tmp_path, "programbench/run.py", "    with benchmark_session(", "    return\n    with benchmark_session("
    )
    assert any("never comes to the seam" in finding.what for finding in findings)


def test_a_manifest_confined_against_another_checkout_is_reported(tmp_path: Path) -> None:
    root = changed(tmp_path, "programbench/run.py", "repo_dir=options.repo_dir", "repo_dir=options.run_root")
    assert [finding.what for finding in foreign_writers(root)] == [
        "the request's repo_dir is not the repo_dir that the command was handed"
    ]


def test_a_changed_environment_is_reported(tmp_path: Path) -> None:
    findings = findings_with(
        tmp_path, "cli/app.py", "import typer\n", "import os\n\nimport typer\nos.environ['A'] = 'b'\n"
    )
    assert [finding.what for finding in findings] == ["changes os.environ"]


def test_a_module_imported_for_its_effects_is_walked(tmp_path: Path) -> None:
    walk = Walk(Package(changed(tmp_path, "core/refusals.py", "from typing", "import webbrowser\nfrom typing")))
    assert [finding.what for finding in walk.module("obo_bench.core.refusals")] == ["import of webbrowser"]


DETOURS = {
    "star import": "from os import *\nlist(map(stat, ['x']))",
    "foreign base": "import subprocess\nclass P(subprocess.Popen): ...\nP(['true'])",
    "init_subclass": "class A:\n def __init_subclass__(cls): open('x')\nclass B(A): ...",
    "metaclass": "class M(type):\n def __call__(cls): return open('x')\nclass A(metaclass=M): ...\nA()",
    "operator": "class A:\n def __truediv__(self, other): return open('x')\nA() / 1",
    "iteration": "class A:\n def __iter__(self): return open('x')\nlist(A())",
    "attribute hook": "class A:\n def __getattr__(self, name): return open('x')\nA().strip",
    "descriptor": "class D:\n def __get__(self, o, c): return open('x')\nclass A:\n d = D()\nA().d",
    "context manager": "class A:\n def __enter__(self): open('x')\n def __exit__(self, *a): ...\nwith A(): ...",
    "lazy public name": "import obo_bench\nobo_bench.write_json('x', {})",
    "lazy public name, imported": "from obo_bench import write_json\nwrite_json('x', {})",
    "pydantic hook": "import pydantic\nclass A(pydantic.BaseModel):\n def model_post_init(self, c): open('x')\nA()",
    "pydantic validator": (
        "import pydantic\nclass A(pydantic.BaseModel):\n a: int = 0\n @pydantic.field_validator('a')\n"
        " def check(cls, v): return open('x')\nA()"
    ),
    "enum hook": "import enum\nclass A(enum.StrEnum):\n X = 'x'\n @classmethod\n def _missing_(cls, v): open('x')",
    "post-init": (
        "from dataclasses import dataclass\n@dataclass\nclass A:\n a: int = 0\n def __post_init__(self): open('x')\nA()"
    ),
    "inherited": "class A:\n def f(self): open('x')\nclass B(A): ...\nB().f()",
    "overridden": "class A:\n def f(self): ...\nclass B(A):\n def f(self): open('x')\ndef g(a: A): a.f()\ng(B())",
    "super": "class A:\n def f(self): open('x')\nclass B(A):\n def f(self): super().f()\nB().f()",
    "classmethod": "class A:\n @classmethod\n def f(cls): open('x')\nA.f()",
    "cached property": "import functools\nclass A:\n @functools.cached_property\n def f(self): open('x')\nA().f",
    "table of functions": "def f(): open('x')\nT = {'f': f}\nT['f']()",
    "generator": "def f():\n yield open('x')\nlist(f())",
    "match": "match 1:\n case 1 if open('x'): ...",
    "annotation": "def f(a: open('x')): ...",
    "base expression": "class A(open('x').__class__): ...",
    "except": "try: ...\nexcept open('x').__class__: ...",
    "while": "while open('x'): break",
    "assert": "assert 1, open('x')",
    "subscript": "{}[open('x')] = 1",
    "alias": "o = open\no('x')",
    "unpacked alias": "a, b = len, open\nb('x')",
    "async": "async def f():\n async with g() as h: open('x')\nf()",
    "nested import": "if len('x'):\n import docker",
    "renamed import": "import os.path as p\np.exists('x')",
    "patched attribute": "import os\nos.sep = '/'",
    "completion": "import typer\ntyper.Option(autocompletion=open('x'))",
    "frames": "import sys\nsys._getframe().f_builtins['open']('x')",
    "mro": "().__class__.__mro__[1].__subclasses__()",
}


@pytest.mark.parametrize("detour", DETOURS)
def test_no_detour_of_the_language_hides_a_violation(tmp_path: Path, detour: str) -> None:
    root = changed(tmp_path, "core/files.py", "import contextlib\n", f"{DETOURS[detour]}\nimport contextlib\n")
    findings = Walk(Package(root)).module("obo_bench.core.files")
    assert findings


def findings_with(tmp_path: Path, file: str, old: str, new: str) -> list[Finding]:
    return list(walk_commands(changed(tmp_path, file, old, new), recorded_commands())[1])


def changed(tmp_path: Path, file: str, old: str, new: str, count: int = -1) -> Path:
    """Return a copy of the package in which one file is changed."""
    root = tmp_path / "obo_bench"
    for path in PRODUCT.rglob("*.py"):
        copy = root / path.relative_to(PRODUCT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(path.read_text("utf-8"), "utf-8")
    text = (root / file).read_text("utf-8")
    assert old in text
    (root / file).write_text(text.replace(old, new, count), "utf-8")
    return root
