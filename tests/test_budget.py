"""What the OpenRouter key may still spend, and the gate that asks for it before anything is spent."""

import json
import socket
import time
from pathlib import Path
from typing import Any

import pytest

import obo_bench
from obo_bench.core.refusals import PreflightRefused
from obo_bench.gateway.openrouter import BalanceUnreadable, openrouter_account_balance, openrouter_key_remaining
from tests.conftest import Done
from tests.scripted_server import answering_json
from tests.test_refusals import Serve, assert_refused, free_port, run, settings_file

KEY = "sk-or-v1-canary0123456789"
CREDITS = {"data": {"total_credits": 100.0, "total_usage": 40.0}}


def key_answer(**data: Any) -> dict[str, Any]:
    return {"data": {"label": "sk-or-v1-can...789", "is_free_tier": False, **data}}


def remaining(answer: Any, key: str = KEY) -> float | None:
    with answering_json({"/key": answer}) as url:
        return obo_bench.openrouter_key_remaining(key, base_url=url)


def refusal(answer: Any, key: str = KEY) -> PreflightRefused:
    with pytest.raises(PreflightRefused) as refused:
        remaining(answer, key)
    refused.value.settle()
    assert refused.value.reason == "budget_unreadable"
    assert not key.strip() or key[:12] not in json.dumps([refused.value.message, refused.value.evidence])
    return refused.value


@pytest.mark.parametrize(
    ("data", "usd"),
    [
        ({"limit_remaining": 12.5, "limit": 100, "usage": 1}, 12.5),
        ({"limit_remaining": 0, "limit": 100, "usage": 1}, 0.0),
        ({"limit_remaining": -3.25, "limit": 100, "usage": 1}, -3.25),
        ({"limit_remaining": 7}, 7.0),
        ({"limit_remaining": 7, "limit": None}, 7.0),
        ({"limit": 100, "usage": 99.5}, 0.5),
        ({"limit_remaining": None, "limit": 10, "usage": 12}, -2.0),
        ({"limit": None, "usage": 5}, None),
        ({"limit_remaining": None, "limit": None, "usage": 5}, None),
    ],
)
def test_what_the_key_says_of_itself_is_what_remains(data: dict[str, Any], usd: float | None) -> None:
    assert remaining(key_answer(**data)) == usd


@pytest.mark.parametrize(
    "answer",
    [
        key_answer(),
        key_answer(limit_remaining=None),
        key_answer(limit_remaining="12.5", limit=100, usage=1),
        key_answer(limit_remaining=True),
        key_answer(limit_remaining=False, limit=None),
        key_answer(limit_remaining={}),
        key_answer(limit=100),
        key_answer(limit=100, usage=None),
        key_answer(limit=True, usage=0),
        key_answer(limit="100", usage=0),
        '{"data": {"limit_remaining": NaN}}',
        '{"data": {"limit_remaining": Infinity}}',
        '{"data": {"limit_remaining": 1e999}}',
        '{"data": {"limit_remaining": ' + "9" * 400 + "}}",
        {"data": None},
        {"data": []},
        {"limit_remaining": 5},
        [],
        "<html>Sign in</html>",
        "",
        "[" * 200_000,
        (401, {"error": {"message": f"No auth credentials found for {KEY}", "code": 401}}),
        (403, f"forbidden: {KEY}"),
        (500, {"error": KEY}),
        (500, "x" * 280 + KEY),
        key_answer(limit_remaining=KEY),
        (302, {"data": {"limit_remaining": 5}}),
        (204, ""),
    ],
)
def test_an_answer_that_cannot_be_understood_is_a_refusal_and_shows_no_key(answer: Any) -> None:
    assert "/key" in refusal(answer).message


@pytest.mark.parametrize("key", ["", "  ", "a b", "schlüssel-0123", "line\nbreak-0123"])
def test_what_is_no_key_is_never_sent(key: str) -> None:
    seen: list[dict[str, str]] = []
    with answering_json({"/key": key_answer(limit_remaining=5)}, seen) as url:
        with pytest.raises(PreflightRefused) as refused:
            openrouter_key_remaining(key, base_url=url)
        refused.value.settle()
    assert refused.value.reason == "budget_unreadable"
    assert "holds characters that no key has" in refused.value.message
    assert not seen


def test_nobody_answers() -> None:
    for url in (f"http://127.0.0.1:{free_port()}", "http://no-such-host.invalid"):
        with pytest.raises(PreflightRefused) as refused:
            openrouter_key_remaining(KEY, base_url=url)
        refused.value.settle()
        assert refused.value.reason == "budget_unreadable"
        assert "check the network" in refused.value.remedy, "another key would not help"


def test_an_answer_that_never_ends_has_a_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("obo_bench.gateway.openrouter.DEADLINE_SEC", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        begun = time.monotonic()
        with pytest.raises(PreflightRefused) as refused:
            openrouter_key_remaining(KEY, base_url=f"http://127.0.0.1:{silent.getsockname()[1]}")
        refused.value.settle()
    assert time.monotonic() - begun < 5


def test_the_key_is_sent_as_a_bearer_to_the_address_that_the_environment_names() -> None:
    seen: list[dict[str, str]] = []
    with answering_json({"/api/v1/key": key_answer(limit_remaining=5)}, seen) as url:
        found = openrouter_key_remaining(f" {KEY}\n", environ={"OBO_BENCH_OPENROUTER_URL": f"{url}/api/v1/"})
    assert found == 5
    assert seen[0]["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize("url", ["ftp://x", "openrouter.ai", "http://", "http://[x", "http://h:99999", "file:///etc"])
def test_an_address_that_is_none_is_named(url: str) -> None:
    with pytest.raises(PreflightRefused) as refused:
        openrouter_key_remaining(KEY, environ={"OBO_BENCH_OPENROUTER_URL": url})
    refused.value.settle()
    assert refused.value.reason == "budget_unreadable"
    assert url in refused.value.message
    assert "OBO_BENCH_OPENROUTER_URL" in refused.value.remedy


def test_the_proxy_of_the_environment_is_used_and_a_broken_one_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[dict[str, str]] = []
    for name in ("NO_PROXY", "no_proxy", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with answering_json({"http://openrouter.invalid/key": key_answer(limit_remaining=5)}, seen) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy)
        assert openrouter_key_remaining(KEY, base_url="http://openrouter.invalid") == 5
    assert seen[0]["host"] == "openrouter.invalid"
    for broken in ("socks5://127.0.0.1:1", "ftp://x", f"http://127.0.0.1:{free_port()}"):
        monkeypatch.setenv("HTTP_PROXY", broken)
        with pytest.raises(PreflightRefused) as refused:
            openrouter_key_remaining(KEY, base_url="http://openrouter.invalid")
        refused.value.settle()


def test_the_account_balance_is_what_was_bought_less_what_was_used() -> None:
    with answering_json({"/credits": CREDITS}) as url:
        assert openrouter_account_balance(KEY, base_url=url) == 60.0
    with answering_json({"/credits": (403, {"error": {"message": f"{KEY} is no management key"}})}) as url:
        with pytest.raises(BalanceUnreadable, match="403") as unreadable:
            openrouter_account_balance(KEY, base_url=url)
        assert KEY not in str(unreadable.value)


def run_with_budget(
    checkout: Path, tmp_path: Path, server: str, answers: dict[str, Any], need: str, *more: str
) -> Done:
    """Run as far as the gate lets it: to an engine that is not there."""
    settings = settings_file(tmp_path)
    settings.write_text(json.dumps({"OPENROUTER_API_KEY": KEY}))
    with answering_json(answers) as url:
        return run(
            checkout, tmp_path, server, "--settings-path", settings, "--min-budget-usd", need, "--slice", "1", *more,
            env={"OBO_BENCH_OPENROUTER_URL": url, "DOCKER_HOST": f"unix://{tmp_path}/no.sock"},
        )  # fmt: skip


@pytest.mark.parametrize(
    ("key_data", "credit", "need", "reason"),
    [
        ({"limit_remaining": 4.0}, CREDITS, "5", "budget_insufficient"),
        ({"limit_remaining": 5.0}, CREDITS, "5", "engine_unreachable"),
        ({"limit_remaining": 500.0}, CREDITS, "61", "budget_insufficient"),
        ({"limit": None}, CREDITS, "61", "budget_insufficient"),
        ({"limit": None}, CREDITS, "60", "engine_unreachable"),
        ({"limit": None}, (403, "no"), "1000000", "engine_unreachable"),
        ({"limit_remaining": 4.0}, (403, "no"), "5", "budget_insufficient"),
        ({"limit_remaining": -1}, (403, "no"), "0", "budget_insufficient"),
    ],
)
def test_the_gate_takes_the_lower_of_both_bounds(
    checkout: Path, tmp_path: Path, serve: Serve, key_data: dict[str, Any], credit: Any, need: str, reason: str
) -> None:
    answers = {"/key": key_answer(**key_data), "/credits": credit}
    done = run_with_budget(checkout, tmp_path, serve(), answers, need)
    assert_refused(done, 5, reason)
    budget = done.manifest["harness"]["budget"]
    left = key_data.get("limit_remaining")
    assert (budget["remaining_usd"], budget["uncapped"]) == (left, left is None)
    assert budget["balance_usd"] == (60.0 if credit is CREDITS else None)
    assert (budget["required_usd"], budget["source"]) == (float(need), "settings")
    assert KEY not in json.dumps(done.manifest) + done.stdout + done.stderr
    if reason == "budget_insufficient":
        bounds = [bound for bound in (left, budget["balance_usd"]) if bound is not None]
        assert f"{min(bounds):.2f} USD" in done.envelope["refusal"]["message"]
        assert f"{float(need):.2f}" in done.envelope["refusal"]["message"]


def test_a_key_that_openrouter_refuses_ends_the_run(checkout: Path, tmp_path: Path, serve: Serve) -> None:
    answers = {"/key": (401, {"error": {"message": f"bad key {KEY}"}})}
    done = run_with_budget(checkout, tmp_path, serve(), answers, "1")
    assert_refused(done, 5, "budget_unreadable", "401")
    assert KEY not in json.dumps(done.manifest) + done.stdout + done.stderr


def test_a_dry_run_asks_nobody(checkout: Path, tmp_path: Path) -> None:
    done = run_with_budget(checkout, tmp_path, "http://127.0.0.1:1", {}, "5", "--dry-run")
    assert_refused(done, 5, "engine_unreachable")
    assert done.manifest["harness"]["budget"] == {"skipped": "dry_run"}
    assert "--min-budget-usd is not checked" in done.stderr


def test_the_key_of_the_environment_serves_where_the_settings_have_none(
    checkout: Path, tmp_path: Path, serve: Serve
) -> None:
    more = ("--min-budget-usd", "5", "--slice", "1")
    assert_refused(run(checkout, tmp_path, serve(), *more), 5, "budget_unreadable", "OPENROUTER_API_KEY")
    with answering_json({"/key": key_answer(limit_remaining=1), "/credits": CREDITS}) as url:
        env = {"OPENROUTER_API_KEY": KEY, "OBO_BENCH_OPENROUTER_URL": url}
        done = run(checkout, tmp_path, serve(), *more, env=env)
    assert_refused(done, 5, "budget_insufficient")
    assert done.manifest["harness"]["budget"]["source"] == "environment"
