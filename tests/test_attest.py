"""`attest`, as a process: what it asks, what it refuses, what it writes and what it leaves alone."""

import base64
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.manifest import Outcome
from obo_bench.programbench.attest_record import record_of
from tests.conftest import Done, answering, git, obo
from tests.test_refusals import assert_refused, free_port

Serve = Callable[..., str]
NOWHERE = "http://127.0.0.1:1"


def attest(checkout: Path, tmp_path: Path, url: str, *more: str | Path, env: dict[str, str] | None = None) -> Done:
    return obo(
        "attest", "--repo-dir", checkout, "--ouroboros-url", url, "--run-id", "a", "--json",
        "--runs-root", tmp_path / "runs", *more, env=env,
    )  # fmt: skip


def row(done: Done, check: str) -> str:
    """A line of the table without its name, blanks squeezed."""
    (line,) = [line for line in done.stderr.splitlines() if line.startswith(f"{check} ")]
    return " ".join(line.split()[1:])


@contextmanager
def guarded(password: str) -> Iterator[str]:
    """A server that says who it is to everybody and the rest only to those who know the password."""
    answers = {
        "/api/health": {"status": "ok", "runtime_version": "6.75.0"},
        "/api/state": {"supervisor_ready": True, "supervisor_error": None, "workers_alive": 1, "workers_total": 1},
        "/api/settings": {"OUROBOROS_MODEL": "practice::scripted-solver"},
    }

    class Guard(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            shown = base64.b64decode(self.headers.get("Authorization", "").removeprefix("Basic ")).decode()
            known = self.path == "/api/health" or shown.partition(":")[2] == password
            body = json.dumps(answers[self.path] if known else {"error": "Authentication required"}).encode()
            self.send_response(200 if known else 401)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with answering(Guard) as host:
        yield f"http://{host}"


def test_a_run_would_be_admitted(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    url = serve()
    done = attest(checkout, tmp_path, url)
    assert done.status == 0, done.stderr
    assert done.envelope["command"] == "attest"
    assert done.envelope["run_root"] == str(tmp_path / "runs" / "attest" / "a")
    record, manifest = done.envelope["result"], done.manifest
    assert record == record_of(manifest).document()
    assert (manifest["command"], manifest["requested_count"]) == ("attest", 0)
    assert (manifest["extra"]["outcome"], manifest["extra"]["exit_code"]) == ("completed", 0)
    assert (
        record["ok"] is record["seed_gate"]["ok"] is record["attestation"]["ok"] is record["readiness"]["ready"] is True
    )
    assert record["source"]["head"] == git(checkout, "rev-parse", "HEAD")
    assert record["settings"]["live_model"] == "practice::scripted-solver"
    assert record["settings"]["findings"] == record["readiness"]["findings"] == []


def test_the_table_has_one_aligned_line_for_each_check(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    done = obo("attest", "--repo-dir", checkout, "--ouroboros-url", serve(), "--runs-root", tmp_path / "runs")
    *lines, hint = done.stderr.splitlines()
    assert hint.startswith("next: obo-bench programbench run ")
    assert [line.split()[0] for line in lines] == ["checkout", "lineage", "server", "readiness", "settings"]
    assert [line[11:].split("  ")[0] for line in lines] == ["ok", "not asked", "ok", "ready", "ok"]
    assert len({len(line) - len(line[11:].split("  ", 1)[1].lstrip()) for line in lines}) == 1
    assert "\x1b" not in done.stderr
    assert (tmp_path / "runs" / "attest").is_relative_to(Path(done.stdout.strip()).parent)
    assert done.stdout.count("\n") == 1


def test_quiet_leaves_only_the_answer(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    done = obo("attest", "-q", "--repo-dir", checkout, "--ouroboros-url", serve(), "--runs-root", tmp_path / "runs")
    assert (done.status, done.stderr) == (0, "")
    assert Path(done.stdout.strip()).is_dir()


def test_both_names_are_the_same_command(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    place = ("--repo-dir", checkout, "--ouroboros-url", serve(), "--runs-root", tmp_path / "runs", "--json")
    short, long = obo("attest", *place), obo("programbench", "attest", *place)
    assert short.status == long.status == 0
    assert short.manifest["command"] == long.manifest["command"] == "attest"
    assert (
        obo("attest", "--help").stdout.split("\n")[1:] == obo("programbench", "attest", "--help").stdout.split("\n")[1:]
    )


def test_nothing_is_submitted_and_nothing_but_the_record_is_written(
    checkout: Path, tmp_path: Path, serve: Serve
) -> None:
    url = serve()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "workspace").rglob("*")}
    assert attest(checkout, tmp_path, url, "--require-ready").status == 0
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "workspace").rglob("*")} == before
    files = {path.name for path in (tmp_path / "runs").rglob("*") if path.is_file()}
    assert "run_manifest.json" in files
    assert not {name for name in files if "task" in name or name.endswith("index.jsonl")}


def test_a_dirty_seed_is_refused_before_the_server_is_asked(checkout: Path, tmp_path: Path) -> None:
    (checkout / "dirt").write_text("x")
    done = attest(checkout, tmp_path, NOWHERE)
    assert_refused(done, 4, "seed_dirty", "dirt")
    record = done.envelope["result"]
    assert (record["ok"], record["refusal"]["reason"], record["attestation"]) == (False, "seed_dirty", None)
    assert [line.split()[1] for line in done.stderr.splitlines()[:5]] == ["refused", "not", "not", "not", "not"]
    assert "what to do: commit or stash" in done.stderr.splitlines()[0]


def test_a_worktree_is_refused_only_where_the_seed_is_mounted(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    worktree = tmp_path / "elsewhere" / "worktree"
    git(checkout, "worktree", "add", "-q", str(worktree))
    assert attest(worktree, tmp_path, serve()).status == 0
    done = attest(worktree, tmp_path, NOWHERE, "--require-git-directory", "--run-id", "b")
    assert_refused(done, 4, "seed_is_not_a_git_directory")


def test_lineage_is_asked_through_the_seam(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    url, head = serve(), git(checkout, "rev-parse", "HEAD")
    done = attest(checkout, tmp_path, url, "--seed-commit", head[:12])
    assert done.status == 0, done.stderr
    assert done.envelope["result"]["lineage"]["ok"] is True
    assert row(done, "lineage") == f"ok descends from {head[:12]}"
    assert_refused(attest(checkout, tmp_path, url, "--run-id", "b", "--require-stamp"), 4, "stamp_absent")
    done = attest(checkout, tmp_path, url, "--run-id", "c", "--seed-commit", "0" * 40)
    assert_refused(done, 4, "lineage_unknown")
    assert [line.split()[1] for line in done.stderr.splitlines()[:3]] == ["ok", "refused", "not"]


def test_a_stamp_that_nobody_asked_for_proves_nothing(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    (checkout / ".git" / "ouroboros_seed").write_text("0" * 40 + "\n")
    url = serve()
    done = attest(checkout, tmp_path, url)
    assert done.status == 0, done.stderr
    assert row(done, "lineage") == f"not asked no --seed-commit, no --require-stamp; the stamp says {'0' * 40}"
    assert_refused(attest(checkout, tmp_path, url, "--run-id", "b", "--require-stamp"), 4, "lineage_unknown")


def test_ignored_files_that_could_be_imported_are_told(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    (checkout / ".git" / "info").mkdir(exist_ok=True)
    (checkout / ".git" / "info" / "exclude").write_text("local_tricks.py\n")
    (checkout / "local_tricks.py").write_text("x = 1\n")
    done = attest(checkout, tmp_path, serve())
    assert done.status == 0, done.stderr
    assert done.manifest["source"]["ignored_importable"] == ["local_tricks.py"]
    assert "clean; 1 ignored file(s) could be imported" in row(done, "checkout")


def test_the_server_is_refused_with_the_attestation_reasons(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    nobody = f"http://127.0.0.1:{free_port()}"
    assert_refused(attest(checkout, tmp_path, nobody), 3, "runtime_unreachable", nobody)
    done = attest(checkout, tmp_path, serve(), "--run-id", "b", "--expected-version", "9.9.9")
    assert_refused(done, 3, "runtime_skew", "9.9.9", "6.75.0")
    record = done.envelope["result"]
    assert (record["attestation"]["overridden"], record["readiness"]) == (False, None)
    assert row(done, "server").startswith("refused")


def test_the_override_waives_the_skew_and_the_table_says_so(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    done = attest(checkout, tmp_path, serve(version="6.99.0"), env={"OBO_ALLOW_EVOLVED_VOLUME": "True"})
    assert done.status == 0
    assert done.envelope["result"]["attestation"]["overridden"] is True
    assert row(done, "server").startswith("waived")


def test_readiness_is_reported_without_waiting(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    done = attest(checkout, tmp_path, serve(start_delay_sec=60.0))
    assert done.status == 0, done.stderr
    readiness = done.envelope["result"]["readiness"]
    assert readiness["ready"] is False
    assert [finding["reason"] for finding in readiness["findings"]] == ["gateway_not_ready"]
    assert row(done, "readiness").startswith("not ready")


def test_readiness_that_is_required_is_waited_for(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    done = attest(checkout, tmp_path, serve(start_delay_sec=6.0), "--require-ready")
    assert done.status == 0, done.stderr
    assert "waiting for the server" in done.stderr
    assert done.envelope["result"]["readiness"]["ready"] is True


def test_a_password_that_is_missing_is_reported(checkout: Path, tmp_path: Path) -> None:
    password = "secret-of-the-network"
    with guarded(password) as url:
        done = attest(checkout, tmp_path, url)
        assert done.status == 0, done.stderr
        assert done.envelope["result"]["readiness"]["findings"][0]["reason"] == "gateway_auth_required"
        assert done.envelope["result"]["readiness"]["ready"] is None
        done = attest(checkout, tmp_path, url, "--run-id", "b", "--require-ready")
        assert_refused(done, 5, "gateway_auth_required")
        env = {"OUROBOROS_NETWORK_PASSWORD": password}
        done = attest(checkout, tmp_path, url, "--run-id", "c", "--require-ready", env=env)
        assert done.status == 0, done.stderr
        assert password not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("content", "reason"),
    [("{", "settings_unreadable"), ('{"OUROBOROS_MODEL": "other::model"}', "target_settings_mismatch")],
)
def test_settings_are_reported_and_refused_only_with_a_declared_model(
    checkout: Path, tmp_path: Path, serve: Serve, content: str, reason: str
) -> None:
    url, settings = serve(), tmp_path / "conf" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(content)
    done = attest(checkout, tmp_path, url, "--settings-path", settings)
    assert done.status == 0, done.stderr
    found = done.envelope["result"]["settings"]
    assert [finding["reason"] for finding in found["findings"]] == [reason]
    assert found["live_model"] == "practice::scripted-solver"
    assert row(done, "settings").startswith("problem")
    model = json.loads(content)["OUROBOROS_MODEL"] if content != "{" else "practice::scripted-solver"
    done = attest(checkout, tmp_path, url, "--settings-path", settings, "--solve-model", model, "--run-id", "b")
    assert_refused(done, 5, reason)
    assert row(done, "settings").startswith("refused")


def test_the_declared_model_must_be_the_one_of_file_and_server(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    url, settings = serve(), tmp_path / "conf" / "settings.json"
    settings.parent.mkdir()
    settings.write_text('{"OUROBOROS_MODEL": "practice::scripted-solver"}')
    place = ("--settings-path", settings)
    assert attest(checkout, tmp_path, url, *place, "--solve-model", "practice::scripted-solver").status == 0
    done = attest(checkout, tmp_path, url, *place, "--solve-model", "other::model", "--run-id", "b")
    assert_refused(done, 5, "solve_model_mismatch")
    done = attest(checkout, tmp_path, url, "--solve-model", "other::model", "--run-id", "c")
    assert_refused(done, 5, "target_settings_mismatch")


def test_an_interrupt_is_recorded(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "obo_bench", "attest", "--repo-dir", str(checkout), "--require-ready", "--json",
         "--ouroboros-url", serve(workers=0), "--run-id", "a", "--runs-root", str(tmp_path / "runs")],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stderr is not None
    assert b"waiting for the server" in process.stderr.readline()
    process.send_signal(signal.SIGTERM)
    answer, _ = process.communicate(timeout=60)
    envelope: dict[str, Any] = json.loads(answer)
    assert process.returncode == envelope["exit_code"] == 143
    outcome: Outcome = json.loads(Path(envelope["manifest"]).read_text())["extra"]["outcome"]
    assert outcome == envelope["outcome"] == "interrupted"
