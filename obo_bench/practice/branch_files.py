"""What the official evaluator reads of a practice task: test archives, `tests.json` and `task.yaml`."""

import hashlib
from typing import Any

from obo_bench.core.files import json_bytes
from obo_bench.practice.tasks import Branch, Check, PracticeTask

_RUN = b"""#!/bin/bash
# Runs the tests of this branch against ./executable, in one process: workers would start longer than they run.
cd "$(dirname "$0")/.." || exit 1
python3 -m pytest eval/tests --timeout=60 --junitxml=eval/results.xml
"""

_MODULE = '''"""Tests of the practice program, generated from its task description."""

import subprocess


def check(argv, stdin, stdout, status):
    """Call the program and compare what came of it, to the byte."""
    done = subprocess.run(["./executable", *argv], input=stdin, capture_output=True, timeout=10)
    assert (done.returncode, done.stdout) == (status, stdout)
'''


def archive_files(branch: Branch) -> dict[str, tuple[bytes, int]]:
    """Return the members of a branch's test archive: path in the workspace -> content and mode."""
    return {
        "eval/run.sh": (_RUN, 0o755),
        # It makes `eval` pytest's root, from which the names of the tests are counted.
        "eval/pytest.ini": (b"[pytest]\n", 0o644),
        f"eval/tests/{branch.module}.py": (_test_module(branch).encode(), 0o644),
    }


def tests_json(task: PracticeTask) -> bytes:
    """Return the list of branches and tests, as the data set keeps it."""
    return json_bytes({"branches": {branch.name: _branch_entry(branch) for branch in task.branches}})


def task_yaml(task: PracticeTask) -> bytes:
    """Return the description of the task, as the data set keeps it."""
    owner, _, rest = task.instance_id.partition("__")
    lines = [
        f"repository: {owner}/{task.name}",
        f"commit: '{rest.rpartition('.')[2]:0<40}'",
        f"language: {task.language}",
        f"difficulty: {task.difficulty}",
    ]
    if not task.compiled:
        # Only a script's bytes are known here; a compiled reference depends on the image's compiler.
        lines += ["eval_clean_hashes:", f"- {hashlib.sha256(task.reference_source()).hexdigest()}"]
    return ("\n".join(lines) + "\n").encode()


def _branch_entry(branch: Branch) -> dict[str, Any]:
    ignored = [
        {"name": branch.test_name(check), "reasons": [{"id": check.ignored}]}
        for check in branch.checks
        if check.ignored
    ]
    tests = [branch.test_name(check) for check in branch.checks]
    return {"ignored": False, "ignore_reason": "", "tests": tests, "ignored_tests": ignored}


def _test_module(branch: Branch) -> str:
    return _MODULE + "".join(_test_function(check) for check in branch.checks)


def _test_function(check: Check) -> str:
    call = f"check({list(check.argv)!r}, {check.stdin!r}, {check.stdout!r}, {check.status})"
    return f"\n\ndef {check.name}():\n    {call}\n"
