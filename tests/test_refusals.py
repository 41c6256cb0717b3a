"""Bad input, by behaviour: the command as a process, its status, and what it left on disk."""

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from tests.conftest import Done, answering, git, obo

Serve = Callable[..., str]


def run(checkout: Path, tmp_path: Path, url: str, *more: str | Path, env: dict[str, str] | None = None) -> Done:
    return obo(
        "programbench", "run", "--repo-dir", checkout, "--ouroboros-url", url, "--run-id", "r", "--json",
        "--runs-root", tmp_path / "runs", *more, env=env,
    )  # fmt: skip


def settings_file(tmp_path: Path) -> Path:
    """Settings in a directory of their own: no output may land beside them."""
    place = tmp_path / "conf"
    place.mkdir()
    return place / "settings.json"


def assert_refused(done: Done, status: int, reason: str, *named: str) -> None:
    """The status, the manifest on disk, the envelope and stderr tell the same story."""
    assert done.status == status, done.stderr
    envelope = done.envelope
    assert envelope["exit_code"] == status
    assert envelope["outcome"] == "refused"
    assert envelope["refusal"]["reason"] == reason
    extra = done.manifest["extra"]
    assert extra["exit_code"] == status
    assert extra["refusal"]["reason"] == reason
    assert extra["refusal"]["remedy"]
    assert reason in done.stderr
    for text in named:
        assert text in envelope["refusal"]["message"]


def assert_usage(done: Done, tmp_path: Path, *named: str) -> None:
    assert done.status == 2, done.stderr
    assert done.envelope["exit_code"] == 2
    assert done.envelope["error"]["type"] == "UsageError"
    assert not (tmp_path / "runs").exists()
    for text in named:
        assert text in done.stderr


@contextmanager
def impostor(body: bytes, content_type: str) -> Iterator[str]:
    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", content_type)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with answering(Answer) as host:
        yield f"http://{host}"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def test_nothing_answers(checkout: Path, tmp_path: Path) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    assert_refused(run(checkout, tmp_path, url), 3, "runtime_unreachable", url)


@pytest.mark.parametrize(
    ("body", "kind"),
    [(b"<html>hello</html>", "text/html"), (b'{"version": "6.75.0"}', "application/json"), (b"[]", "application/json")],
)
def test_something_else_answers(checkout: Path, tmp_path: Path, body: bytes, kind: str) -> None:
    with impostor(body, kind) as url:
        assert_refused(run(checkout, tmp_path, url), 3, "runtime_version_absent", url)


def test_another_version_runs(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    url = serve(version="6.99.0")
    done = run(checkout, tmp_path, url)
    assert_refused(done, 3, "runtime_skew", "6.99.0", "6.75.0")
    record = done.manifest["extra"]["runtime_attestation"]
    assert (record["override_set"], record["overridden"], record["ok"]) == (False, False, False)


def test_the_override_waives_the_skew_and_says_so(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    url = serve(version="6.99.0")
    done = run(checkout, tmp_path, url, "--instance-id", "no__such.0000000", env={"OBO_ALLOW_EVOLVED_VOLUME": "Yes"})
    assert_refused(done, 5, "unknown_instance", "no__such.0000000")
    record = done.manifest["extra"]["runtime_attestation"]
    assert (record["reason"], record["override_set"], record["overridden"]) == ("runtime_skew", True, True)


def test_the_override_waives_nothing_else(checkout: Path, tmp_path: Path) -> None:
    done = run(checkout, tmp_path, f"http://127.0.0.1:{free_port()}", env={"OBO_ALLOW_EVOLVED_VOLUME": "1"})
    assert_refused(done, 3, "runtime_unreachable")


def test_a_dirty_seed(checkout: Path, tmp_path: Path) -> None:
    (checkout / "new file.py").write_text("x = 1\n")
    done = run(checkout, tmp_path, "http://127.0.0.1:1")
    assert_refused(done, 4, "seed_dirty", "new file.py")
    assert done.manifest["seed_gate"]["ok"] is False


def test_a_dirty_seed_can_be_allowed_and_is_recorded(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    (checkout / "new file.py").write_text("x = 1\n")
    done = run(checkout, tmp_path, serve(), "--allow-dirty-seed", "--instance-id", "no__such.0000000")
    assert_refused(done, 5, "unknown_instance")
    gate = done.manifest["seed_gate"]
    assert (gate["ok"], gate["reason"], gate["allow_dirty_seed"]) == (True, "seed_dirty", True)


@pytest.mark.parametrize("bit", ["--assume-unchanged", "--skip-worktree"])
def test_changes_hidden_from_git(checkout: Path, tmp_path: Path, bit: str) -> None:
    git(checkout, "update-index", bit, "VERSION")
    (checkout / "VERSION").write_text("6.75.0\n# changed\n")
    assert_refused(run(checkout, tmp_path, "http://127.0.0.1:1"), 4, "seed_hidden_changes", "VERSION")


def test_no_commit(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    assert_refused(run(plain, tmp_path, "http://127.0.0.1:1"), 4, "seed_identity_unavailable", str(plain))


def test_a_subdirectory_of_a_checkout(checkout: Path, tmp_path: Path) -> None:
    below = checkout / "below"
    below.mkdir()
    assert_refused(run(below, tmp_path, "http://127.0.0.1:1"), 4, "seed_not_toplevel", str(below))


def test_the_environment_cannot_lend_another_repository(checkout: Path, tmp_path: Path) -> None:
    (checkout / "dirt").write_text("x")
    other = tmp_path / "other"
    git(tmp_path, "clone", "-q", str(checkout), str(other))
    lies = {"GIT_DIR": str(other / ".git"), "GIT_WORK_TREE": str(other), "GIT_CONFIG_COUNT": "1"}
    lies |= {"GIT_CONFIG_KEY_0": "status.showUntrackedFiles", "GIT_CONFIG_VALUE_0": "no"}
    assert_refused(run(checkout, tmp_path, "http://127.0.0.1:1", env=lies), 4, "seed_dirty", "dirt")


def test_expect_names_another_commit(checkout: Path, tmp_path: Path) -> None:
    done = run(checkout, tmp_path, "http://127.0.0.1:1", "--expect", "deadbeef")
    assert_refused(done, 4, "seed_mismatch", "deadbeef")
    head = git(checkout, "rev-parse", "HEAD")
    for good in (head[:10], "6.75.0"):
        assert_refused(run(checkout, tmp_path, "http://127.0.0.1:1", "--expect", good), 3, "runtime_unreachable")


def test_what_is_expected_is_not_waived_with_the_dirt(checkout: Path, tmp_path: Path) -> None:
    (checkout / "dirt").write_text("x")
    done = run(checkout, tmp_path, "http://127.0.0.1:1", "--allow-dirty-seed", "--expect", "deadbeef")
    assert_refused(done, 4, "seed_mismatch")


def test_malformed_settings_are_named_by_line_and_column(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    settings = settings_file(tmp_path)
    settings.write_text('{\n  "OUROBOROS_MODEL": oops\n}\n')
    done = run(checkout, tmp_path, serve(), "--settings-path", settings)
    assert_refused(done, 5, "settings_unreadable", str(settings), "line 2, column 22")


def test_named_settings_must_exist_and_implicit_ones_need_not(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    url = serve()
    missing = settings_file(tmp_path)
    assert_refused(run(checkout, tmp_path, url, "--settings-path", missing), 5, "settings_unreadable", str(missing))
    done = run(checkout, tmp_path, url, "--instance-id", "no__such.0000000")
    assert_refused(done, 5, "unknown_instance")
    assert done.manifest["harness"]["settings"]["present"] is False


def test_settings_with_a_byte_order_mark_are_read(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    settings = settings_file(tmp_path)
    settings.write_bytes(b'\xef\xbb\xbf{"OUROBOROS_MODEL": "other::model"}')
    done = run(checkout, tmp_path, serve(), "--settings-path", settings)
    assert_refused(done, 5, "target_settings_mismatch", "other::model", "practice::scripted-solver")


def test_the_declared_model_must_be_the_one_that_solves(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    done = run(checkout, tmp_path, serve(), "--solve-model", "other::model")
    assert_refused(done, 5, "target_settings_mismatch", "other::model", "practice::scripted-solver")


def test_a_server_without_workers(serve: Serve) -> None:
    from obo_bench.core.refusals import PreflightRefused
    from obo_bench.core.reporter import SilentReporter
    from obo_bench.gateway.admission.readiness import wait_until_ready
    from obo_bench.gateway.client import GatewayClient

    with GatewayClient(serve(workers=0)) as client, pytest.raises(PreflightRefused) as refused:
        wait_until_ready(client, SilentReporter(), wait_sec=1.0)
    assert refused.value.reason == "gateway_not_ready"
    assert refused.value.exit_code == 5


def test_an_unknown_instance_names_near_ones(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    done = run(checkout, tmp_path, serve(), "--instance-id", "testorg__calculator.abc1235")
    assert_refused(done, 5, "unknown_instance", "testorg__calculator.abc1235", "testorg__calculator.abc1234")


def test_an_empty_selection(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    done = run(checkout, tmp_path, serve(), "--filter", "nothing-is-called-so")
    assert_refused(done, 5, "empty_selection", "nothing-is-called-so")
    assert done.manifest["requested_count"] is None


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"# nothing\n\n"])
def test_a_file_of_ids_that_cannot_be_used(checkout: Path, tmp_path: Path, serve: Serve, content: bytes | None) -> None:
    file = tmp_path / "ids.txt"
    if content is not None:
        file.write_bytes(content)
    assert_refused(run(checkout, tmp_path, serve(), "--ids-file", file), 5, "ids_file_unreadable", str(file))


def test_a_file_of_ids(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    file = tmp_path / "ids.txt"
    file.write_text("# smoke\nno__such.0000000  # a comment\n\n")
    assert_refused(run(checkout, tmp_path, serve(), "--ids-file", file), 5, "unknown_instance", "no__such.0000000")


def test_no_docker(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    nowhere = f"unix://{tmp_path}/no.sock"
    done = run(checkout, tmp_path, serve(), "--slice", "1", env={"DOCKER_HOST": nowhere})
    assert_refused(done, 5, "engine_unreachable", nowhere)


@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--slice", "a:b"),
        ("--slice", "0:5:0"),
        ("--filter", "["),
        ("--difficulty", "silly"),
        ("--memory", "lots"),
        ("--run-id", "a/b"),
        ("--ouroboros-url", "ftp://x"),
        ("--ouroboros-url", "http://"),
        ("--ouroboros-url", "http://[x"),
        ("--ouroboros-url", "http://h:99999"),
        ("--ouroboros-url", "http://a b"),
        ("--timeout-sec", "inf"),
        ("--cpus", "inf"),
    ],
)
def test_values_that_mean_nothing(checkout: Path, tmp_path: Path, flag: str, value: str) -> None:
    assert_usage(run(checkout, tmp_path, "http://127.0.0.1:1", flag, value), tmp_path, flag, value)


def test_unknown_options_and_missing_checkout(tmp_path: Path) -> None:
    done = obo("programbench", "run", "--no-such-flag", "--json")
    assert done.status == done.envelope["exit_code"] == 2
    done = obo("programbench", "run", "--json", env={"PYTHONPATH": str(Path.cwd())}, cwd=tmp_path)
    assert done.status == 2
    assert "--repo-dir" in done.stderr


@pytest.mark.parametrize("where", ["checkout", "link", "data", "settings"])
def test_outputs_never_land_where_the_server_lives(checkout: Path, tmp_path: Path, where: str) -> None:
    link = tmp_path / "link"
    link.symlink_to(checkout)
    data = tmp_path / "elsewhere"
    data.mkdir()
    root = {"checkout": checkout / "runs", "link": link / "runs", "data": data, "settings": tmp_path / "conf" / "runs"}
    env = {"OUROBOROS_DATA_DIR": str(data), "OUROBOROS_SETTINGS_PATH": str(tmp_path / "conf" / "settings.json")}
    before = sorted(path for path in checkout.rglob("*") if ".git" not in path.parts)
    done = obo("programbench", "run", "--repo-dir", checkout, "--runs-root", root[where], "--json", env=env)
    assert done.status == 5
    assert done.envelope["refusal"]["reason"] == "output_not_confined"
    assert done.envelope["manifest"] is None
    assert sorted(path for path in checkout.rglob("*") if ".git" not in path.parts) == before
    assert not (root[where] / "programbench").exists()


def test_a_runs_root_that_cannot_be_written(checkout: Path, tmp_path: Path) -> None:
    file = tmp_path / "runs"
    file.write_text("in the way")
    done = run(checkout, tmp_path, "http://127.0.0.1:1")
    assert (done.status, done.envelope["refusal"]["reason"]) == (5, "run_root_unwritable")
    assert file.read_text() == "in the way"


def test_secrets_reach_neither_disk_nor_screen(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    canary = "canary-5b1d7e"
    settings = settings_file(tmp_path)
    settings.write_text(json.dumps({"OPENROUTER_API_KEY": canary}))
    git(checkout, "remote", "add", "origin", f"https://user:{canary}@example.invalid/x.git")
    url = serve().replace("http://", f"http://user:{canary}@")
    done = run(checkout, tmp_path, url, "--settings-path", settings, "--instance-id", "no__such.0000000",
               env={"OPENAI_API_KEY": canary})  # fmt: skip
    assert_refused(done, 5, "unknown_instance")
    assert canary not in done.stdout + done.stderr
    for path in (tmp_path / "runs").rglob("*"):
        assert not path.is_file() or canary not in path.read_text(errors="replace"), path
