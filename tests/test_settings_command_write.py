"""How the profile gets into a settings file: the text of the file, faults in the middle, and what the profile holds."""

import errno
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obo_bench.core.redact import is_secret_name
from obo_bench.core.refusals import PreflightRefused
from obo_bench.gateway.admission.model_slots import MODEL_SLOTS
from obo_bench.programbench.server_profile import replace
from obo_bench.programbench.server_profile.change import Plan, plan_change
from obo_bench.programbench.server_profile.json_text import with_members
from obo_bench.programbench.server_profile.profile import differing_modes, load_profile
from obo_bench.programbench.server_profile.replace import write_change

BEFORE = '{\n  "OUROBOROS_MODEL": "a/b"\n}\n'
VALUES = st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists, max_leaves=4)
OBJECTS = st.dictionaries(st.text(max_size=5), VALUES, max_size=6)


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    file = tmp_path / "settings.json"
    file.write_text(BEFORE)
    return plan_change(file, None, {})


@given(OBJECTS, OBJECTS, st.sampled_from([None, 0, 1, 4, "\t"]))
def test_members_are_set_in_the_text_of_any_object(old: dict[str, Any], new: dict[str, Any], indent: Any) -> None:
    text = with_members(json.dumps(old, indent=indent, ensure_ascii=False), new)
    assert json.loads(text) == {**old, **new}
    assert list(json.loads(text)) == list({**old, **new})
    assert with_members(text, {}) == text


def test_what_is_not_set_stays_as_it_is_written() -> None:
    text = '{ "a" : 1e5 , "b":[ 1,\n2 ],"a":2.50,\n\t"c": "}\\"," }\n\n'
    assert with_members(text, {"a": 3}) == '{ "a" : 1e5 , "b":[ 1,\n2 ],"a":3,\n\t"c": "}\\"," }\n\n'
    assert with_members(text, {"d": None}) == text.replace('"}\\","', '"}\\",",\n\t"d": null')
    assert with_members("{}\n", {"d": 1, "e": 2}) == '{\n  "d": 1,\n  "e": 2\n}\n'


def test_a_file_that_somebody_changed_meanwhile_is_left_alone(plan: Plan) -> None:
    plan.path.write_text('{"TOTAL_BUDGET": 5}')
    with pytest.raises(PreflightRefused) as refused:
        write_change(plan)
    refused.value.settle()
    assert refused.value.reason == "settings_changed"
    assert plan.path.read_text() == '{"TOTAL_BUDGET": 5}'
    assert list(plan.path.parent.iterdir()) == [plan.path]


def test_a_file_that_appeared_meanwhile_is_left_alone(tmp_path: Path) -> None:
    plan = plan_change(tmp_path / "settings.json", None, {})
    plan.path.write_text("{}")
    with pytest.raises(PreflightRefused) as refused:
        write_change(plan)
    refused.value.settle()
    assert refused.value.reason == "settings_changed"
    assert plan.path.read_text() == "{}"


@pytest.mark.parametrize("step", ["copystat", "write_bytes", "read_settings"])
def test_a_full_disk_in_the_middle_leaves_everything_as_it_was(
    plan: Plan, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[str] = []
    owner: Any = shutil if step == "copystat" else replace
    real = getattr(owner, step)

    def fail(*arguments: Any, **named: Any) -> Any:
        calls.append(step)
        if len(calls) == (1 if step == "read_settings" else 2):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return real(*arguments, **named)

    monkeypatch.setattr(owner, step, fail)
    with pytest.raises(PreflightRefused) as refused:
        write_change(plan)
    refused.value.settle()
    assert refused.value.reason == "output_unwritable"
    assert "No space left on device" in refused.value.message
    assert plan.path.read_text() == BEFORE
    assert list(plan.path.parent.iterdir()) == [plan.path]


def test_an_earlier_copy_is_never_overwritten(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "strftime", lambda _: "20260101-000000")
    first = write_change(plan)
    plan.path.write_text(BEFORE)
    second = write_change(plan_change(plan.path, None, {}))
    assert [Path(str(change.backup)).name for change in (first, second)] == [
        "settings.json.20260101-000000.bak",
        "settings.json.20260101-000000-2.bak",
    ]


def test_the_profile_pins_what_shapes_a_solve() -> None:
    profile = load_profile()
    assert {slot for slot in MODEL_SLOTS if slot not in profile} == {"CLAUDE_CODE_MODEL"}
    assert {name: value for name, value in profile.items() if is_secret_name(name) and value} == {}
    assert {name: value for name, value in profile.items() if name not in MODEL_SLOTS and not is_secret_name(name)} == {
        "OUROBOROS_MAX_WORKERS": 4,
        "OUROBOROS_MAX_ROUNDS": 1000,
        "OUROBOROS_TASK_REVIEW_MODE": "required",
        "OUROBOROS_REVIEW_ENFORCEMENT": "blocking",
        "OUROBOROS_EFFORT_TASK": "high",
        "OUROBOROS_EFFORT_REVIEW": "high",
        "OUROBOROS_EFFORT_SCOPE_REVIEW": "high",
        "OUROBOROS_EFFORT_DEEP_SELF_REVIEW": "high",
        "OUROBOROS_EFFORT_CONSCIOUSNESS": "high",
        "OUROBOROS_EFFORT_EVOLUTION": "high",
        "OUROBOROS_RUNTIME_MODE": "pro",
        "OUROBOROS_SAFETY_MODE": "light",
        "OUROBOROS_POST_TASK_EVOLUTION": "false",
    }
    assert differing_modes(profile) == []
    assert differing_modes({"OUROBOROS_MAX_WORKERS": "4", "OUROBOROS_POST_TASK_EVOLUTION": False}) == []
