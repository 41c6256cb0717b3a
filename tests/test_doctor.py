"""`doctor`, as a process: what it says, with which status it ends, and that it changes and spends nothing."""

import hashlib
import json
import os
import re
import selectors
import socket
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from obo_bench.core.json_schema import json_schema
from obo_bench.engine.endpoint import candidate_endpoints
from obo_bench.programbench.doctor.checks import CHECKS
from obo_bench.programbench.doctor.report import DoctorReport
from tests.conftest import Done, answering, obo

Serve = Callable[..., str]
REQUEST = re.compile(rb"^([A-Z]+ \S+) HTTP/1\.[01]\r$", re.MULTILINE)
READY = {"supervisor_ready": True, "supervisor_error": None, "workers_alive": 2, "workers_total": 2}
SECRET = "sk-or-v1-0123456789abcdef"


NO_EVALUATOR = {"PROGRAMBENCH_PYTHON": "/nonexistent"}
"""Saves the import of the official package where a test is about something else."""


def doctor(checkout: Path, url: str, *more: str | Path, env: dict[str, str] | None = None) -> Done:
    arguments = ("doctor", "--repo-dir", checkout, "--ouroboros-url", url, "--json", *more)
    return obo(*arguments, env=NO_EVALUATOR if env is None else env)


def found(done: Done, check: str) -> dict[str, Any]:
    (result,) = [each for each in done.envelope["result"]["checks"] if each["id"] == check]
    return dict(result)


@contextmanager
def server(
    asked: list[str], settings: dict[str, Any] | None = None, state: dict[str, Any] | None = None, date: str = ""
) -> Iterator[str]:
    """A server that answers what a real one does, and remembers what it was asked."""
    answers = {
        "/api/health": {"status": "ok", "runtime_version": "6.75.0"},
        "/api/state": {**READY, **(state or {})},
        "/api/settings": {"OUROBOROS_MODEL": "practice::scripted-solver", **(settings or {})},
    }

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(f"{self.command} {self.path}")
            body = json.dumps(answers[self.path]).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def date_time_string(self, timestamp: float | None = None) -> str:
            return date or super().date_time_string(timestamp)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with answering(Handler) as host:
        yield f"http://{host}"


def snapshot(top: Path) -> dict[str, tuple[Any, ...]]:
    """Everything below a directory: kind, mode, time and content."""
    seen: dict[str, tuple[Any, ...]] = {}
    for path in sorted(top.rglob("*")):
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
        seen[str(path.relative_to(top))] = (status.st_mode, status.st_mtime_ns, status.st_ino, content)
    return seen


@contextmanager
def watched_engine(place: Path, asked: list[str]) -> Iterator[str]:
    """The real engine behind a socket that remembers the requests."""
    (real,) = candidate_endpoints(os.environ, Path.home())[:1]

    class Relay(socketserver.BaseRequestHandler):
        def handle(self) -> None:
            with socket.socket(socket.AF_UNIX) as engine, selectors.DefaultSelector() as ready:
                engine.connect(real.removeprefix("unix://"))
                ready.register(self.request, selectors.EVENT_READ, engine)
                ready.register(engine, selectors.EVENT_READ, self.request)
                while self._pass_on(ready.select()):
                    pass

        def _pass_on(self, found: list[tuple[selectors.SelectorKey, int]]) -> bool:
            for key, _ in found:
                said = key.fileobj.recv(1 << 16)  # type: ignore[union-attr]  # a socket
                if key.fileobj is self.request:
                    asked.extend(line.decode() for line in REQUEST.findall(said))
                if not said:
                    return False
                key.data.sendall(said)
            return True

    with socketserver.ThreadingUnixStreamServer(str(place), Relay) as relay:
        relay.daemon_threads = True
        thread = threading.Thread(target=relay.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"unix://{place}"
        relay.shutdown()
        thread.join()


def test_every_check_is_told_with_its_finding_and_remedy(checkout: Path, serve: Serve) -> None:
    done = doctor(checkout, serve(), env={})
    result = done.envelope["result"]
    jsonschema.validate(result, json_schema(DoctorReport))
    assert [each["id"] for each in result["checks"]] == list(CHECKS)
    for each in result["checks"]:
        assert each["finding"]
        assert bool(each["remedy"]) is (each["status"] in {"warn", "fail"}), each
    counted = {status: sum(each["status"] == status for each in result["checks"]) for status in result["counts"]}
    assert result["counts"] == counted
    assert (done.status == 5) is (counted["fail"] > 0) is not result["ok"]
    assert done.envelope["run_root"] is done.envelope["manifest"] is None
    for name in ("server", "server-version", "server-ready", "server-port", "server-clock", "checkout", "runs-root"):
        assert found(done, name)["status"] == "ok", found(done, name)


def test_the_table_goes_to_stderr_and_the_verdict_to_stdout(checkout: Path, serve: Serve) -> None:
    arguments = ("doctor", "--repo-dir", checkout, "--ouroboros-url", serve())
    done = obo(*arguments)
    assert done.stdout.count("\n") == 1
    assert done.stdout.startswith(("ok: ", "fail: "))
    assert [line.split()[0] for line in done.stderr.splitlines() if line[:1] != " "] == [*CHECKS, "next:"]
    quiet = obo(*arguments, "--quiet")
    assert (quiet.stdout, quiet.stderr) == (done.stdout, "")


@pytest.mark.docker
def test_it_spends_nothing_and_changes_nothing(
    checkout: Path, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    asked: list[str] = []
    data = tmp_path / "workspace" / "data"
    data.mkdir()
    (data / "settings.json").write_text(json.dumps({"OPENROUTER_API_KEY": SECRET, "OUROBOROS_MODEL": "a/b"}))
    home = tmp_path / "home"
    home.mkdir()
    before = snapshot(tmp_path)
    environ: dict[str, str] = {
        "HOME": str(home),
        "TMPDIR": str(tmp_path),
        "OUROBOROS_BENCH_RUNS_ROOT": str(tmp_path / "new" / "runs"),
    }
    of_engine: list[str] = []
    socket_place = tmp_path_factory.mktemp("e") / "s"
    with server(asked, {"OUROBOROS_MODEL": "a/b"}) as url, watched_engine(socket_place, of_engine) as engine:
        done = doctor(checkout, url, env=environ | {"DOCKER_HOST": engine})
    assert found(done, "docker-command")["status"] == "ok"
    assert found(done, "runs-root")["finding"].endswith(f"would be made below {str(tmp_path)!r}")
    assert found(done, "openrouter-key")["finding"] == "OPENROUTER_API_KEY is set in the settings file"
    assert snapshot(tmp_path) == before
    assert {line.split()[0] for line in of_engine} <= {"GET", "HEAD"}, of_engine
    assert any("/info" in line for line in of_engine)
    assert set(asked) == {"GET /api/health", "GET /api/state", "GET /api/settings"}
    assert SECRET not in done.stdout + done.stderr


def test_without_anything_every_check_still_speaks(tmp_path: Path) -> None:
    """No checkout, no server, no engine, no evaluator: none of them hides another."""
    environ = {"DOCKER_HOST": f"unix://{tmp_path}/none.sock", "PROGRAMBENCH_PYTHON": str(tmp_path / "no-python")}
    environ |= {"OUROBOROS_BENCH_RUNS_ROOT": "", "PROGRAMBENCH_CPUS": "4"}
    done = obo("doctor", "--ouroboros-url", "http://127.0.0.1:1", "--json", cwd=tmp_path, env=environ)
    assert done.status == 5
    failed = {each["id"] for each in done.envelope["result"]["checks"] if each["status"] == "fail"}
    assert failed == {"engine", "evaluator", "checkout", "server", "runs-root"}
    assert "none.sock" in found(done, "engine")["finding"]
    assert "no-python" in found(done, "evaluator")["finding"]
    assert "--repo-dir" in found(done, "checkout")["remedy"]
    assert "start the Ouroboros server" in found(done, "server")["remedy"]
    assert found(done, "engine-disk") == {
        "id": "engine-disk", "status": "skipped", "finding": "no Docker engine answers", "remedy": "",
        "seconds": found(done, "engine-disk")["seconds"],
    }  # fmt: skip
    assert "nobody reads PROGRAMBENCH_CPUS" in found(done, "evaluator-variables")["finding"]


def test_what_a_run_would_refuse_is_told_in_its_words(checkout: Path, tmp_path: Path) -> None:
    (checkout / "new.py").write_text("x = 1\n")
    settings = tmp_path / "settings.json"
    settings.write_text('{"OUROBOROS_MODEL": }')
    with server([], state={"workers_alive": 0, "budget_limit": 10.0, "spent_usd": 10.0}) as url:
        named = ("--settings-path", settings, "--runs-root", checkout / "runs", "--expected-version", "6.99.0")
        done = doctor(checkout, url, *named, "--solve-model", "a/b")
    assert "new.py" in found(done, "checkout")["finding"]
    assert "line 1, column 21" in found(done, "settings-file")["finding"]
    assert "none of its workers is alive" in found(done, "server-ready")["finding"]
    assert "expected is 6.99.0" in found(done, "server-version")["finding"]
    assert "would pause every task" in found(done, "server-budget")["finding"]
    assert "would land in the checkout" in found(done, "runs-root")["finding"]
    assert (
        "the live server solves with 'practice::scripted-solver', declared is 'a/b'"
        in (found(done, "settings-live")["finding"])
    )
    assert found(done, "model-slots")["status"] == "skipped"
    waived = doctor(checkout, "http://127.0.0.1:1", "--allow-dirty-seed")
    assert found(waived, "checkout")["status"] == "warn"


def test_slots_that_the_runtime_would_rewrite_are_told_with_their_replacement(checkout: Path, tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text(json.dumps({"OPENAI_API_KEY": SECRET, "OUROBOROS_MODEL": "openai/gpt-5.5"}))
    environ = NO_EVALUATOR | {"OPENROUTER_API_KEY": "", "OPENAI_BASE_URL": "", "ANTHROPIC_API_KEY": ""}
    done = doctor(checkout, "http://127.0.0.1:1", "--settings-path", settings, env=environ)
    assert found(done, "model-slots")["status"] == "fail"
    assert 'write "openai::gpt-5.5" instead of "openai/gpt-5.5"' in found(done, "model-slots")["finding"]


def test_modes_that_differ_from_the_profile_and_a_moved_port_and_clock_are_warnings(checkout: Path) -> None:
    modes = {"OUROBOROS_TASK_REVIEW_MODE": "auto", "OUROBOROS_POST_TASK_EVOLUTION": False, "_meta": {"bind_port": 8999}}
    with server([], modes, date="Mon, 01 Jan 2024 00:00:00 GMT") as url:
        done = doctor(checkout, url)
    assert found(done, "server-profile")["finding"] == "OUROBOROS_TASK_REVIEW_MODE is 'auto', not 'required'"
    assert "programbench settings --into" in found(done, "server-profile")["remedy"]
    assert "listens on port 8999" in found(done, "server-port")["finding"]
    assert "behind ours" in found(done, "server-clock")["finding"]
    assert {found(done, name)["status"] for name in ("server-profile", "server-port", "server-clock")} == {"warn"}


def test_a_server_that_moved_to_the_next_port_is_found(checkout: Path) -> None:
    for _ in range(20):
        with server([]) as url:
            port = int(url.rpartition(":")[2])
            with socket.socket() as below:
                try:
                    below.bind(("127.0.0.1", port - 1))
                except OSError:
                    continue
            done = doctor(checkout, f"http://127.0.0.1:{port - 1}")
            assert found(done, "server")["remedy"] == f"give --ouroboros-url {url}"
            return
    pytest.fail("no free port below another one")


def test_the_override_is_a_warning(checkout: Path) -> None:
    with server([]) as url:
        done = doctor(checkout, url, "--expected-version", "1.0", env=NO_EVALUATOR | {"OBO_ALLOW_EVOLVED_VOLUME": "1"})
    assert found(done, "server-version")["status"] == "warn"
    assert "OBO_ALLOW_EVOLVED_VOLUME waives that" in found(done, "server-version")["finding"]


def test_a_run_that_died_in_the_middle_is_found(checkout: Path, tmp_path: Path) -> None:
    run = tmp_path / "runs" / "programbench" / "night"
    run.mkdir(parents=True)
    (run / ".run.owner.json").write_text('{"pid": 1, "host": "h"}')
    done = doctor(checkout, "http://127.0.0.1:1", "--runs-root", tmp_path / "runs")
    assert "left in the middle by a process that died: programbench/night" in found(done, "run-locks")["finding"]
    assert not (run / ".run.lock").exists()


def test_proxies_are_told_without_their_passwords(checkout: Path) -> None:
    environ = NO_EVALUATOR | {"HTTP_PROXY": "http://me:hunter22222@127.0.0.1:9", "NO_PROXY": "", "no_proxy": ""}
    with server([]) as url:
        done = doctor(checkout, url, env=environ)
    assert found(done, "server")["status"] == "ok"
    assert "asked directly, also without NO_PROXY" in found(done, "proxies")["finding"]
    assert "hunter22222" not in done.stdout + done.stderr


@pytest.mark.parametrize("flag", [("--seed-commit", "main"), ("--ouroboros-url", "nowhere"), ("--expect", "")])
def test_meaningless_values_are_usage_errors(checkout: Path, flag: tuple[str, str]) -> None:
    done = obo("doctor", "--repo-dir", checkout, *flag, "--json", env={"DOCKER_HOST": "unix:///nowhere"})
    assert (done.status, done.envelope["outcome"]) == (2, "usage_error")
