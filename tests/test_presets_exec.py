"""Each preset, proven by a launcher of its shape under the real `exec`, a real checkout and a real server."""

import json
import shlex
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.ledger import latest_rows
from obo_bench.core.refusals import CAMPAIGN_FATAL_PROVENANCE_REASONS
from obo_bench.launch.presets.preset import VOLUME_REFUSED
from obo_bench.launch.presets.registry import PRESETS
from tests.conftest import Done, git, obo

SHAPED = Path(__file__).parent / "shaped_launchers"
EVOLVING = "swe-bench-pro-evolving"
Found = dict[str, tuple[str, str, str]]


def ids_file(directory: Path, *names: str) -> str:
    path = directory / "input.jsonl"
    path.write_text("".join(json.dumps({"instance_id": name, "base_commit": "abc"}) + "\n" for name in names))
    return str(path)


def schedule(directory: Path, *names: str) -> list[str]:
    path = directory / "schedule.csv"
    path.write_text("idx,instance_id,repo\n" + "".join(f"{n},{name},r\n" for n, name in enumerate(names)))
    return ["--csv", str(path), "--out-dir", "out", "--volume-suffix", "a"]


def examples(directory: Path) -> str:
    path = directory / "test_all.json"
    path.write_text(json.dumps({"chrome": ["good"], "os": ["partly", "bad", "lost"]}))
    return str(path)


@dataclass(frozen=True)
class Shape:
    """How one launcher is called, and what has to be found."""

    words: Callable[[Path], list[str]]
    found: Found
    status: int = 0
    options: tuple[str, ...] = ()


LOST = ("not_attempted", "no_result_reported", "not_run")
SHAPES = {
    "swe-bench": Shape(
        lambda place: ["--input", ids_file(place, "good", "bad", "empty", "lost"), "--output", "p.jsonl"],
        {
            "good": ("completed", "prediction_written", "not_run"),
            "bad": ("failed", "client_poll_timeout", "not_run"),
            "empty": ("failed", "empty_prediction", "not_run"),
            "lost": LOST,
        },
        status=1,
    ),
    "swe-bench-pro": Shape(
        lambda place: ["--input", ids_file(place, "good", "empty", "lost"), "--output", "p.jsonl"],
        {
            "good": ("completed", "prediction_written", "not_run"),
            "empty": ("failed", "empty_prediction", "not_run"),
            "lost": LOST,
        },
        status=1,
    ),
    EVOLVING: Shape(
        lambda place: [
            *schedule(place, "before", "good", "87:line:pyexpat_abi_mismatch", "empty", "lost", "after"),
            *("--start", "1", "--limit", "4"),
        ],
        {
            "good": ("completed", "prediction_written", "not_run"),
            "87:line:pyexpat_abi_mismatch": ("blocked", "pyexpat_abi_mismatch", "not_run"),
            "empty": ("failed", "empty_prediction", "not_run"),
            "lost": LOST,
        },
    ),
    "harness-bench-fast": Shape(
        lambda _: shlex.split("--bench-root b --task good --task wrong --task=bad --task lost --run-root out"),
        {
            "good": ("completed", "task_ended", "pass"),
            "wrong": ("completed", "task_ended", "fail"),
            "bad": ("failed", "task_failed", "fail"),
            "lost": LOST,
        },
        status=1,
    ),
    "gaia": Shape(
        lambda _: shlex.split("inspect_evals/gaia --solver s --sample-id good,wrong,bad,lost --log-dir logs"),
        {
            "good": ("completed", "task_ended", "pass"),
            "wrong": ("completed", "task_ended", "fail"),
            "bad": ("failed", "task_failed", "ungraded"),
            "lost": LOST,
        },
    ),
    "cl-bench": Shape(
        lambda _: [],
        {"good": ("completed", "task_ended", "not_run"), "bad": ("failed", "gave_up", "not_run"), "lost": LOST},
        options=("--task-id", "good", "--task-id", "bad", "--task-id", "lost"),
    ),
    "terminal-bench": Shape(
        lambda _: shlex.split("run -d terminal-bench@2.0 -i good -i mixed -i bad -i lost --job-name first -k 2"),
        {
            "good": ("completed", "task_ended", "pass"),
            "mixed": ("completed", "task_ended", "ungraded"),
            "bad": ("failed", "AgentTimeoutError", "ungraded"),
            "lost": LOST,
        },
    ),
    "osworld": Shape(
        lambda place: ["--test_all_meta_path", examples(place), "--max_steps", "500", "--result_dir", "results"],
        {
            "good": ("completed", "task_ended", "pass"),
            "partly": ("completed", "task_ended", "fail"),
            "bad": ("failed", "no_final_result", "ungraded"),
            "lost": LOST,
        },
    ),
}


@dataclass(frozen=True)
class Place:
    """A checkout with a seed's stamp, a server for it, and a directory for the launcher."""

    directory: Path
    checkout: Path
    url: str

    def run(self, name: str, *words: str, options: tuple[str, ...] = ()) -> Done:
        script = {"swe-bench-pro-evolving": "evolving"}.get(name, name.replace("-", "_"))
        line = ["--repo-dir", str(self.checkout), "--ouroboros-url", self.url, "--runs-root", str(self.runs)]
        command = [sys.executable, str(SHAPED / f"{script}.py"), *words]
        return obo("exec", "--preset", name, "--run-id", "r", *line, *options, "--", *command, cwd=self.directory)

    @property
    def runs(self) -> Path:
        return self.directory.parent / "runs"

    def manifest(self, name: str) -> dict[str, Any]:
        value = json.loads((self.runs / name / "r" / "run_manifest.json").read_text())
        assert isinstance(value, dict)
        return value

    def found(self, name: str) -> Found:
        rows = latest_rows(self.runs / name / "r" / "result_index.jsonl")
        return {key: (str(row.status), row.reason_code, row.official_eval_status) for key, row in rows.items()}


@pytest.fixture
def place(tmp_path: Path, checkout: Path, serve: Callable[..., str]) -> Place:
    (checkout / ".git" / "ouroboros_seed").write_text(git(checkout, "rev-parse", "HEAD") + "\n")
    directory = tmp_path / "launcher"
    directory.mkdir()
    return Place(directory, checkout, serve())


def test_there_is_a_shaped_launcher_for_every_preset() -> None:
    assert set(SHAPES) == set(PRESETS)


@pytest.mark.parametrize("name", list(SHAPES))
def test_good_failed_and_missing_results_become_rows(place: Place, name: str) -> None:
    shape = SHAPES[name]
    done = place.run(name, *shape.words(place.directory), options=shape.options)
    assert done.status == shape.status, done.stderr
    assert place.found(name) == shape.found
    manifest = place.manifest(name)
    assert manifest["requested_task_ids"] == list(shape.found)
    assert (manifest["benchmark"], manifest["dataset"]) == (name, PRESETS[name].dataset)
    assert manifest["extra"]["child_exit_code"] == shape.status


def test_a_fatal_line_stops_the_driver_before_it_begins_to_archive(place: Place) -> None:
    reason = min(CAMPAIGN_FATAL_PROVENANCE_REASONS)
    words = schedule(place.directory, "good", f"88:line:{reason}", "after")
    done = place.run(EVOLVING, *words)
    assert done.status == 7, done.stderr
    assert place.manifest(EVOLVING)["extra"]["refusal"]["reason"] == reason
    assert not (place.directory / "out" / "archive_begun").exists()
    assert place.found(EVOLVING)["good"][0] == "completed"
    assert place.found(EVOLVING)["after"][0] == "not_attempted"


@pytest.mark.parametrize("first", ["88:quiet:", "2:quiet:"])
def test_the_exit_status_alone_ends_the_campaign_too(place: Place, first: str) -> None:
    done = place.run(EVOLVING, *schedule(place.directory, f"{first}x", "after"))
    assert done.status == 7, done.stderr
    extra = place.manifest(EVOLVING)["extra"]
    assert (extra["outcome"], extra["refusal"]["reason"]) == ("stopped_provenance", VOLUME_REFUSED)
    assert extra["child_exit_code"] == 2
    assert not (place.directory / "out" / "archive_begun").exists()


def test_a_fatal_reason_that_only_the_timeline_holds_ends_the_campaign(place: Place) -> None:
    reason = max(CAMPAIGN_FATAL_PROVENANCE_REASONS)
    done = place.run(EVOLVING, *schedule(place.directory, f"87:row:{reason}", "good"))
    assert done.status == 7, done.stderr
    extra = place.manifest(EVOLVING)["extra"]
    assert (extra["refusal"]["reason"], extra["child_exit_code"]) == (reason, 0)
    assert reason in extra["child_report"]["stopped_for"]


def test_what_is_permanent_for_one_task_lets_the_schedule_go_on(place: Place) -> None:
    done = place.run(
        "swe-bench-pro-evolving", *schedule(place.directory, "87:line:pip_bootstrap_failed", "87:line:new_word", "good")
    )
    assert done.status == 0, done.stderr
    assert [row[:2] for row in place.found(EVOLVING).values()] == [
        ("blocked", "pip_bootstrap_failed"),
        ("failed", "new_word"),
        ("completed", "prediction_written"),
    ]
    assert (place.directory / "out" / "archive_finished").exists()
    assert place.manifest(EVOLVING)["extra"]["child_report"]["announced"] == ["pip_bootstrap_failed", "new_word"]


def test_an_evolving_volume_needs_the_stamp_of_its_seed(place: Place) -> None:
    (place.checkout / ".git" / "ouroboros_seed").unlink()
    done = place.run(EVOLVING, *schedule(place.directory, "good"))
    assert done.status == 4
    assert place.manifest(EVOLVING)["extra"]["refusal"]["reason"] == "stamp_absent"
    assert not (place.directory / "out").exists()


def test_input_that_cannot_be_read_ends_it_before_the_launcher_is_started(place: Place) -> None:
    done = place.run("swe-bench", "--input", "nowhere.jsonl", "--output", "p.jsonl")
    assert done.status == 5
    assert place.manifest("swe-bench")["extra"]["refusal"]["reason"] == "launcher_input_unreadable"
    assert "nowhere.jsonl" in done.stderr
    assert not (place.directory / "p.jsonl").exists()


def test_what_an_earlier_start_wrote_into_the_same_file_is_no_result_of_this_one(place: Place) -> None:
    old = {"instance_id": "lost", "model_patch": "diff"}
    (place.directory / "p.jsonl").write_text(json.dumps(old) + "\n")
    place.run("swe-bench", "--input", ids_file(place.directory, "good", "lost"), "--output", "p.jsonl")
    assert place.found("swe-bench") == {"good": ("completed", "prediction_written", "not_run"), "lost": LOST}
    assert any("were there before" in text for text in place.manifest("swe-bench")["extra"]["child_report"]["problems"])
