"""`doctor --self-test`: the real evaluator must tell a right submission from a wrong one."""

import re
from pathlib import Path

import pytest

from obo_bench.core.reporter import SilentReporter
from obo_bench.practice.self_test import self_test
from tests.conftest import obo


@pytest.mark.docker
def test_a_right_and_a_wrong_submission_are_told_apart(practice_images: None) -> None:
    right, wrong = self_test(SilentReporter())
    assert (right.id, right.status, wrong.id, wrong.status) == ("self-test-right", "ok", "self-test-wrong", "ok")
    assert "graded pass (all_tests_passed)" in right.finding
    assert "graded fail (tests_failed)" in wrong.finding
    assert re.search(r"score 0\.\d{3},", wrong.finding)


@pytest.mark.docker
def test_an_evaluator_that_grades_nothing_is_found_out(
    practice_images: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle = tmp_path / "idle"
    idle.write_text("#!/usr/bin/env python3\n")
    idle.chmod(0o755)
    monkeypatch.setenv("PROGRAMBENCH_CLI", str(idle))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    results = self_test(SilentReporter())
    assert [result.status for result in results] == ["fail", "fail"]
    assert "it must be pass" in results[0].finding
    assert "it must be fail" in results[1].finding
    assert "obo-bench practice" in results[0].remedy


def test_without_an_engine_it_is_skipped() -> None:
    environ = {"DOCKER_HOST": "unix:///nonexistent.sock", "PROGRAMBENCH_PYTHON": "/nonexistent"}
    done = obo("doctor", "--ouroboros-url", "http://127.0.0.1:1", "--self-test", "--json", env=environ)
    last = done.envelope["result"]["checks"][-1]
    assert (done.status, last["id"], last["status"]) == (5, "self-test", "skipped")
    assert last["finding"] == "it needs what failed above: engine, evaluator"
