"""The official `submit package` and `submit verify` on a leaderboard directory of a real, graded practice run."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.reporter import SilentReporter
from obo_bench.practice.seed import make_seed_checkout
from obo_bench.practice.standin import StandIn, StandInConfig
from obo_bench.programbench.leaderboard.build import build_leaderboard
from obo_bench.programbench.leaderboard.result import LeaderboardResult
from tests.conftest import obo
from tests.leaderboard_case import snapshot, told

pytestmark = pytest.mark.docker


IID = "practice__wordtally.0000001"


class Practice:
    """A graded run of one practice task, and the official package as it knows the practice tasks."""

    def __init__(self, place: Path, env: dict[str, str]) -> None:
        checkout = make_seed_checkout(place / "workspace" / "ouroboros")
        server = StandIn(StandInConfig(repo_dir=checkout, data_dir=place / "workspace" / "data", scenario="partial"))
        arguments = ("--repo-dir", checkout, "--ouroboros-url", server.start(), "--runs-root", place, "--run-id", "r")
        limits = ("--memory", "512m", "--cpus", "1", "--timeout-sec", "600")
        try:
            done = obo("programbench", "run", *arguments, *limits, "--instance-id", IID, "--eval", "-q", env=env)
        finally:
            server.stop()
        assert done.status == 0, done.stderr
        self.root, self.env, self.ids = place / "programbench" / "r", env, [IID]

    def export(self, dest: Path) -> LeaderboardResult:
        for iid in self.ids:
            (dest / iid).mkdir(parents=True, exist_ok=True)
            if not (dest / iid / "submission.tar.gz").exists():
                os.link(self.root / iid / "submission.tar.gz", dest / iid / "submission.tar.gz")
        return build_leaderboard(self.root, dest, self.ids, SilentReporter())

    def submit(self, command: str, dest: Path) -> "subprocess.CompletedProcess[str]":
        script = "from programbench.cli.main import app; app()"
        argv = [sys.executable, "-c", script, "submit", command, str(dest)]
        return subprocess.run(
            argv, env={**os.environ, **self.env}, capture_output=True, text=True, timeout=120, check=False
        )


@pytest.fixture(scope="module")
def practice(tmp_path_factory: pytest.TempPathFactory, practice_images: None, practice_env: dict[str, str]) -> Practice:
    return Practice(tmp_path_factory.mktemp("practice"), practice_env)


def document(path: Path) -> Any:
    return json.loads(path.read_text())


def test_the_directory_passes_as_it_stands_and_an_export_over_it_changes_nothing(
    practice: Practice, tmp_path: Path
) -> None:
    dest, of_run = tmp_path / "entry", snapshot(practice.root)
    result = practice.export(dest)
    assert result.graded == practice.ids
    for name in ("network_off", "no_tests_visible", "image_audited", "same_image", "clean_solve", "no_waivers"):
        assert told(result, name).support == "supported", name
    # It was built here.
    assert told(result, "image_digest").support == "unsupported"
    for _ in range(2):
        packaged = practice.submit("package", dest)
        assert packaged.returncode == 0, packaged.stderr
        assert "Packaged 1 instance(s)" in packaged.stdout
        verified = practice.submit("verify", dest)
        assert (verified.returncode, "PASS" in verified.stdout) == (0, True), verified.stdout
        files = snapshot(dest)
        assert practice.export(dest) == result
        assert snapshot(dest) == files
    assert set(document(dest / "_stats" / "score.json")) == set(practice.ids)
    assert (dest / practice.ids[0] / f"{practice.ids[0]}.eval.log.json").is_file()
    assert snapshot(practice.root) == of_run


def test_the_export_command_makes_such_a_directory(practice: Practice, tmp_path: Path) -> None:
    arguments = ("--source", practice.root, "--dest", tmp_path / "entry", "--leaderboard", "--json")
    for _ in range(2):
        done = obo("export", *arguments, env=practice.env)
        assert done.status == 0, done.stderr
        for command in ("package", "verify"):
            assert practice.submit(command, tmp_path / "entry").returncode == 0
    told_by_file = document(tmp_path / "entry" / "export_manifest.json")["leaderboard"]
    assert (told_by_file["schema"], told_by_file["graded"]) == ("obo_bench.leaderboard.v1", practice.ids)


def test_our_fields_survive_the_packaging(practice: Practice, tmp_path: Path) -> None:
    practice.export(tmp_path / "entry")
    readme = (tmp_path / "entry" / "README.md").read_bytes()
    assert practice.submit("package", tmp_path / "entry").returncode == 0
    manifest = (tmp_path / "entry" / "submission.yaml").read_text()
    for line in ('agent: "Ouroboros 6.75.0"', 'model: "practice::scripted-solver"', 'is_os_model: "TODO"'):
        assert line in manifest
    assert (tmp_path / "entry" / "README.md").read_bytes() == readme


def test_a_score_that_was_tampered_with_does_not_verify(practice: Practice, tmp_path: Path) -> None:
    practice.export(tmp_path)
    assert practice.submit("package", tmp_path).returncode == 0
    scores = document(tmp_path / "_stats" / "score.json")
    tests = scores[practice.ids[0]]
    failed = next(name for name, passed in tests.items() if not passed)
    tests[failed] = True
    (tmp_path / "_stats" / "score.json").write_text(json.dumps(scores))
    verified = practice.submit("verify", tmp_path)
    assert (verified.returncode, "FAIL" in verified.stdout) == (1, True), verified.stdout


def test_a_recombined_directory_is_made_whole_again_and_still_passes(practice: Practice, tmp_path: Path) -> None:
    practice.export(tmp_path)
    for command in ("package", "recombine"):
        assert practice.submit(command, tmp_path).returncode == 0
    practice.export(tmp_path)
    for iid in practice.ids:
        name = f"{iid}/{iid}.eval.json"
        assert (tmp_path / name).read_bytes() == (practice.root / name).read_bytes()
    for command in ("package", "verify"):
        assert practice.submit(command, tmp_path).returncode == 0


def test_the_practice_statistics_are_those_of_the_ledger(practice: Practice, tmp_path: Path) -> None:
    result = practice.export(tmp_path)
    known = document(practice.root / "run_manifest.json")["extra"]["cost"]["known_usd"]
    assert sum(document(tmp_path / "_stats" / "cost.json").values()) == pytest.approx(known)
    assert set(document(tmp_path / "_stats" / "calls.json")) == set(practice.ids)
    assert not any(statistic.unknown for statistic in result.statistics.values())
