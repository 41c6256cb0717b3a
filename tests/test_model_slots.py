"""Model names: the recorded table, the provider decision, and what a run refuses because of them."""

import json
from pathlib import Path
from typing import Any

import pytest

import obo_bench
from obo_bench.gateway.admission.model_slots import (
    MODEL_SLOTS,
    SlotChange,
    direct_provider,
    migrate_model_value,
    slot_changes,
    split_names,
)
from tests.scripted_server import ROUTED, server
from tests.test_refusals import assert_refused, run, settings_file

UNCHANGED = [
    ("openai", "openai::X"),
    ("openai", "gpt-5.5"),
    ("openai", "OpenAI/gpt-5.5"),
    ("openai", "openai:gpt-5.5"),
    ("openai", "anthropic/claude-opus-4.8"),
    ("openai", "openai-compatible/foo"),
    ("anthropic", "claude-opus-4.8"),
    ("anthropic", "openai/gpt-5.5"),
    ("anthropic", "anthropic::claude-opus-4-8"),
    ("anthropic", "Anthropic/claude-opus-4.8"),
    ("cloudru", "cloudru::X"),
    ("cloudru", "zai-org/GLM-4.7"),
    ("cloudru", "openai/gpt-5.5"),
    *[(provider, f"{provider}/X") for provider in ("gigachat", "openrouter", "openai-compatible", "local", "any")],
    ("", "openai/X"),
    ("OpenAI", "openai/X"),
    (" openai", "openai/X"),
    ("Anthropic", "anthropic/claude-opus-4.8"),
    ("minimax", "minimax/X"),
]
REWRITTEN = [
    ("openai", "openai/X", "openai::X"),
    ("openai", "openai/", "openai::"),
    ("openai", "openai//gpt-5.5", "openai::/gpt-5.5"),
    ("openai", "openai/ft:a::b", "openai::ft:a::b"),
    ("openai", "openai/a,openai/b", "openai::a,openai/b"),
    ("anthropic", "anthropic/X", "anthropic::X"),
    ("anthropic", "anthropic/ X ", "anthropic::X"),
    ("anthropic", "anthropic:: X", "anthropic::X"),
    ("anthropic", "anthropic/claude-opus-4.6", "anthropic::claude-opus-4-6"),
    ("anthropic", "anthropic/claude-opus-4.7", "anthropic::claude-opus-4-7"),
    ("anthropic", "anthropic/claude-opus-4.8", "anthropic::claude-opus-4-8"),
    ("anthropic", "anthropic::claude-opus-4.8", "anthropic::claude-opus-4-8"),
    ("anthropic", "anthropic/claude-sonnet-4.6", "anthropic::claude-sonnet-4-6"),
    ("anthropic", "anthropic/claude-sonnet-4.5", "anthropic::claude-sonnet-4.5"),
    ("anthropic", "anthropic/claude-fable-5", "anthropic::claude-fable-5"),
    ("anthropic", "anthropic/claude-opus-4.8 (local)", "anthropic::claude-opus-4.8 (local)"),
    ("cloudru", "cloudru/X", "cloudru::X"),
]


@pytest.mark.parametrize(("provider", "name", "new"), [*REWRITTEN, *[(*pair, pair[1]) for pair in UNCHANGED]])
def test_the_table_gives_what_the_runtime_gave(provider: str, name: str, new: str) -> None:
    for version in (None, "6.75.0"):
        assert migrate_model_value(provider, name, version=version) == new
        assert migrate_model_value(provider, f" {name}\n", version=version) == new


@pytest.mark.parametrize("provider", ["openai", "anthropic", "cloudru", "gigachat", "openrouter", "local", ""])
def test_what_is_no_text_becomes_text(provider: str) -> None:
    assert migrate_model_value(provider, None) == ""
    assert migrate_model_value(provider, 5) == "5"


@pytest.mark.parametrize(
    ("version", "new"),
    [("6.102.0", "minimax::X"), ("7.0", "minimax::X"), ("6.75.0", "minimax/X"), ("odd", "minimax/X")],
)
def test_minimax_is_known_from_the_version_that_brought_it(version: str, new: str) -> None:
    assert migrate_model_value("minimax", "minimax/X", version=version) == new


KEYS = {
    "openai": {"OPENAI_API_KEY": "k"},
    "anthropic": {"ANTHROPIC_API_KEY": "k"},
    "cloudru": {"CLOUDRU_FOUNDATION_MODELS_API_KEY": "k"},
    "gigachat": {"GIGACHAT_CREDENTIALS": "k"},
}


@pytest.mark.parametrize("provider", KEYS)
def test_exactly_one_provider_is_direct(provider: str) -> None:
    assert direct_provider(KEYS[provider], {}) == provider
    assert direct_provider({}, KEYS[provider]) == provider
    assert direct_provider(dict.fromkeys(KEYS[provider], "  "), KEYS[provider]) == provider
    assert direct_provider(dict.fromkeys(KEYS[provider], ""), {}) is None
    for other in set(KEYS) - {provider}:
        assert direct_provider(KEYS[provider] | KEYS[other], {}) is None


@pytest.mark.parametrize("router", ["OPENROUTER_API_KEY", "OPENAI_BASE_URL", "OPENAI_COMPATIBLE_BASE_URL"])
def test_a_router_makes_no_provider_direct(router: str) -> None:
    assert direct_provider({**KEYS["openai"], router: "x"}, {}) is None
    assert direct_provider(KEYS["openai"], {router: "x"}) is None
    assert direct_provider({**KEYS["openai"], router: " "}, {}) == "openai"


def test_gigachat_needs_user_and_password() -> None:
    assert direct_provider({"GIGACHAT_USER": "u"}, {}) is None
    assert direct_provider({"GIGACHAT_USER": "u"}, {"GIGACHAT_PASSWORD": "p"}) == "gigachat"


def test_what_the_server_shows_masked_counts_as_set() -> None:
    live = {"OPENAI_API_KEY": "", "GIGACHAT_CREDENTIALS": "***set***"}
    assert direct_provider(live, {}) == "gigachat"


def test_only_the_server_counts_minimax() -> None:
    assert direct_provider({"MINIMAX_API_KEY": "k"}, {}) is None
    assert direct_provider({"MINIMAX_API_KEY": "k"}, {}, counts_minimax=True) == "minimax"
    assert direct_provider({"MINIMAX_API_KEY": "k", **KEYS["openai"]}, {}, counts_minimax=True) is None


def by_table(provider: str, names: Any) -> dict[str, str]:
    return {name: migrate_model_value(provider, name) for name in names}


def test_a_list_is_split_and_its_replacement_is_the_whole_list() -> None:
    assert split_names(" a, ,b ,") == ["a", "b"]
    slots = {"OUROBOROS_REVIEW_MODELS": " openai/a ,, x/b,openai/c", "OUROBOROS_MODEL": "openai::a"}
    assert slot_changes("openai", slots, by_table) == [
        SlotChange("OUROBOROS_REVIEW_MODELS", " openai/a ,, x/b,openai/c", "openai::a,x/b,openai::c")
    ]
    assert slot_changes(None, slots, by_table) == []
    assert slot_changes("openai", {"OUROBOROS_MODEL": " openai::a , openai::b "}, by_table) == []


def test_every_bad_slot_is_named_with_its_exact_replacement(checkout: Path, tmp_path: Path) -> None:
    settings = settings_file(tmp_path)
    slots = dict.fromkeys(MODEL_SLOTS, "anthropic/claude-opus-4.8") | {
        "ANTHROPIC_API_KEY": "sk-ant-canary",
        "CLAUDE_CODE_MODEL": "opus[1m]",
        "OUROBOROS_MODEL_FALLBACKS": " ",
        "OUROBOROS_REVIEW_MODELS": "anthropic/claude-opus-4.8, openai/gpt-5.5",
    }
    settings.write_text(json.dumps(slots))
    with server() as url:
        done = run(checkout, tmp_path, url, "--settings-path", settings)
    assert_refused(
        done, 5, "model_slot_invalid", "anthropic", str(settings),
        'OUROBOROS_REVIEW_MODELS: write "anthropic::claude-opus-4-8,openai/gpt-5.5" '
        'instead of "anthropic/claude-opus-4.8, openai/gpt-5.5"',
    )  # fmt: skip
    bad = done.manifest["extra"]["refusal"]["evidence"]["slots"]
    assert {item["slot"] for item in bad} == set(MODEL_SLOTS) - {"CLAUDE_CODE_MODEL", "OUROBOROS_MODEL_FALLBACKS"}
    assert bad[0] == {
        "slot": "OUROBOROS_MODEL", "old": "anthropic/claude-opus-4.8", "new": "anthropic::claude-opus-4-8",
    }  # fmt: skip
    harness = done.manifest["harness"]
    assert harness["model_slots_normalized"]["OUROBOROS_MODEL"] == "anthropic::claude-opus-4-8"
    assert harness["model_slots_checked_with"]["with"] == "table"
    assert "no interpreter of its own" in harness["model_slots_checked_with"]["why"]
    assert "sk-ant-canary" not in done.stdout + done.stderr


def test_the_environment_lends_the_key(checkout: Path, tmp_path: Path) -> None:
    settings = settings_file(tmp_path)
    settings.write_text(json.dumps({"OUROBOROS_MODEL": "openai/gpt-5.5"}))
    with server() as url:
        done = run(checkout, tmp_path, url, "--settings-path", settings, env={"OPENAI_API_KEY": "sk-canary"})
    assert_refused(done, 5, "model_slot_invalid", "OUROBOROS_MODEL", "openai::gpt-5.5")


def test_a_solve_model_in_another_form_is_refused_likewise(checkout: Path, tmp_path: Path) -> None:
    with server() as url:
        more = ("--solve-model", "openai/gpt-5.5", "--dry-run")
        done = run(checkout, tmp_path, url, *more, env={"OPENAI_API_KEY": "sk-canary"})
    assert_refused(done, 5, "model_slot_invalid", "--solve-model", "openai::gpt-5.5")


def test_the_flag_must_name_the_model_of_the_file(checkout: Path, tmp_path: Path) -> None:
    settings = settings_file(tmp_path)
    settings.write_text(json.dumps({**ROUTED, "OUROBOROS_MODEL": " anthropic/claude-opus-4.8 "}))
    with server() as url:
        more = ("--settings-path", settings, "--instance-id", "no__such.0000000")
        done = run(checkout, tmp_path, url, *more, "--solve-model", "openai/gpt-5.5")
        assert_refused(done, 5, "solve_model_mismatch", "openai/gpt-5.5", "anthropic/claude-opus-4.8", str(settings))
        same = run(checkout, tmp_path, url, *more, "--solve-model", "anthropic/claude-opus-4.8")
    assert_refused(same, 5, "unknown_instance")


def test_the_live_slots_are_held_against_the_rules_too(checkout: Path, tmp_path: Path) -> None:
    with server({"OPENAI_API_KEY": "sk-proj0...", "OUROBOROS_MODEL": "openai/gpt-5.5"}) as url:
        done = run(checkout, tmp_path, url)
    assert_refused(done, 5, "model_slot_invalid", "live server", "OUROBOROS_MODEL", "openai::gpt-5.5")


def test_the_shipped_settings_pass_with_openrouter() -> None:
    shipped = json.loads((Path(obo_bench.__file__).parents[1] / "settings" / "programbench.json").read_text())
    slots = {slot: shipped[slot] for slot in MODEL_SLOTS if shipped.get(slot)}
    assert direct_provider(shipped | {"OPENROUTER_API_KEY": "k"}, {}) is None
    assert all(name.count("/") == 1 and "::" not in name for value in slots.values() for name in split_names(value))
    assert not any(value for name, value in shipped.items() if name.endswith(("_KEY", "_PASSWORD")))
