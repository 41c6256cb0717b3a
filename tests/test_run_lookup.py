"""Finding a recorded run, and telling whether its process lives, on real directories and real locks."""

import json
from pathlib import Path

import pytest

from obo_bench.core.lock import RunLock, living_owner
from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.leftovers.run_lookup import find_run, hold_run
from tests.conftest import obo


def recorded(root: Path, **manifest: object) -> Path:
    root.mkdir(parents=True)
    (root / "run_manifest.json").write_text(json.dumps(manifest))
    (root / "instance_order.json").write_text(json.dumps({"run_nonce": "0badcafe", "instance_ids": ["a"]}))
    return root


def test_a_run_is_found_by_its_id_and_by_its_directory(tmp_path: Path) -> None:
    root = recorded(tmp_path / "programbench" / "full", harness={"ouroboros_url": "http://h:1"})
    for named, runs_root in (("full", tmp_path), (str(root), None)):
        run = find_run(named, runs_root)
        assert (run.root, run.nonce, run.url) == (root, "0badcafe", "http://h:1")


@pytest.mark.parametrize("command", ["cancel", "gc"])
def test_an_unknown_run_is_refused_with_near_names(command: str, tmp_path: Path) -> None:
    recorded(tmp_path / "programbench" / "full-run")
    done = obo("programbench", command, "fullrun", "--runs-root", tmp_path, "--json")
    assert done.status == 5
    refusal = done.envelope["refusal"]
    assert (refusal["reason"], refusal["stage"]) == ("run_not_found", "preflight")
    assert "did you mean full-run?" in refusal["message"]


@pytest.mark.parametrize("named", ["nothing", "/", "a\0b", "x" * 5000, "..", "\udcff", "*"])
def test_a_name_that_means_nothing_is_refused_and_no_crash(named: str, tmp_path: Path) -> None:
    with pytest.raises(PreflightRefused, match="there is no run"):
        find_run(named, tmp_path)


@pytest.mark.parametrize("manifest", ["[]", "{", '{"harness": 5, "extra": [], "run_root": {}}', "\xff"])
def test_a_manifest_of_odd_types_tells_nothing_and_breaks_nothing(manifest: str, tmp_path: Path) -> None:
    root = recorded(tmp_path / "programbench" / "r")
    (root / "run_manifest.json").write_text(manifest, encoding="latin-1")
    run = find_run("r", tmp_path)
    assert (run.url, run.settings_path, run.runtime_version, run.engine_id) == ("", None, None, "")


def test_an_empty_name_is_a_usage_error() -> None:
    for command in ("cancel", "gc"):
        assert obo("programbench", command, "").status == 2


def test_a_copy_is_refused_while_the_original_exists(tmp_path: Path) -> None:
    original = tmp_path / "programbench" / "original"
    recorded(original, run_root=str(original))
    copy = recorded(tmp_path / "copy", run_root=str(original))
    with pytest.raises(PreflightRefused, match="is a copy"):
        find_run(str(copy), None)
    original.rename(tmp_path / "put-away")
    assert find_run(str(copy), None).root == copy


def test_looking_whether_a_process_lives_leaves_lock_and_owner_as_they_are(tmp_path: Path) -> None:
    root = recorded(tmp_path / "r")
    assert living_owner(root) is None
    lock = RunLock(root, "first")
    lock.acquire()
    before = (root / ".run.owner.json").read_bytes()
    owner = living_owner(root)
    assert owner is not None
    assert owner["invocation"] == "first"
    assert (root / ".run.owner.json").read_bytes() == before
    lock.release()
    assert living_owner(root) is None


def test_a_held_run_keeps_others_off_and_the_record_of_who_died_for_the_next_run(tmp_path: Path) -> None:
    root = recorded(tmp_path / "r")
    died = {"pid": 1, "host": "elsewhere", "started_unix": 1.0, "invocation": "died"}
    (root / ".run.owner.json").write_text(json.dumps(died))
    run = find_run(str(root), None)
    with hold_run(run, "cancel") as invocation:
        with pytest.raises(PreflightRefused, match="is at work") as refused, hold_run(run, "gc"):
            pass
        assert refused.value.evidence["owner"]["invocation"] == invocation
    assert json.loads((root / ".run.owner.json").read_text()) == died
