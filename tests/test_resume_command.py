"""The command line that goes on with a run: `practice` only for what `practice` began."""

from pathlib import Path

import pytest

from obo_bench.programbench.leftovers.resuming import recorded_resume

PRACTICE_ID = "practice__colstat.0000003"


def resume(place: Path, *options: str, instance: str = PRACTICE_ID) -> list[str]:
    argv = ["obo-bench", "programbench", "run", "--run-id", "a", *options]
    manifest = {"argv": argv, "requested_task_ids": [instance], "source": {"repo_dir": str(place / "ouroboros")}}
    return recorded_resume(manifest, place / "bench_runs" / "programbench" / "a")


def test_a_practice_is_gone_on_with_by_practice(tmp_path: Path) -> None:
    settings = str(tmp_path / "data" / "settings.json")
    assert resume(tmp_path, "--settings-path", settings)[:4] == ["obo-bench", "practice", "--directory", str(tmp_path)]


@pytest.mark.parametrize("options", [(), ("--settings-path", "/elsewhere/settings.json")])
def test_practice_programs_on_a_server_of_the_operators_own_are_not(tmp_path: Path, options: tuple[str, ...]) -> None:
    assert resume(tmp_path, *options)[:3] == ["obo-bench", "programbench", "run"]


def test_other_instances_never_are(tmp_path: Path) -> None:
    settings = str(tmp_path / "data" / "settings.json")
    assert resume(tmp_path, "--settings-path", settings, instance="a__b.1")[:3] == ["obo-bench", "programbench", "run"]
