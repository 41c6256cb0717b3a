"""The command line that goes on with a run: `practice` only for what `practice` began."""

from pathlib import Path

import pytest

from obo_bench.practice.main_job import PracticeOptions, command_of_run
from obo_bench.practice.second_terminal import run_arguments
from obo_bench.programbench.leftovers.resuming import recorded_resume

URL = "http://127.0.0.1:8770"
PRACTICE_ID = "practice__colstat.0000003"


def resume(
    place: Path, *options: str, instance: str = PRACTICE_ID, practice: Path | None = None, **asked: bool
) -> list[str]:
    argv = ["obo-bench", "programbench", "run", *options]
    manifest = {
        "argv": argv,
        "requested_task_ids": [instance],
        "source": {"repo_dir": str(place / "ouroboros")},
        "harness": {"practice": str(practice) if practice else None},
    }
    return recorded_resume(manifest, place / "bench_runs" / "programbench" / "a", **asked)


def by_practice(place: Path) -> list[str]:
    """What `practice --run-id a` starts."""
    command = command_of_run(PracticeOptions(directory=place), place, place / "ouroboros", URL, "a")
    return command[command.index("run") + 1 :]


def typed(place: Path, *more: str) -> list[str]:
    """What is typed in the second terminal of `practice gateway`."""
    return [*run_arguments(place, place / "ouroboros", URL), "--eval", *more]


def test_a_practice_is_gone_on_with_by_practice(tmp_path: Path) -> None:
    again = ["obo-bench", "practice", "--directory", str(tmp_path), "--run-id", "a"]
    assert resume(tmp_path, *by_practice(tmp_path), practice=tmp_path) == again


def test_one_whose_directory_was_moved_is_not(tmp_path: Path) -> None:
    again = resume(tmp_path / "moved", *by_practice(tmp_path), practice=tmp_path)
    assert again[:3] == ["obo-bench", "programbench", "run"]


@pytest.mark.parametrize("more", [("--run-id", "a"), ("--workers", "2", "--run-id", "a"), ("--run-id=a",)])
def test_what_was_typed_against_the_stand_in_is_gone_on_with_as_it_was_typed(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    again = resume(tmp_path, *typed(tmp_path, *more))
    assert again == ["obo-bench", "programbench", "run", *typed(tmp_path, *more)]


def test_where_its_server_still_answers_practice_must_not_start_another(tmp_path: Path) -> None:
    again = resume(tmp_path, *by_practice(tmp_path), practice=tmp_path, server_answers=True)
    assert again[:3] == ["obo-bench", "programbench", "run"]
    assert again[again.index("--ouroboros-url") + 1] == URL


@pytest.mark.parametrize("settings", [(), ("--settings-path", "/elsewhere/settings.json")])
def test_practice_programs_on_a_server_of_the_operators_own_are_not(tmp_path: Path, settings: tuple[str, ...]) -> None:
    words = resume(tmp_path, *settings, "--workers", "2", "--run-id", "a", "--eval")
    assert words[:3] == ["obo-bench", "programbench", "run"]


def test_other_instances_never_are(tmp_path: Path) -> None:
    again = resume(tmp_path, *by_practice(tmp_path), practice=tmp_path, instance="a__b.1")
    assert again[:3] == ["obo-bench", "programbench", "run"]
