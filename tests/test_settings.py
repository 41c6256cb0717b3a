"""The settings file read strictly, what the live server says of its own, and when it counts as ready."""

import json
import os
import time
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import SilentReporter
from obo_bench.gateway.admission import settings as settings_module
from obo_bench.gateway.admission.live_settings import read_live_settings
from obo_bench.gateway.admission.readiness import read_readiness, wait_until_ready
from obo_bench.gateway.admission.settings import load_settings
from obo_bench.gateway.client import GatewayClient
from tests.scripted_server import READY, ROUTED, answering_json, health, server
from tests.test_refusals import Serve, assert_refused, run, settings_file

NO_INSTANCE = ("--instance-id", "no__such.0000000")
"""Ends a run right behind the gates of the settings."""


@pytest.mark.parametrize(
    ("content", "line", "column"),
    [
        (b'{\n  "A": oops\n}', 2, 8),
        (b'{"A": 1,}', 1, 9),
        (b"", 1, 1),
        (b"[1]", 1, 1),
        (b'"text"', 1, 1),
        (b"null", 1, 1),
        (b'{"A": 1} x', 1, 10),
        (b'{\n "A": "NaN \\" Infinity", "B": [1, NaN]}', 2, 35),
        (b'{"A":\n-Infinity}', 2, 1),
        (b'{"A": "a\nb"}', 1, 9),
        (b'{\n"A": "\xff"}', 2, 7),
        (b"\xff\xfe{\x00}\x00", 1, 1),
        (b"// no comments\n{}", 1, 1),
    ],
)
def test_malformed_settings_are_refused_where_they_are_wrong(
    tmp_path: Path, content: bytes, line: int, column: int
) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    with pytest.raises(PreflightRefused) as refused:
        load_settings(path, named=False)
    refused.value.settle()
    assert refused.value.reason == "settings_unreadable"
    assert (refused.value.evidence["line"], refused.value.evidence["column"]) == (line, column)
    assert f"line {line}, column {column}" in refused.value.message


@pytest.mark.parametrize("content", [b"[" * 200_000, b'{"A": ' + b"9" * 6000 + b"}"])
def test_settings_that_no_reader_takes_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(content)
    with pytest.raises(PreflightRefused) as refused:
        load_settings(path, named=True)
    refused.value.settle()
    assert refused.value.reason == "settings_unreadable"


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("directory", "not a regular file"),
        ("fifo", "not a regular file"),
        ("device", "not a regular file"),
        ("link to nowhere", "does not exist"),
        ("large", "more than 4194304 bytes"),
        ("below a file", "Not a directory"),
    ],
)
def test_what_is_no_settings_file_is_refused_at_once(tmp_path: Path, kind: str, why: str) -> None:
    path = tmp_path / "settings.json"
    if kind == "directory":
        path.mkdir()
    elif kind == "fifo":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "link to nowhere":
        path.symlink_to(tmp_path / "nowhere")
    elif kind == "large":
        path.write_bytes(b" " * settings_module.LARGEST_FILE + b"{}")
    else:
        (tmp_path / "file").touch()
        path = tmp_path / "file" / "settings.json"
    begun = time.monotonic()
    with pytest.raises(PreflightRefused) as refused:
        load_settings(path, named=True)
    refused.value.settle()
    assert time.monotonic() - begun < 5
    assert refused.value.reason == "settings_unreadable"
    assert str(path) in refused.value.message
    assert why in refused.value.message


def test_of_equal_keys_the_last_one_counts_and_a_mark_may_come_first(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_bytes(b'\xef\xbb\xbf{"A": 1, "A": "2 "}')
    found = load_settings(path, named=True)
    assert found.values == {"A": "2 "}
    assert found.text("A") == "2"


def test_the_live_settings_are_recorded_without_a_character_of_any_key(checkout: Path, tmp_path: Path) -> None:
    settings = settings_file(tmp_path)
    settings.write_text(json.dumps({"HOUSE_TAG": "canary-own-value"}))
    live: dict[str, Any] = {
        **ROUTED,
        "OPENROUTER_API_KEY": "sk-or-ca...",
        "OPENAI_API_KEY": "",
        "OUROBOROS_NETWORK_PASSWORD": "***set***",
        "GITHUB_TOKEN": "***",
        "HOUSE_TAG": "canary-o...",
        "OUROBOROS_SAFETY_MAX_TOKENS": 2000,
        "OUROBOROS_MODEL_LIGHT": "",
        "OUROBOROS_MAX_WORKERS": 4,
        "OUROBOROS_MAX_ROUNDS": 1000,
        "OUROBOROS_TASK_REVIEW_MODE": "auto canary-own-value",
        "TOTAL_BUDGET": 10.0,
        "OUROBOROS_RUNTIME_MODE": {"odd": "x"},
        "_meta": {"bind_port": 8770, "custom_secret_keys": ["HOUSE_TAG", 5]},
    }
    with server(live) as url:
        done = run(checkout, tmp_path, url, *NO_INSTANCE, "--settings-path", settings)
    assert_refused(done, 5, "unknown_instance")
    manifest = done.manifest
    assert manifest["model_slots"] == {"OUROBOROS_MODEL": "anthropic/claude-opus-4.8"}
    assert manifest["provider_credentials"] == {
        "GITHUB_TOKEN": True, "HOUSE_TAG": True, "OPENAI_API_KEY": False, "OPENROUTER_API_KEY": True,
        "OUROBOROS_NETWORK_PASSWORD": True,
    }  # fmt: skip
    assert manifest["harness"]["settings"]["live"] == {
        "TOTAL_BUDGET": 10.0, "OUROBOROS_MAX_WORKERS": 4, "OUROBOROS_MAX_ROUNDS": 1000,
        "OUROBOROS_TASK_REVIEW_MODE": "auto [redacted]",
    }  # fmt: skip
    assert manifest["harness"]["settings"]["bind_port"] == 8770
    assert manifest["harness"]["solve_model"] == "anthropic/claude-opus-4.8"
    assert "OUROBOROS_MAX_WORKERS 4" in done.stderr
    assert "8770, not" in done.stderr
    text = json.dumps(manifest) + done.stdout + done.stderr
    assert not [secret for secret in ("sk-or-ca", "canary-o", "***set***") if secret in text]


@pytest.mark.parametrize("meta", [None, "text", [], {"bind_port": "8770", "custom_secret_keys": "x"}])
def test_odd_details_of_the_live_settings_do_no_harm(checkout: Path, tmp_path: Path, meta: Any) -> None:
    with server({**ROUTED, "_meta": meta}) as url:
        done = run(checkout, tmp_path, url, *NO_INSTANCE)
    assert_refused(done, 5, "unknown_instance")
    assert done.manifest["harness"]["settings"]["bind_port"] is None


@pytest.mark.parametrize("answer", [(500, {"error": "broken inside"}), "no JSON", [1]])
def test_live_settings_that_cannot_be_read_are_refused(checkout: Path, tmp_path: Path, answer: Any) -> None:
    with server(answer) as url:
        done = run(checkout, tmp_path, url, *NO_INSTANCE)
    assert_refused(done, 5, "target_settings_unavailable", url)


@pytest.mark.parametrize("place", ["/api/state", "/api/settings"])
def test_a_server_that_wants_its_password_says_so(checkout: Path, tmp_path: Path, place: str) -> None:
    answers: dict[str, Any] = {"/api/health": health(), "/api/state": READY, "/api/settings": ROUTED}
    with answering_json(answers | {place: (401, {"error": "Authentication required."})}) as url:
        begun = time.monotonic()
        done = run(checkout, tmp_path, url, *NO_INSTANCE)
    assert_refused(done, 5, "gateway_auth_required", url)
    assert time.monotonic() - begun < 20


def test_nobody_names_a_model(checkout: Path, tmp_path: Path) -> None:
    with server({"OPENROUTER_API_KEY": "sk-or-v1..."}) as url:
        assert_refused(run(checkout, tmp_path, url, *NO_INSTANCE), 5, "solve_model_undeclared", "--solve-model")
    with server({"OPENROUTER_API_KEY": "sk-or-v1..."}) as url:
        done = run(checkout, tmp_path, url, *NO_INSTANCE, "--solve-model", "a/b")
    assert_refused(done, 5, "target_settings_mismatch", "'a/b'", "None")


def test_a_live_answer_that_is_rewritten_already_is_the_same_model(checkout: Path, tmp_path: Path) -> None:
    """The keys are in the server's environment only, so the file may hold either form; the server rewrites it."""
    settings = settings_file(tmp_path)
    settings.write_text(json.dumps({"OUROBOROS_MODEL": "anthropic/claude-opus-4.8"}))
    more = ("--settings-path", settings, *NO_INSTANCE)
    with server({"ANTHROPIC_API_KEY": "sk-ant-0...", "OUROBOROS_MODEL": "anthropic::claude-opus-4-8"}) as url:
        assert_refused(run(checkout, tmp_path, url, *more), 5, "unknown_instance")
    with server({"ANTHROPIC_API_KEY": "sk-ant-0...", "OUROBOROS_MODEL": "anthropic::claude-opus-4-7"}) as url:
        assert_refused(run(checkout, tmp_path, url, *more), 5, "target_settings_mismatch", "opus-4.8", "opus-4-7")


def test_a_dry_run_checks_the_file_and_needs_no_server(checkout: Path, tmp_path: Path) -> None:
    settings = settings_file(tmp_path)
    settings.write_text("{")
    done = run(checkout, tmp_path, "http://127.0.0.1:1", "--settings-path", settings, "--dry-run")
    assert_refused(done, 5, "settings_unreadable", "line 1, column 2")
    settings.write_text(json.dumps({"OPENROUTER_API_KEY": "canary-5b1d7e", "OUROBOROS_MODEL": "a/b"}))
    done = run(checkout, tmp_path, "http://127.0.0.1:1", "--settings-path", settings, "--dry-run", *NO_INSTANCE)
    assert_refused(done, 5, "unknown_instance")
    assert done.manifest["model_slots"] == {"OUROBOROS_MODEL": "a/b"}
    assert done.manifest["provider_credentials"] == {"OPENROUTER_API_KEY": True}


@pytest.mark.parametrize(
    ("state", "why"),
    [
        (READY | {"supervisor_ready": False}, "still starting"),
        (READY | {"supervisor_error": "boom " * 500}, "boom"),
        (READY | {"workers_alive": 0}, "none of its workers"),
        ((500, {"error": "inside"}), "inside"),
    ],
)
def test_readiness_is_told_without_waiting(state: Any, why: str) -> None:
    with server(state=state) as url, GatewayClient(url) as client:
        found = read_readiness(client)
        assert (found.ready, found.auth_required) == (False, False)
        assert why in found.why
        assert len(found.why) < 2000
    with server() as url, GatewayClient(url) as client:
        assert read_readiness(client).ready
        assert read_live_settings(client).values == ROUTED


def test_a_failed_start_is_not_waited_for() -> None:
    with server(state=READY | {"supervisor_error": "boom", "extra": "x"}) as url, GatewayClient(url) as client:
        with pytest.raises(PreflightRefused) as refused:
            wait_until_ready(client, SilentReporter(), wait_sec=60)
        refused.value.settle()
        assert refused.value.reason == "gateway_not_ready"
        assert refused.value.evidence["state"]["workers_alive"] == 2
        assert "extra" not in refused.value.evidence["state"]


def test_the_password_of_the_file_opens_the_server(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    settings = settings_file(tmp_path)
    settings.write_text(json.dumps({"OUROBOROS_NETWORK_PASSWORD": "canary-pw-77"}))
    url = serve(network_password="canary-pw-77")
    done = run(checkout, tmp_path, url, "--settings-path", settings, *NO_INSTANCE)
    assert_refused(done, 5, "unknown_instance")
    assert "canary-pw-77" not in json.dumps(done.manifest) + done.stderr
