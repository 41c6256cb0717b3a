"""One run id is one experiment: what it was admitted with is compared on every resume, and changes are recorded."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.manifest import RunManifest
from obo_bench.core.refusals import PreflightRefused
from obo_bench.gateway.wire import State
from obo_bench.programbench.admission.admitted_config import AdmittedConfiguration, configuration_of
from obo_bench.programbench.admission.limits import cleanroom_limits, server_limits
from obo_bench.programbench.admission.order import ORDER_NAME, Configuration, read_order
from obo_bench.programbench.options import RunOptions

IDS = ["a__b.0000001", "c__d.0000002"]
LIVE = {"OUROBOROS_MAX_ROUNDS": 1000, "OUROBOROS_TASK_REVIEW_MODE": "auto", "TOTAL_BUDGET": 10.0}
Options = Callable[..., RunOptions]


@pytest.fixture
def options(tmp_path: Path) -> Options:
    def make(**changes: Any) -> RunOptions:
        return RunOptions(repo_dir=tmp_path, run_root=tmp_path, settings_path=tmp_path, **changes)

    return make


def found(options: RunOptions, *, live: dict[str, Any] | None = LIVE, **changes: Any) -> Configuration:
    manifest = RunManifest(benchmark="programbench", created_at_unix=0.0, run_root="r")
    manifest.source.head, manifest.source.tracked_diff_sha256 = "c0ffee", "0" * 64
    manifest.harness |= {"solve_model": "openai::gpt", "programbench": "1.2.5", "settings": {"live": live}}
    manifest.model_slots = {"OUROBOROS_MODEL": "openai::gpt"}
    manifest.extra.runtime_attestation = {"runtime_version": "6.75.0"} if live is not None else {"skipped": "dry_run"}
    return configuration_of(manifest, options) | changes


def hold(root: Path, now: Configuration, ids: list[str] = IDS, *, accept: bool = False) -> AdmittedConfiguration:
    held = AdmittedConfiguration.hold_against(root, "i", "0badcafe", ids, now, accept_change=accept)
    held.store()
    return held


def changed_keys(refused: Any) -> list[str]:
    return [change["key"] for change in refused.value.evidence["changes"]]


def test_the_same_configuration_is_resumed_with_the_first_nonce(tmp_path: Path, options: Options) -> None:
    assert hold(tmp_path, found(options())).nonce == "0badcafe"
    again = AdmittedConfiguration.hold_against(tmp_path, "j", "other", IDS, found(options()), accept_change=False)
    assert (again.nonce, again.accepted, again.adopted) == ("0badcafe", [], False)


@pytest.mark.parametrize(
    ("key", "old", "new"),
    [
        ("solve_model", "openai::gpt", "openai::other"),
        ("server_version", "6.75.0", "6.102.0"),
        ("seed_commit", "c0ffee", "decaf0"),
        ("seed_changes", "0" * 64, "1" * 64),
        ("programbench", "1.2.5", "1.2.6"),
        ("limits.cpus", 4.0, 2.0),
        ("limits.memory_bytes", float(16 << 30), float(8 << 30)),
        ("limits.timeout_sec", 21600.0, 600.0),
        ("protected_paths", None, ["elsewhere"]),
        ("model_slots.OUROBOROS_MODEL_LIGHT", "", "openai::mini"),
        ("settings.OUROBOROS_MAX_ROUNDS", 1000.0, 200.0),
        ("settings.OUROBOROS_TASK_REVIEW_MODE", "auto", "required"),
    ],
)
def test_every_difference_is_refused_by_name_or_accepted_and_recorded(
    tmp_path: Path, options: Options, key: str, old: Any, new: Any
) -> None:
    hold(tmp_path, found(options()))
    before = (tmp_path / ORDER_NAME).read_bytes()
    changed = found(options(), **{key: new})
    with pytest.raises(PreflightRefused, match=key) as refused:
        hold(tmp_path, changed)
    refused.value.settle()
    assert (refused.value.reason, changed_keys(refused)) == ("resume_config_mismatch", [key])
    if old is not None:
        assert refused.value.evidence["changes"] == [{"key": key, "old": old, "new": new}]
    assert (tmp_path / ORDER_NAME).read_bytes() == before

    accepted = hold(tmp_path, changed, accept=True)
    assert [(one["key"], one["new"]) for one in accepted.accepted] == [(key, new)]
    order = read_order(tmp_path)
    assert order is not None
    assert [(one.key, one.new, one.invocation) for one in order.history] == [(key, new, "i")]
    assert hold(tmp_path, changed).accepted == []


def test_all_differences_are_named_at_once_and_the_message_stays_short(tmp_path: Path, options: Options) -> None:
    hold(tmp_path, found(options()))
    changed = found(
        options(timeout_sec=60.0, cpus=1.0, memory="1g", protected_paths=("x" * 5000,)), server_version="6.102.0"
    )
    with pytest.raises(PreflightRefused, match="and 3 more") as refused:
        hold(tmp_path, changed, ["c__d.0000002"])
    refused.value.settle()
    assert len(changed_keys(refused)) == 6
    assert "requested_task_ids" in changed_keys(refused)
    assert len(refused.value.message) < 500


def test_other_ids_are_another_experiment(tmp_path: Path, options: Options) -> None:
    hold(tmp_path, found(options()))
    with pytest.raises(PreflightRefused, match=r"requested_task_ids was 2 \(a__b.0000001, c__d.0000002\)") as refused:
        hold(tmp_path, found(options()), IDS[::-1])
    refused.value.settle()
    assert hold(tmp_path, found(options()), IDS[:1], accept=True).accepted[0]["new"] == IDS[:1]
    assert read_order(tmp_path).instance_ids == IDS[:1]  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "changes",
    [
        {"workers": 9}, {"pull": "always"}, {"redo_existing": True}, {"retry": ("x",)}, {"evaluate": True},
        {"url": "http://other:1"}, {"max_cost_usd": 1.0}, {"on_interrupt": "cancel"}, {"rm_images": True},
        {"memory": "16384m"}, {"expected_version": "1"}, {"min_budget_usd": 1.0},
    ],
)  # fmt: skip
def test_what_is_no_other_experiment_is_not_compared(tmp_path: Path, options: Options, changes: dict[str, Any]) -> None:
    hold(tmp_path, found(options()))
    assert hold(tmp_path, found(options(**changes))).accepted == []


@pytest.mark.parametrize(
    "live",
    [
        LIVE | {"TOTAL_BUDGET": 99.0, "OUROBOROS_MAX_WORKERS": 9},
        LIVE | {"OUROBOROS_MAX_ROUNDS": "1000"},
        LIVE | {"OUROBOROS_TASK_REVIEW_MODE": " Auto "},
    ],
)
def test_the_servers_untidy_types_are_no_difference(tmp_path: Path, options: Options, live: dict[str, Any]) -> None:
    hold(tmp_path, found(options()))
    assert hold(tmp_path, found(options(), live=live)).accepted == []


@pytest.mark.parametrize("value", ["nan", "inf", True, None, "", "1_0"])
def test_an_odd_setting_equals_itself_and_nothing_else(tmp_path: Path, options: Options, value: Any) -> None:
    live = LIVE | {"OUROBOROS_MAX_ROUNDS": value}
    hold(tmp_path, found(options(), live=live))
    assert hold(tmp_path, found(options(), live=live)).accepted == []
    with pytest.raises(PreflightRefused, match="OUROBOROS_MAX_ROUNDS was ") as refused:
        hold(tmp_path, found(options()))
    refused.value.settle()


def test_a_dry_run_binds_what_it_knows_and_the_rest_is_adopted_later(tmp_path: Path, options: Options) -> None:
    hold(tmp_path, found(options(), live=None, solve_model=None))
    assert hold(tmp_path, found(options())).accepted == []
    with pytest.raises(PreflightRefused, match=r"server_version was '6\.75\.0', is '6\.102\.0'") as refused:
        hold(tmp_path, found(options(), server_version="6.102.0"))
    refused.value.settle()
    assert hold(tmp_path, found(options(), live=None, solve_model=None)).accepted == []
    with pytest.raises(PreflightRefused, match="server_version was ") as later:
        hold(tmp_path, found(options(), server_version="6.102.0"))
    later.value.settle()


def test_a_run_of_the_first_version_is_adopted(tmp_path: Path, options: Options) -> None:
    first = {"schema": "obo_bench.instance_order.v1", "run_nonce": "a5fa0660", "instance_ids": IDS}
    (tmp_path / ORDER_NAME).write_text(json.dumps(first))
    held = hold(tmp_path, found(options()))
    assert (held.nonce, held.adopted, held.accepted) == ("a5fa0660", True, [])
    again = AdmittedConfiguration.hold_against(tmp_path, "j", "x", IDS, found(options()), accept_change=False)
    assert again.adopted is False


@pytest.mark.parametrize("content", ["", "{", "[]", '{"run_nonce": 7, "instance_ids": []}', '{"instance_ids": []}'])
@pytest.mark.parametrize("accept", [False, True])
def test_a_damaged_document_is_no_new_run(tmp_path: Path, options: Options, content: str, accept: bool) -> None:
    (tmp_path / ORDER_NAME).write_text(content)
    with pytest.raises(PreflightRefused, match=ORDER_NAME) as refused:
        hold(tmp_path, found(options()), accept=accept)
    refused.value.settle()
    assert "restore" in refused.value.remedy
    assert (tmp_path / ORDER_NAME).read_text() == content


def image(id_: str = "sha256:1", *digests: str) -> dict[str, Any]:
    return {"name": "org/image:task_cleanroom_v6", "id": id_, "digests": list(digests)}


def test_an_instance_keeps_its_image(tmp_path: Path, options: Options) -> None:
    held = hold(tmp_path, found(options()))
    assert held.image_trouble(IDS[0], image("sha256:1", "org/image@sha256:d")) is None
    assert held.image_trouble(IDS[1], image("sha256:2")) is None
    resumed = hold(tmp_path, found(options()))
    assert resumed.image_trouble(IDS[0], image("sha256:1")) is None
    assert resumed.image_trouble(IDS[0], image("sha256:9", "mirror/image@sha256:d")) is None
    trouble = resumed.image_trouble(IDS[0], image("sha256:9", "org/image@sha256:e"))
    assert trouble is not None
    assert "org/image@sha256:e" in trouble
    assert "org/image@sha256:d" in trouble
    assert "--accept-config-change" in trouble

    accepting = hold(tmp_path, found(options()), accept=True)
    assert accepting.image_trouble(IDS[0], image("sha256:9", "org/image@sha256:e")) is None
    assert accepting.accepted[0]["key"] == f"images.{IDS[0]}"
    assert hold(tmp_path, found(options())).image_trouble(IDS[0], image("sha256:9")) is None


class Host:
    """An engine of four cores and eight GiB."""

    cpus, memory_bytes = 4, 8 << 30


def test_limits_above_the_engines_are_lowered_and_told(options: Options) -> None:
    cpus, memory, notices = cleanroom_limits(Host(), options(cpus=8.0, memory="16g"))  # type: ignore[arg-type]
    assert (cpus, memory, len(notices)) == (4.0, 8 << 30, 2)
    assert cleanroom_limits(Host(), options(cpus=4.0, memory="8g"))[2] == []  # type: ignore[arg-type]


def test_workers_that_together_want_more_than_the_engine_has_are_told(options: Options) -> None:
    _, _, notices = cleanroom_limits(Host(), options(workers=3, cpus=2.0, memory="3g"))  # type: ignore[arg-type]
    assert [notice.split(" with ")[0] for notice in notices] == ["--workers 3", "--workers 3"]
    assert cleanroom_limits(Host(), options(workers=2, cpus=2.0, memory="4g"))[2] == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("changes", "live", "told"),
    [
        ({}, {"OUROBOROS_TASK_ABS_CEILING_SEC": 21600}, []),
        ({"workers": 3}, {}, ["--workers 3 is more than the server's 2"]),
        ({"timeout_sec": 7200.0}, {"OUROBOROS_TASK_ABS_CEILING_SEC": "3600"}, ["TASK_ABS_CEILING_SEC of 3600"]),
        ({"timeout_sec": 7200.0}, {"OUROBOROS_TASK_ABS_CEILING_SEC": "soon"}, []),
        ({"timeout_sec": 300.0}, {}, ["the review is skipped"]),
        ({"timeout_sec": 60.0}, {}, ["asks for the last answer at once"]),
    ],
)  # fmt: skip
def test_what_the_server_would_not_grant_is_told(
    options: Options, changes: dict[str, Any], live: dict[str, Any], told: list[str]
) -> None:
    notices = server_limits(options(**changes), State(workers_total=2), live)
    assert len(notices) == len(told)
    assert all(part in notice for part, notice in zip(told, notices, strict=True))
