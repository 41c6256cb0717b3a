"""The task body equals the recorded one field by field; the instruction says what the rules do."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from obo_bench.programbench.packaging.collection_rules import DEFAULT_PROTECTED_PATHS
from obo_bench.programbench.solving.instruction import render_instruction
from obo_bench.programbench.solving.task_body import build_task_body

RECORDED = json.loads((Path(__file__).parent / "data" / "task_body.json").read_text(encoding="utf-8"))["body"]
WORKSPACE = Path("/srv/runs/one/workspace")


def body(**changes: Any) -> dict[str, Any]:
    return build_task_body(
        **{
            "instance_id": "demo__demo.1234567",
            "task_id": "obo-abc-demo__demo.1234567-1",
            "description": "Rebuild the program behind ./reference_executable.",
            "workspace": WORKSPACE,
            "container_name": "cleanroom-pb1",
            "image": "programbench/demo:task_cleanroom_v6",
            "timeout_sec": 1200,
            **changes,
        }
    )


def recorded() -> dict[str, Any]:
    value: dict[str, Any] = json.loads(json.dumps(RECORDED).replace("<workspace>", str(WORKSPACE)))
    return value


@pytest.mark.parametrize("field", RECORDED)
def test_each_field_equals_the_recorded_one(field: str) -> None:
    assert body()[field] == recorded()[field]


def test_nothing_is_added_but_the_task_id() -> None:
    built = body()
    assert built.pop("task_id") == "obo-abc-demo__demo.1234567-1"
    assert json.dumps(built) == json.dumps(recorded())


def test_protected_paths_replace_the_default() -> None:
    artifact = body(protected_paths=("secret/plan",))["resource_policy"]["protected_artifacts"][0]
    assert artifact["paths"] == ["secret/plan"]
    assert artifact["allow"] == ["execute"]


@pytest.mark.parametrize(
    "change",
    [
        {"timeout_sec": 0},
        {"timeout_sec": -1},
        {"timeout_sec": float("nan")},
        {"timeout_sec": float("inf")},
        {"description": " \n"},
        {"workspace": Path("relative")},
    ],
)
def test_values_that_the_server_would_misread_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"demo__demo\.1234567"):
        body(**change)


def test_the_instruction_is_complete_and_the_same_every_time() -> None:
    text = render_instruction(timeout_sec=21600)
    assert text == render_instruction(timeout_sec=21600, protected_paths=DEFAULT_PROTECTED_PATHS)
    assert "You have 6 hours from" in text
    assert not re.search(r"\$[a-z{]", text), "a placeholder was left"
    for fact in (
        "./reference_executable",
        "./compile.sh",
        "900 seconds",
        "UTF-8",
        "argv[0]",
        "here-documents",
        "rm -f executable",
        "no internet",
        "RESOURCE_POLICY_BLOCKED",
        "as root, without network",
    ):
        assert fact in text, fact


def test_the_instruction_names_the_protected_paths_of_the_run() -> None:
    text = render_instruction(timeout_sec=60, protected_paths=("/workspace/secret.bin",))
    assert text.count("`/workspace/secret.bin`") == 2
    assert "`/workspace/reference_executable`" not in text


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(21600, "6 hours"), (3600, "1 hour"), (90, "1 minute 30 seconds"), (5461.4, "1 hour 31 minutes 1 second")],
)
def test_the_time_limit_is_told_in_words(seconds: float, words: str) -> None:
    assert f"You have {words} from" in render_instruction(timeout_sec=seconds)
