"""The other forms of `attest`'s answer: a file, assignments for a shell, and the meaning of the override."""

import json
import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from obo_bench.cli.shell import ATTEST_KEYS, assignments
from obo_bench.gateway.attestation import override_is_set
from tests.conftest import Done, answering, git, obo

Serve = Callable[..., str]
NOWHERE = "http://127.0.0.1:1"
SHELLS = ("sh", "bash")
HOSTILE = "'; touch PWNED; $(touch PWNED) `touch PWNED` \"\\ \n\n*?~!#&|><{}[]\té"
OVERRIDE = "OBO_ALLOW_EVOLVED_VOLUME"


def attest(checkout: Path, tmp_path: Path, url: str, *more: str | Path, env: dict[str, str] | None = None) -> Done:
    return obo(
        "attest", "--repo-dir", checkout, "--ouroboros-url", url, "--runs-root", tmp_path / "runs", *more, env=env
    )


def evaluated(shell: str, text: str, where: Path) -> dict[str, str]:
    """What a shell knows after `eval "$text"`; a file PWNED appears in `where` when anything of it was run."""
    names = sorted(set(re.findall(r"^([A-Z_]+)=", text, re.MULTILINE)))
    show = "".join(f'printf "%s\\0" "${{{name}}}"; ' for name in names)
    done = subprocess.run(
        [shell, "-euc", f'eval "$1"; {show}', shell, os.fsencode(text)],
        cwd=where, capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == b""
    return dict(zip(names, map(os.fsdecode, done.stdout.split(b"\0")), strict=False))


@contextmanager
def claiming(health: Mapping[str, object]) -> Iterator[str]:
    class Claim(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps(health).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with answering(Claim) as host:
        yield f"http://{host}"


@pytest.mark.parametrize("shell", SHELLS)
def test_any_text_survives_the_shell_and_runs_nothing(shell: str, tmp_path: Path) -> None:
    values = {
        "A": HOSTILE,
        "B": "",
        "C": "plain",
        "D": os.fsdecode(b"\xe4' \xff"),
        "E": "-n",
        "F": "a=b c",
        "G": "x\0y",
    }
    known = evaluated(shell, assignments(values), tmp_path)
    assert known == {**values, "G": "xy"}
    assert list(tmp_path.iterdir()) == []


def test_truth_is_one_and_zero_and_the_unknown_is_empty() -> None:
    assert assignments({"A": True, "B": False, "C": None, "D": 5}) == "A=1\nB=0\nC=''\nD=5"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_learns_everything_it_needs(shell: str, checkout: Path, tmp_path: Path, serve: Serve) -> None:
    done = attest(checkout, tmp_path, serve(), "--shell")
    assert done.status == 0, done.stderr
    known = evaluated(shell, done.stdout, tmp_path)
    assert tuple(line.split("=")[0] for line in done.stdout.splitlines()) == ATTEST_KEYS
    assert known["OBO_ATTEST_OK"] == "1"
    assert known["OBO_ATTEST_RUNTIME_VERSION"] == known["OBO_ATTEST_REPO_VERSION"] == "6.75.0"
    assert known["OBO_ATTEST_REPO_HEAD"] == git(checkout, "rev-parse", "HEAD")
    assert (known["OBO_ATTEST_READY"], known["OBO_ATTEST_OVERRIDDEN"], known["OBO_ATTEST_EXIT_CODE"]) == ("1", "0", "0")
    assert Path(known["OBO_ATTEST_MANIFEST"]).parent == Path(known["OBO_ATTEST_RUN_ROOT"])


@pytest.mark.parametrize("shell", SHELLS)
def test_a_hostile_server_and_hostile_paths_run_nothing(shell: str, checkout: Path, tmp_path: Path) -> None:
    odd = tmp_path / os.fsdecode(b"a'b $(touch PWNED) `touch PWNED`\n\xe4\"")
    odd.mkdir()
    moved = checkout.rename(odd / "ouroboros")
    with claiming({"runtime_version": HOSTILE}) as url:
        done = subprocess.run(
            [sys.executable, "-m", "obo_bench", "attest", "--shell", "-q", "--repo-dir", str(moved),
             "--ouroboros-url", url, "--runs-root", str(odd / "runs"), "--run-id", "a"],
            capture_output=True, check=False, timeout=60,
        )  # fmt: skip
    known = evaluated(shell, os.fsdecode(done.stdout), tmp_path)
    assert (done.returncode, known["OBO_ATTEST_OK"], known["OBO_ATTEST_EXIT_CODE"]) == (3, "0", "3")
    assert known["OBO_ATTEST_STAGE"] == "runtime_attestation"
    assert known["OBO_ATTEST_RUN_ROOT"] == str(odd / "runs" / "attest" / "a")
    assert not list(tmp_path.rglob("PWNED"))
    assert not Path("PWNED").exists()


def test_paths_keep_their_bytes_in_any_locale(checkout: Path, tmp_path: Path) -> None:
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = obo("attest", "-q", "--shell", "--repo-dir", tmp_path / "é", "--runs-root", tmp_path / "ü", env=ascii_only)
    known = evaluated("sh", done.stdout, tmp_path)
    assert Path(known["OBO_ATTEST_MANIFEST"]).is_relative_to(tmp_path / "ü")
    assert "é" in known["OBO_ATTEST_MESSAGE"]


def test_a_refusal_tells_a_script_why_and_whether_to_go_on(checkout: Path, tmp_path: Path) -> None:
    known = evaluated("sh", attest(checkout, tmp_path, NOWHERE, "--shell").stdout, tmp_path)
    assert (known["OBO_ATTEST_OK"], known["OBO_ATTEST_OUTCOME"]) == ("0", "refused")
    assert (known["OBO_ATTEST_REASON"], known["OBO_ATTEST_CAMPAIGN_FATAL"]) == ("runtime_unreachable", "1")
    assert known["OBO_ATTEST_REMEDY"] == "start the Ouroboros server, or correct --ouroboros-url"
    (checkout / "dirt").write_text("x")
    known = evaluated("sh", attest(checkout, tmp_path, NOWHERE, "--shell").stdout, tmp_path)
    assert (known["OBO_ATTEST_REASON"], known["OBO_ATTEST_CAMPAIGN_FATAL"]) == ("seed_dirty", "0")


@pytest.mark.parametrize("wrong", [["--json"], ["--no-such"], ["--seed-commit", "main"], ["--ouroboros-url", "x y"]])
def test_a_usage_error_answers_the_shell_too(checkout: Path, tmp_path: Path, wrong: list[str]) -> None:
    done = attest(checkout, tmp_path, NOWHERE, "--shell", *wrong)
    known = evaluated("sh", done.stdout, tmp_path)
    assert tuple(sorted(known)) == tuple(sorted(ATTEST_KEYS))
    assert (done.status, known["OBO_ATTEST_EXIT_CODE"], known["OBO_ATTEST_OK"]) == (2, "2", "0")
    assert known["OBO_ATTEST_OUTCOME"] == "usage_error"
    assert known["OBO_ATTEST_MESSAGE"]
    assert not (tmp_path / "runs").exists()


def test_help_never_looks_like_an_attestation(tmp_path: Path) -> None:
    assert "OBO_ATTEST_OK" not in obo("attest", "--shell", "--help").stdout


def test_the_record_is_written_as_a_document(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    file = tmp_path / "record.json"
    file.write_text("an earlier one")
    done = attest(checkout, tmp_path, serve(), "--output", file, "--json")
    assert done.status == 0, done.stderr
    assert json.loads(file.read_text()) == done.envelope["result"]
    assert file.read_text().endswith("}\n")
    beside = tmp_path / "beside"
    beside.touch()
    assert file.stat().st_mode == beside.stat().st_mode, "whoever names a file decides by his umask who may read it"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


@pytest.mark.parametrize(("dirt", "reason"), [(True, "seed_dirty"), (False, "runtime_unreachable")])
def test_a_refusal_writes_what_is_known_so_far(checkout: Path, tmp_path: Path, dirt: bool, reason: str) -> None:
    if dirt:
        (checkout / "dirt").write_text("x")
    done = attest(checkout, tmp_path, NOWHERE, "--output", tmp_path / "record.json", "--json")
    record = json.loads((tmp_path / "record.json").read_text())
    assert (record["ok"], record["refusal"]["reason"], record["refusal"]["exit_code"]) == (False, reason, done.status)
    assert record["source"]["head"] == git(checkout, "rev-parse", "HEAD")
    assert record == done.envelope["result"]


@pytest.mark.parametrize("where", ["missing/record.json", "directory", "pipe"])
def test_an_output_that_cannot_be_written_is_a_typed_refusal(
    checkout: Path, tmp_path: Path, serve: Serve, where: str
) -> None:
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "pipe")
    url = serve()
    done = attest(checkout, tmp_path, url, "--output", tmp_path / where, "--json")
    assert (done.status, done.envelope["refusal"]["reason"]) == (5, "output_unwritable")
    assert done.manifest["extra"]["refusal"]["reason"] == "output_unwritable"
    assert str(tmp_path / where) in done.stderr
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    done = attest(checkout, tmp_path, NOWHERE, "--output", tmp_path / where, "--json")
    assert (done.status, done.envelope["refusal"]["reason"]) == (3, "runtime_unreachable")
    assert str(tmp_path / where) in done.stderr
    assert "refused (runtime_attestation: runtime_unreachable)" in done.stderr


def test_an_output_never_lands_where_the_server_lives(checkout: Path, tmp_path: Path) -> None:
    done = attest(checkout, tmp_path, NOWHERE, "--output", checkout / "record.json", "--json")
    assert (done.status, done.envelope["refusal"]["reason"]) == (5, "output_not_confined")
    assert not (checkout / "record.json").exists()


@pytest.mark.parametrize("name", ["runs/attest/a/x.json", "link/x.json", "run_manifest.json", "result_index.jsonl"])
def test_an_output_never_replaces_a_file_of_a_run(checkout: Path, tmp_path: Path, serve: Serve, name: str) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "runs" / "attest" / "a")
    done = attest(checkout, tmp_path, serve(), "--run-id", "a", "--output", tmp_path / name, "--json")
    assert (done.status, done.envelope["refusal"]["reason"]) == (5, "output_unwritable")
    assert "a run's own file" in done.envelope["refusal"]["message"]
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("name", ["instance_order.json", "one/submission.json", "manifests/x.json"])
def test_an_output_never_replaces_a_file_of_another_run(
    checkout: Path, tmp_path: Path, serve: Serve, name: str
) -> None:
    other = tmp_path / "runs" / "programbench" / "other"
    (other / name).parent.mkdir(parents=True)
    (other / "run_manifest.json").write_text("{}")
    (other / name).write_text("evidence")
    done = attest(checkout, tmp_path, serve(), "--output", other / name, "--json")
    assert (done.status, done.envelope["refusal"]["reason"]) == (5, "output_unwritable")
    assert (other / name).read_text() == "evidence"


@pytest.mark.parametrize("value", ["1", "true", "YES", "True"])
def test_what_means_yes(value: str) -> None:
    assert override_is_set({OVERRIDE: value})


@pytest.mark.parametrize("value", ["", "0", "on", "y", "11", "truee", "1 ", "no"])
def test_everything_else_means_no(value: str) -> None:
    assert override_is_set({OVERRIDE: value}) is override_is_set({}) is False


@pytest.mark.parametrize("value", ["Yes", None, "on", "$(touch PWNED)"])
def test_the_shell_and_python_agree_on_the_override(value: str | None, tmp_path: Path) -> None:
    env = {} if value is None else {OVERRIDE: value}
    is_set = override_is_set(env)
    done = obo("attest", "--explain-override", env=env)
    assert (done.status, done.stderr, done.stdout.count("\n")) == (0 if is_set else 1, "", 1)
    assert f"{OVERRIDE} is {'set' if is_set else 'not set'}" in done.stdout
    answer = obo("programbench", "attest", "--explain-override", "--json", env=env)
    assert (answer.status, answer.envelope["exit_code"]) == (done.status, done.status)
    assert (answer.envelope["outcome"], answer.envelope["run_root"]) == ("completed", None)
    assert answer.envelope["result"]["set"] is is_set
    known = evaluated("sh", obo("attest", "--explain-override", "--shell", env=env).stdout, tmp_path)
    assert known == {f"{OVERRIDE}_SET": str(int(is_set)), f"{OVERRIDE}_WAIVES": "runtime_skew"}


def test_the_explanation_needs_nothing_and_records_nothing(tmp_path: Path) -> None:
    env = {"PYTHONPATH": str(Path.cwd()), "OUROBOROS_BENCH_RUNS_ROOT": str(tmp_path / "runs"), OVERRIDE: "1"}
    done = obo("attest", "--explain-override", "--quiet", cwd=tmp_path, env=env)
    assert (done.status, done.stdout, done.stderr) == (0, "", "")
    assert list(tmp_path.iterdir()) == []
    done = obo("attest", "--explain-override", "--require-ready", cwd=tmp_path, env=env)
    assert done.status == 2
    assert "--require-ready" in done.stderr
