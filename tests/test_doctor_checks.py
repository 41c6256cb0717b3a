"""Single checks of `doctor`: what hangs, what is old, and what an engine or a locale of another kind would say."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from obo_bench.programbench.doctor import engine_checks, evaluator_checks, host_checks
from obo_bench.programbench.doctor.checks import CHECKS, examine
from obo_bench.programbench.doctor.once import Once
from obo_bench.programbench.doctor.report import CheckResult
from obo_bench.programbench.doctor.runner import run_checks
from obo_bench.programbench.doctor.verdict import CannotLook, Verdict, ok
from obo_bench.programbench.doctor.world import DoctorOptions, World
from tests.conftest import obo

NOWHERE = DoctorOptions(repo_dir=None, runs_root=None, settings_path=None, url="http://127.0.0.1:1")
AMD64 = {"OSType": "linux", "Architecture": "x86_64", "api": {"ApiVersion": "1.41"}}


def world(environ: dict[str, str] | None = None, **info: Any) -> World:
    made = World(NOWHERE, environ=environ or {})
    made.engine_info = Once("no engine", lambda: {**AMD64, **info}, 1.0)
    return made


@contextmanager
def silent(family: int, address: Any) -> Iterator[Any]:
    """Something that takes connections and never says a word."""
    with socket.socket(family) as listener:
        listener.bind(address)
        listener.listen(32)
        yield listener.getsockname()


def test_what_hangs_is_told_and_hides_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = tmp_path / "bin" / "git"
    slow.parent.mkdir()
    slow.write_text("#!/bin/sh\nexec sleep 600\n")
    slow.chmod(0o755)
    (tmp_path / "repo" / ".git").mkdir(parents=True)
    monkeypatch.setenv("PATH", f"{slow.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PROGRAMBENCH_PYTHON", str(slow))
    with (
        silent(socket.AF_UNIX, str(tmp_path / "docker.sock")) as engine,
        silent(socket.AF_INET, ("127.0.0.1", 0)) as (host, port),
    ):
        monkeypatch.setenv("DOCKER_HOST", f"unix://{engine}")
        options = DoctorOptions(tmp_path / "repo", tmp_path / "runs", None, url=f"http://{host}:{port}")
        report = examine(options, patience_sec=4)
    results = {check.id: check for check in report.checks}
    assert list(results) == list(CHECKS)
    assert results["engine"].finding == "no answer within 4 s"
    assert results["engine"].remedy.startswith("restart Docker")
    assert results["engine-disk"].status == results["engine-api"].status == "skipped"
    assert "answer within" in results["server"].finding
    assert "no answer within" in results["checkout"].finding
    assert results["evaluator"].status == "fail"
    assert results["python"].status == results["runs-root"].status == "ok"
    assert not report.ok


def test_a_check_that_crashes_or_never_ends_hides_no_other() -> None:
    never = threading.Event()

    def hang() -> Verdict:
        never.wait()
        return ok("released")

    def crash() -> Verdict:
        raise ZeroDivisionError("by hand")

    def closed() -> Verdict:
        raise PermissionError(13, "Permission denied", "/root/x")

    checks = {"hang": hang, "crash": crash, "closed": closed, "fine": lambda: ok("fine")}
    results = run_checks(checks, 0.3, {"hang": "let go"})
    never.set()
    assert [result.id for result in results] == list(checks)
    assert [result.status for result in results] == ["fail", "fail", "fail", "ok"]
    assert results[2].finding == "[Errno 13] Permission denied: '/root/x'"
    assert (results[0].finding, results[0].remedy) == ("no answer within 0.3 s", "let go")
    assert results[1].finding == "the check itself failed: ZeroDivisionError: by hand"


def test_something_shared_is_asked_once_and_its_failure_belongs_to_one_check() -> None:
    asked: list[int] = []

    def ask() -> int:
        asked.append(1)
        raise OSError("gone")

    shared = Once("it is not there", ask, 1.0)
    for _ in range(2):
        with pytest.raises(OSError, match="gone"):
            shared.ask()
        with pytest.raises(CannotLook, match="it is not there"):
            shared.need()
    assert asked == [1]
    assert shared.answer() is None


def test_an_old_python_fails() -> None:
    assert host_checks.python((3, 10, 14)).status == "fail"
    assert host_checks.python().status == "ok"


@pytest.mark.parametrize(
    ("info", "check", "status", "words"),
    [
        ({}, engine_checks.architecture, "ok", "natively"),
        ({"Architecture": "aarch64"}, engine_checks.architecture, "warn", "emulation"),
        ({"OSType": "windows"}, engine_checks.architecture, "fail", "windows"),
        ({}, engine_checks.api, "ok", "1.41"),
        ({"api": {"ApiVersion": "1.40"}}, engine_checks.api, "fail", "at least 1.41"),
        ({"api": {}}, engine_checks.api, "fail", "no stated version"),
    ],
)
def test_engines_of_other_kinds(info: dict[str, Any], check: Any, status: str, words: str) -> None:
    verdict = check(world(**info))
    assert verdict.status == status
    assert words in verdict.finding


@pytest.mark.parametrize(
    ("environ", "url", "status", "words"),
    [
        ({}, "http://127.0.0.1:8770", "ok", "no proxy"),
        ({"https_proxy": "http://p"}, "http://localhost:8770", "ok", "asked directly"),
        ({"HTTPS_PROXY": "http://p"}, "http://far.example:8770", "warn", "'far.example' is asked directly"),
        ({"ALL_PROXY": "http://p", "DOCKER_HOST": "tcp://10.0.0.1:2375"}, "http://[::1]:1", "warn", "'10.0.0.1'"),
        (
            {"ALL_PROXY": "http://p", "DOCKER_HOST": "tcp://10.0.0.1:2375", "NO_PROXY": "a, 10.0.0.1"},
            "http://127.0.0.1:1", "ok", "directly",
        ),
    ],
)  # fmt: skip
def test_proxies(environ: dict[str, str], url: str, status: str, words: str) -> None:
    verdict = host_checks.proxies(World(DoctorOptions(None, None, None, url=url), environ=environ))
    assert verdict.status == status
    assert words in verdict.finding


def test_the_evaluators_numbers_are_checked_as_by_a_run() -> None:
    results = run_checks(
        {"v": lambda: evaluator_checks.variables(world({"PROGRAMBENCH_DOCKER_CPUS": "many"}))}, patience_sec=30
    )
    assert results[0].status == "fail"
    assert "'many'" in results[0].finding
    assert results[0].remedy == "correct PROGRAMBENCH_DOCKER_CPUS, or unset it"
    fine = evaluator_checks.variables(world({"PROGRAMBENCH_DOCKER_CPUS": "2"}))
    assert (fine.status, fine.finding) == ("ok", "PROGRAMBENCH_DOCKER_CPUS=2")


def test_a_locale_without_utf_8_is_a_warning() -> None:
    environ = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PROGRAMBENCH_PYTHON": "/nonexistent"}
    done = obo("doctor", "--ouroboros-url", "http://127.0.0.1:1", "--json", env=environ)
    found = {each["id"]: CheckResult(**each) for each in done.envelope["result"]["checks"]}
    assert found["locale"].status == "warn"
    assert "LC_ALL=C" in found["locale"].finding
