"""`prepare`: what it refuses before anything is looked at, and what stays as it was. Needs no engine."""

import json
import os
from pathlib import Path

import pytest

from obo_bench.__main__ import main
from obo_bench.core.files import read_json_object
from tests.conftest import Done, git

IID = "abishekvashok__cmatrix.5c082c6"


class Call:
    """An invocation that only lacks an engine."""

    def __init__(self, base: Path, checkout: Path, told: pytest.CaptureFixture[str]) -> None:
        self._told = told
        self.base, self.checkout = base, checkout
        self.workspace, self.instruction = base / "ws", base / "task.md"
        self.workspace.mkdir()
        self.instruction.write_text("Write it again.\n")
        self.directory = base / "runs" / "programbench" / "r" / IID

    def __call__(self, *more: str | Path, instance: str = IID) -> Done:
        arguments = [
            "programbench", "prepare", "--repo-dir", self.checkout, "--runs-root", self.base / "runs", "--run-id", "r",
            "--workspace", self.workspace, "--instruction-file", self.instruction, "--container-name", "room",
            "--instance-id", instance, "--json", *more,
        ]  # fmt: skip
        status = main([str(argument) for argument in arguments])
        return Done(status, *self._told.readouterr())


@pytest.fixture
def call(tmp_path: Path, checkout: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Call:
    monkeypatch.setenv("DOCKER_HOST", "nonsense://nowhere")
    return Call(tmp_path, checkout, capfd)


def assert_refused(done: Done, reason: str, status: int = 5) -> str:
    assert (done.status, done.envelope["refusal"]["reason"]) == (status, reason), done.stderr
    return str(done.envelope["refusal"]["message"])


def test_an_engine_that_does_not_answer_is_refused_with_everything_else_on_record(call: Call, tmp_path: Path) -> None:
    assert_refused(call("--manifest-output", tmp_path / "m.json", "--isolated-data-root", tmp_path / "own"),
                   "engine_unreachable")  # fmt: skip
    manifest = read_json_object(call.directory / "run_manifest.json")
    assert manifest == read_json_object(tmp_path / "m.json")
    assert manifest is not None
    assert (manifest["command"], manifest["requested_task_ids"]) == ("programbench prepare", [IID])
    assert manifest["isolated_data_root"] == str(tmp_path / "own")
    assert manifest["harness"]["settings"]["path"] == str(tmp_path / "own" / "settings.json")
    assert manifest["extra"]["outcome"] == "refused"
    assert list(call.workspace.iterdir()) == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "No such file"),
        (b"", "it is blank"),
        (b" \n\t", "it is blank"),
        (b"one\ntwo \xff\n", "line 2: it is not UTF-8"),
        (b"x" * ((1 << 20) + 1), "more than 1048576 bytes"),
    ],
    ids=["missing", "empty", "blank", "not UTF-8", "too large"],
)
def test_an_instruction_that_cannot_be_read_as_text_is_refused(call: Call, content: bytes | None, told: str) -> None:
    call.instruction.unlink()
    if content is not None:
        call.instruction.write_bytes(content)
    assert told in assert_refused(call(), "instruction_unreadable")
    assert call.directory.joinpath("run_manifest.json").exists()


@pytest.mark.parametrize("kind", ["directory", "FIFO"])
def test_an_instruction_that_is_no_file_does_not_hold_it(call: Call, kind: str) -> None:
    call.instruction.unlink()
    if kind == "FIFO":
        os.mkfifo(call.instruction)
    else:
        call.instruction.mkdir()
    assert_refused(call(), "instruction_unreadable")


def test_an_unknown_instance_is_refused_with_what_is_near(call: Call) -> None:
    message = assert_refused(call(instance="abishekvashok__cmatrix.5c082c7"), "unknown_instance")
    assert IID in message


@pytest.mark.parametrize("instance", ["..", "a/b__c", "manifests", "a__", "", "-x__y"])
def test_an_id_that_could_not_name_a_directory_is_a_usage_error(call: Call, instance: str) -> None:
    done = call("--instance-id", instance) if not instance.startswith("-") else call(f"--instance-id={instance}")
    if instance == "a__":
        assert_refused(done, "unknown_instance")
        return
    assert (done.status, done.envelope["outcome"]) == (2, "usage_error")
    assert not (call.base / "runs").exists()


def test_a_dirty_checkout_is_refused_and_can_be_waived(call: Call) -> None:
    (call.checkout / "dirt").write_text("x")
    assert_refused(call(), "seed_dirty", 4)
    assert_refused(call("--allow-dirty-seed"), "engine_unreachable")


@pytest.mark.parametrize("flag", ["--ledger-output", "--manifest-output"])
@pytest.mark.parametrize("place", ["ouroboros", "data", "own"])
def test_an_output_may_not_land_in_the_servers_places(call: Call, flag: str, place: str, tmp_path: Path) -> None:
    where = {"ouroboros": call.checkout, "data": call.checkout.parent / "data", "own": tmp_path / "own"}[place]
    where.mkdir(exist_ok=True)
    before = sorted(where.iterdir())
    settings = tmp_path / "elsewhere" / "settings.json"
    done = call(flag, where / "x.json", "--isolated-data-root", tmp_path / "own", "--settings-path", settings)
    assert_refused(done, "output_not_confined")
    assert done.envelope["refusal"]["evidence"]["directory"] == str(where)
    assert sorted(where.iterdir()) == before
    assert git(call.checkout, "status", "--porcelain") == ""


def test_a_workspace_in_the_checkout_is_not_prepared(call: Call) -> None:
    call.workspace = call.checkout / "below"
    assert_refused(call(), "output_not_confined")


def other_run(base: Path) -> Path:
    place = base / "other"
    place.mkdir()
    schema = "ouroboros.benchmark.run_manifest.v1"
    (place / "run_manifest.json").write_text(json.dumps({"schema": schema, "command": "programbench run"}))
    return place


@pytest.mark.parametrize(
    ("flag", "name"),
    [
        ("--manifest-output", "run_manifest.json"),
        ("--manifest-output", "copy.json"),
        ("--manifest-output", "../result_index.jsonl"),
        ("--ledger-output", "result_index.jsonl"),
        ("--ledger-output", "../run_manifest.json"),
        ("--ledger-output", "../missing/l.jsonl"),
        ("--ledger-output", "../ws"),
        ("--manifest-output", "../runs/programbench/r/run_manifest.json"),
        ("--ledger-output", "../runs/programbench/r/abishekvashok__cmatrix.5c082c6/mine.jsonl"),
    ],
)
def test_an_output_that_would_replace_what_a_run_owns_is_refused(call: Call, flag: str, name: str) -> None:
    place = other_run(call.base)
    before = (place / "run_manifest.json").read_bytes()
    assert_refused(call(flag, f"{place}/{name}"), "output_unwritable")
    assert (place / "run_manifest.json").read_bytes() == before
    assert [path.name for path in place.iterdir()] == ["run_manifest.json"]


@pytest.mark.parametrize("flag", ["--ledger-output", "--manifest-output"])
def test_an_output_in_the_workspace_would_be_handed_in(call: Call, flag: str) -> None:
    (call.workspace / "src").mkdir()
    message = assert_refused(call(flag, call.workspace / "src" / "x.json"), "output_unwritable")
    assert "would be handed in with the submission" in message
    assert list((call.workspace / "src").iterdir()) == []


def test_the_runs_own_files_and_an_earlier_copy_may_be_named(call: Call) -> None:
    copy = call.base / "run_manifest.json"
    for ledger, manifest in (
        (call.directory.parent / "result_index.jsonl", call.directory / "run_manifest.json"),
        (call.directory / "result_index.jsonl", copy),
        (call.base / "all.jsonl", copy),
    ):
        assert_refused(call("--ledger-output", ledger, "--manifest-output", manifest), "engine_unreachable")
    assert read_json_object(copy) == read_json_object(call.directory / "run_manifest.json")


def test_both_outputs_in_one_file_are_a_usage_error(call: Call) -> None:
    done = call("--ledger-output", call.base / "x", "--manifest-output", call.base / "x")
    assert (done.status, done.envelope["outcome"]) == (2, "usage_error")


def test_a_run_of_another_command_is_left_alone(call: Call) -> None:
    call.directory.parent.mkdir(parents=True)
    (call.directory.parent / "run_manifest.json").write_text("{}")
    assert_refused(call(), "resume_config_mismatch")


@pytest.mark.parametrize(
    "more",
    [("--container-name", "a b"), ("--timeout-sec", "inf"), ("--protected-path", "/workspace"), ("--workspace", "")],
)
def test_a_value_that_means_nothing_is_a_usage_error(call: Call, more: tuple[str, str]) -> None:
    done = call(*more)
    assert (done.status, done.envelope["outcome"]) == (2, "usage_error"), done.stderr
    assert not (call.base / "runs").exists()
