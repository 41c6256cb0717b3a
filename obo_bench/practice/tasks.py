"""The practice tasks: what each asks for, its reference, its documents, its tests and three scripted solutions.

Everything is read from `programs/<name>/`, which is shipped with the package: `task.toml`, `docs/`, `reference/`
and `solutions/<variant>/`. The three differ in language, difficulty, number of test branches and kind of reference.
"""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

_PROGRAMS = files("obo_bench.practice") / "programs"


@dataclass(frozen=True)
class Probe:
    """One call of the reference that shows something of its behaviour."""

    argv: tuple[str, ...]
    """Arguments after the program's name."""
    stdin: bytes
    """What it reads."""


@dataclass(frozen=True)
class Check:
    """One test: a call and what must come of it."""

    name: str
    """Name of the test function."""
    argv: tuple[str, ...]
    """Arguments after the program's name."""
    stdin: bytes
    """What it reads."""
    stdout: bytes
    """The standard output that is expected, to the byte."""
    status: int
    """The exit status that is expected."""
    ignored: str
    """Why the test does not count (a reason id of the data set), or empty."""


@dataclass(frozen=True)
class Branch:
    """Tests that the evaluator runs together, in a container of their own."""

    name: str
    """Twelve hexadecimal digits."""
    module: str
    """Name of the Python module that holds the test functions."""
    checks: tuple[Check, ...]
    """The tests."""

    def test_name(self, check: Check) -> str:
        """Return the name of a test as the evaluator reads it from the JUnit file."""
        return f"tests.{self.module}.{check.name}"


@dataclass(frozen=True)
class PracticeTask:
    """One practice instance."""

    instance_id: str
    """`practice__<name>.<7 digits>`."""
    language: str
    """Language of the reference, as in the data set."""
    difficulty: str
    """easy, medium or hard."""
    title: str
    """What the program does, in one line."""
    probes: tuple[Probe, ...]
    """Calls that a solver may try on the reference."""
    branches: tuple[Branch, ...]
    """The hidden tests."""
    reference: str
    """File name of the reference's source: a C file, or a script that is the program itself."""

    @property
    def name(self) -> str:
        """The part of the id between owner and commit."""
        return self.instance_id.partition("__")[2].partition(".")[0]

    @property
    def compiled(self) -> bool:
        """Whether the reference must be compiled; a script must stay readable to run."""
        return self.reference.endswith(".c")

    def reference_source(self) -> bytes:
        """Return the source of the reference program."""
        return (_PROGRAMS / self.name / "reference" / self.reference).read_bytes()

    def docs(self) -> Mapping[str, tuple[bytes, int]]:
        """Return the documents an agent gets: path below `docs/` -> content and mode."""
        return _tree(_PROGRAMS / self.name / "docs")

    def solution(self, variant: str) -> Mapping[str, tuple[bytes, int]]:
        """Return a submission: relative path -> content and mode.

        `solved` passes every test, `partial` some of them, the build of `broken-build` fails; KeyError for others.
        """
        if variant == "broken-build":
            return _tree(_PROGRAMS / variant)
        if variant not in {"solved", "partial"}:
            raise KeyError(f"{variant!r} is no solution variant; choose solved, partial or broken-build")
        return _tree(_PROGRAMS / self.name / "solutions" / variant)


def task_by_id(instance_id: str) -> PracticeTask | None:
    """Return the practice task with this id, or None."""
    return next((task for task in PRACTICE_TASKS if task.instance_id == instance_id), None)


def _tree(top: Traversable, prefix: str = "") -> dict[str, tuple[bytes, int]]:
    found: dict[str, tuple[bytes, int]] = {}
    for entry in sorted(top.iterdir(), key=lambda each: each.name):
        if entry.is_dir():
            found |= _tree(entry, f"{prefix}{entry.name}/")
        else:
            content = entry.read_bytes()
            # An installer may drop the x bits of data files, so the mode follows from the content.
            found[prefix + entry.name] = content, 0o755 if content.startswith(b"#!") else 0o644
    return found


def _check(row: Mapping[str, Any]) -> Check:
    return Check(
        name=row["name"],
        argv=tuple(row.get("argv", ())),
        stdin=row["stdin"].encode(),
        stdout=row["stdout"].encode(),
        status=row.get("status", 0),
        ignored=row.get("ignored", ""),
    )


def _load(instance_id: str, name: str) -> PracticeTask:
    raw = tomllib.loads((_PROGRAMS / name / "task.toml").read_text("utf-8"))
    branches = (
        Branch(branch, value["module"], tuple(_check(row) for row in value["tests"]))
        for branch, value in raw["branches"].items()
    )
    return PracticeTask(
        instance_id=instance_id,
        language=raw["language"],
        difficulty=raw["difficulty"],
        title=raw["title"],
        probes=tuple(Probe(tuple(probe["argv"]), probe["stdin"].encode()) for probe in raw["probes"]),
        branches=tuple(branches),
        reference=raw["reference"],
    )


PRACTICE_TASKS: tuple[PracticeTask, ...] = (
    _load("practice__wordtally.0000001", "wordtally"),
    _load("practice__runlength.0000002", "runlength"),
    _load("practice__colstat.0000003", "colstat"),
)
"""Every practice task, in the order of their commits."""
