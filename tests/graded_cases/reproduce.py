"""Reproduces the cases that are quick with the real evaluator on the engine: one instance each, evaluated together."""

import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from obo_bench.core.reporter import SilentReporter
from obo_bench.practice.branch_files import archive_files
from obo_bench.practice.images import ensure_images, image_reference
from obo_bench.practice.overlay import write_overlay
from obo_bench.practice.tarball import tar_gz_bytes
from obo_bench.practice.tasks import PRACTICE_TASKS, PracticeTask
from tests.graded_cases.cases import BY_NAME
from tests.graded_cases.evaluating import Files, Rows, evaluate, pack
from tests.graded_cases.interrupting import HANGING_BUILD, SLOW_BUILD, interrupting
from tests.graded_cases.replay import put_stale

ONE_BRANCH, _, TWO_BRANCHES = PRACTICE_TASKS
NOBODYS_REGISTRY = f"localhost:1/cases-{os.getpid()}"
"""An image that is not on the engine is asked for there, in vain and at once."""

_PREBUILT = (b"#!/bin/sh\nexit 0\n", 0o755)


def _built_by(script: bytes) -> Files:
    return {"compile.sh": (b"#!/bin/sh\n" + script, 0o755)}


def _submissions() -> dict[str, tuple[PracticeTask, Files | bytes]]:
    """Return task and archive of every case that is reproduced."""
    solved, partial = ONE_BRANCH.solution("solved"), ONE_BRANCH.solution("partial")
    start, rest = solved["compile.sh"][0].split(b"\n", 1)
    hanging, slow = (
        {**solved, "compile.sh": (start + b"\n" + wait + rest, 0o755)} for wait in (HANGING_BUILD, SLOW_BUILD)
    )
    original = {"original": (TWO_BRANCHES.reference_source(), 0o755), **_built_by(b"cp original executable\n")}
    archives: dict[str, Files | bytes] = {
        "correct": solved,
        "incorrect": partial,
        "shipped-tests-unchanged": solved,
        "compile-failed": _built_by(b"exit 3\n"),
        "compile-missing": {"main.c": (b"int main(void) { return 0; }\n", 0o644)},
        "executable-missing": {**_built_by(b"exit 0\n"), "executable": _PREBUILT},
        "executable-relative-symlink": {**_built_by(b"ln -s program executable\n"), "program": _PREBUILT},
        "owner-not-root-no-git": solved,
        "no-top-entry": solved,
        "results-missing": solved,
        "results-malformed": solved,
        "output-not-utf8": _built_by(b"printf '\\377'\n"),
        "corrupt-archive": b"random bytes",
        "engine-unreachable": solved,
        "image-missing": solved,
        "too-many-cpus": solved,
        "tests-missing": solved,
        "killed-sigterm": hanging,
        "killed-then-rerun": slow,
        "interrupted-group": hanging,
    }
    of_two = {"two-branches": TWO_BRANCHES.solution("solved"), "original-binary-reused": original}
    return {name: (ONE_BRANCH, files) for name, files in archives.items()} | {
        name: (TWO_BRANCHES, files) for name, files in of_two.items()
    }


_RUN = b'#!/bin/bash\ncd "$(dirname "$0")/.." || exit 1\n'
_OTHER_TESTS: dict[str, Callable[[dict[str, tuple[bytes, int]]], object]] = {
    "results-missing": lambda files: files.update({"eval/run.sh": (_RUN + b"exit 1\n", 0o755)}),
    "results-malformed": lambda files: files.update({"eval/run.sh": (_RUN + b"echo '<a' > eval/results.xml\n", 0o755)}),
    "shipped-tests-unchanged": lambda files: files.pop("eval/pytest.ini"),
    "tests-missing": lambda files: files.clear(),
}
"""What is changed in the test archives of a case; an empty one is not written."""

_SIGNALS = {
    "killed-sigterm": (signal.SIGTERM, True),
    "killed-then-rerun": (signal.SIGTERM, False),
    "interrupted-group": (signal.SIGINT, True),
}
"""What the evaluator is sent, and whether that must be in the middle of the build."""


def reproduce(work: Path) -> Rows:
    """Reproduce the cases below `work`; return the summary's rows.

    In the place of each result lies an old one with a full score, as a stale file does.
    """
    ensure_images(PRACTICE_TASKS, SilentReporter())
    tasks = {name: replace(task, instance_id=BY_NAME[name].instance_id) for name, (task, _) in _submissions().items()}
    environ = {**os.environ, "PROGRAMBENCH_DOCKER_ORG": NOBODYS_REGISTRY}
    environ |= write_overlay(work / "overlay", list(tasks.values()))
    _change_tests(Path(environ["PROGRAMBENCH_BLOB_DIR"]), tasks)
    run_root = work / "run"
    archives = {name: _submit(run_root, name, files) for name, (_, files) in _submissions().items()}
    with _images(tasks):
        return _evaluate_all(run_root, environ, archives)


def _evaluate_all(run_root: Path, environ: dict[str, str], archives: dict[str, str]) -> Rows:
    """Evaluate most cases together, and those alone that are a setting of the whole evaluation, or a second one."""

    def rows_of(*names: str, **changes: Any) -> Rows:
        submissions: dict[str, str | None] = {BY_NAME[name].instance_id: archives.get(name) for name in names}
        return evaluate(run_root, changes.pop("environ", environ), submissions, invocation=names[0], **changes)

    alone = ("engine-unreachable", "too-many-cpus")
    with interrupting({BY_NAME[name].instance_id: how for name, how in _SIGNALS.items()}):
        rows = rows_of(*(name for name in archives if name not in alone), "empty-directory", workers=6)
    killed = rows[BY_NAME["killed-then-rerun"].instance_id]
    if killed.reason != "evaluator_interrupted":
        raise AssertionError(f"the first evaluation was not killed: {killed}")
    dead = {**environ, "DOCKER_HOST": f"unix://{run_root}/nobody.sock"}
    rows |= rows_of("killed-then-rerun")
    return rows | rows_of("engine-unreachable", environ=dead) | rows_of("too-many-cpus", docker_cpus=100_000)


def _submit(run_root: Path, name: str, files: Files | bytes) -> str:
    iid = BY_NAME[name].instance_id
    owner = 1000 if name == "owner-not-root-no-git" else 0
    sha256 = pack(run_root, iid, files, owner=owner, top=name != "no-top-entry")
    put_stale(run_root, iid)
    return sha256


def _change_tests(blobs: Path, tasks: dict[str, PracticeTask]) -> None:
    for name, change in _OTHER_TESTS.items():
        for branch in tasks[name].branches:
            files = archive_files(branch)
            change(files)
            path = blobs / tasks[name].instance_id / "tests" / f"{branch.name}.tar.gz"
            path.write_bytes(tar_gz_bytes(files)) if files else path.unlink()


@contextmanager
def _images(tasks: dict[str, PracticeTask]) -> Iterator[None]:
    """Give each case the image of the practice task it is made of, under the name that its evaluator asks for."""
    names = {
        f"{NOBODYS_REGISTRY}/{task.instance_id.replace('__', '_1776_')}:task_cleanroom_v6": _submissions()[name][0]
        for name, task in tasks.items()
        if name != "image-missing"
    }
    try:
        for name, task in names.items():
            _docker("tag", image_reference(task.instance_id), name)
        yield
    finally:
        _docker("rmi", *names, check=False)


def _docker(*words: str, check: bool = True) -> None:
    subprocess.run(["docker", *words], check=check, capture_output=True, timeout=60)
