"""Fixtures: a private runs root, real git checkouts, a real stand-in server, the command as a process, real Docker."""

import functools
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from obo_bench.core.admission import AdmissionRequest
from obo_bench.core.reporter import SilentReporter
from obo_bench.core.variables import is_option_variable
from obo_bench.practice.main_job import practice_environment
from obo_bench.practice.seed import make_seed_checkout
from obo_bench.practice.standin import StandIn, StandInConfig
from tests.answer_check import check_answer
from tests.submission_trees import make_destination, make_workspace

if TYPE_CHECKING:
    from obo_bench.engine.daemon import Engine

REQUIRE_DOCKER = "OBO_BENCH_TEST_REQUIRE_DOCKER"


@functools.cache
def docker_trouble() -> str:
    try:
        done = subprocess.run(["docker", "info"], capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    return "" if done.returncode == 0 else done.stderr.decode("utf-8", "replace").strip()


def pytest_configure() -> None:
    """Let an interrupt be one: what a shell starts in the background has it ignored, and all children inherit that."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)  # the suite itself may have been started under nohup


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with the files that need an engine: they take longest, and no worker should be left alone with one."""
    with_engine = {item.path for item in items if item.get_closest_marker("docker")}
    items.sort(key=lambda item: item.path not in with_engine)


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("docker") is None or not docker_trouble():
        return
    if os.environ.get(REQUIRE_DOCKER):
        pytest.fail(f"{REQUIRE_DOCKER} is set and no Docker engine answers: {docker_trouble()}")
    pytest.skip(f"no Docker engine answers: {docker_trouble()}")


@pytest.fixture(autouse=True)
def _private_world(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads the operator's settings or writes beside somebody's checkout."""
    for name in list(os.environ):
        if name.startswith(("OUROBOROS_", "OBO_ALLOW", "GIT_")) or is_option_variable(name):
            monkeypatch.delenv(name)
    monkeypatch.setenv("OUROBOROS_BENCH_RUNS_ROOT", str(tmp_path_factory.mktemp("bench_runs")))


@dataclass(frozen=True)
class Done:
    """A finished `obo-bench` process."""

    status: int
    stdout: str
    stderr: str

    @property
    def envelope(self) -> dict[str, Any]:
        """The answer of a command that was given --json."""
        value = json.loads(self.stdout)
        assert isinstance(value, dict)
        check_answer(value)
        return value

    @property
    def manifest(self) -> dict[str, Any]:
        """The manifest that the answer names."""
        value = json.loads(Path(self.envelope["manifest"]).read_text())
        assert isinstance(value, dict)
        return value


def obo(
    *arguments: str | Path, env: Mapping[str, str] | None = None, cwd: Path | None = None, timeout: float = 240
) -> Done:
    """Run the command line as a process, as a user would."""
    done = subprocess.run(
        [sys.executable, "-m", "obo_bench", *map(str, arguments)],
        capture_output=True,
        env={**os.environ, **(env or {})},
        cwd=cwd,
        timeout=timeout,
        check=False,
    )
    return Done(done.returncode, done.stdout.decode(), done.stderr.decode())


def git(directory: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=test", "-c", "user.email=test@localhost"]
    return subprocess.run(
        ["git", *identity, "-C", str(directory), *arguments], capture_output=True, check=True, text=True, timeout=60
    ).stdout.strip()


@contextmanager
def answering(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """Serve with `handler` on loopback; gives host:port."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clean checkout of version 6.75.0 in a workspace of its own."""
    return make_seed_checkout(tmp_path / "workspace" / "ouroboros")


Serve = Callable[..., StandIn]


@pytest.fixture
def serve(checkout: Path, tmp_path: Path) -> Iterator[Callable[..., str]]:
    """Start stand-in servers for the checkout; returns the address."""
    running: list[StandIn] = []

    def start(**changes: Any) -> str:
        config = {"repo_dir": checkout, "data_dir": tmp_path / "workspace" / "data", **changes}
        standin = StandIn(StandInConfig(**config))
        running.append(standin)
        return standin.start()

    yield start
    for standin in running:
        standin.stop()


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with sources in it."""
    return make_workspace(tmp_path)


@pytest.fixture
def destination(tmp_path: Path) -> Path:
    """Where its archive goes."""
    return make_destination(tmp_path)


@pytest.fixture(scope="module")
def engine() -> Iterator["Engine"]:
    """The real engine, through the product's own client."""
    from obo_bench.engine.daemon import connect_engine

    made = connect_engine()
    yield made
    made.close()


@pytest.fixture(scope="session")
def practice_images() -> None:
    """The practice images on the real engine."""
    from obo_bench.practice.images import ensure_images
    from obo_bench.practice.tasks import PRACTICE_TASKS

    ensure_images(PRACTICE_TASKS, SilentReporter())


@pytest.fixture(scope="session")
def practice_env(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment in which the official package knows the practice tasks."""
    environment = practice_environment(tmp_path_factory.mktemp("practice"))
    return {name: environment[name] for name in ("PYTHONPATH", "PROGRAMBENCH_BLOB_DIR")}


@pytest.fixture
def request_of_a_run(tmp_path: Path, checkout: Path) -> AdmissionRequest:
    return AdmissionRequest(
        benchmark="programbench", command="programbench run", run_root=tmp_path / "runs" / "r", repo_dir=checkout
    )
