"""GAIA's logs: real ones that Inspect 0.3.285 wrote with its mock model, and damaged ones."""

import io
import json
import shutil
import sys
import zipfile
from pathlib import Path

import pytest

from obo_bench.launch.presets.gaia import GAIA
from obo_bench.launch.presets.launch import Launch
from obo_bench.launch.presets.preset import Harvest

RECORDED = Path(__file__).parent / "data" / "inspect"
EXPECTED = {
    "gaia-1": ("completed", "task_ended", "pass", True, ""),
    "gaia-2": ("completed", "task_ended", "fail", True, ""),
    "gaia-3": ("failed", "task_failed", "ungraded", False, "RuntimeError('the agent gave up')"),
}
Found = dict[str, tuple[str, str, str, bool, str]]


def harvest(directory: Path) -> Harvest:
    return GAIA.results(Launch(("inspect", "eval", "inspect_evals/gaia", "--log-dir", "logs"), directory))


def found(harvested: Harvest) -> Found:
    return {
        one.instance_id: (one.status, one.reason_code, one.official_eval_status, one.prediction_written, one.error)
        for one in harvested
    }


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    (tmp_path / "logs").mkdir()
    return tmp_path / "logs"


def zipped(path: Path, members: dict[str, object]) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, value in members.items():
            archive.writestr(name, value if isinstance(value, bytes) else json.dumps(value))


def test_a_recorded_archive_is_read(logs: Path) -> None:
    if not hasattr(zipfile, "ZIP_ZSTANDARD"):
        pytest.importorskip("zstandard")
    shutil.copy(RECORDED / "gaia.eval", logs / "a.eval")
    assert found(harvest(logs.parent)) == EXPECTED
    assert harvest(logs.parent).problems == ()


def test_a_recorded_json_log_is_read(logs: Path) -> None:
    shutil.copy(RECORDED / "gaia.json", logs / "a.json")
    assert found(harvest(logs.parent)) == EXPECTED
    assert harvest(logs.parent).problems == ()


@pytest.mark.skipif(hasattr(zipfile, "ZIP_ZSTANDARD"), reason="this zipfile knows Zstandard")
def test_an_archive_that_cannot_be_decompressed_says_what_to_do(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "zstandard", None)
    shutil.copy(RECORDED / "gaia.eval", logs / "a.eval")
    harvested = harvest(logs.parent)
    assert harvested.results == ()
    assert "--log-format json" in " ".join(harvested.problems)


def test_of_an_evaluation_that_was_killed_the_journal_is_taken(logs: Path) -> None:
    sample = {"id": "x", "epoch": 1, "scores": {"gaia_scorer": {"value": "C"}}}
    members: dict[str, object] = {"_journal/start.json": {"eval": {"task": "gaia"}}}
    for part in range(1, 11):
        members[f"_journal/summaries/{part}.json"] = [sample | {"id": f"x{part}"}]
    zipped(logs / "a.eval", members)
    harvested = harvest(logs.parent)
    assert [one.instance_id for one in harvested] == [f"x{part}" for part in range(1, 11)]
    assert "was not finished" in harvested.problems[0]


def test_only_the_official_scorer_gives_a_verdict_and_epochs_have_one_only_where_they_agree(logs: Path) -> None:
    def sample(name: str, scorer: str, value: object) -> dict[str, object]:
        return {"id": name, "scores": {scorer: {"value": value}}}

    samples = [
        sample("other", "exact", "C"),
        sample("twice", "gaia_scorer", "C"),
        sample("twice", "gaia_scorer", "I"),
        sample("odd", "gaia_scorer", {"x": 1}),
    ]
    zipped(logs / "a.eval", {"header.json": {"eval": {}, "status": "success"}, "summaries.json": samples})
    verdicts = {one.instance_id: (one.official_eval_status, one.attempt) for one in harvest(logs.parent)}
    assert verdicts == {"other": ("not_run", 1), "twice": ("ungraded", 2), "odd": ("ungraded", 1)}


def encrypted() -> bytes:
    """An archive whose members claim to be encrypted."""
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("summaries.json", "[]")
    data = bytearray(content.getvalue())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    return bytes(data)


DAMAGED: dict[str, bytes | dict[str, object]] = {
    "empty": b"",
    "no archive": b"PK\x03\x04" + b"\xff" * 100,
    "cut": (RECORDED / "gaia.eval").read_bytes()[:3000],
    "changed inside": (RECORDED / "gaia.eval").read_bytes().replace(b"\x28\xb5\x2f\xfd", b"\x28\xb5\x2f\x00"),
    "encrypted": encrypted(),
    "no header": {"summaries.json": [{"id": 1}]},
    "no JSON": {"header.json": b"\xff{", "summaries.json": b"["},
    "wrong shapes": {"header.json": [1], "summaries.json": {"id": 1}},
    "wrong samples": {"header.json": {"eval": 1, "status": 2}, "summaries.json": [1, None, {"id": None}, {"id": []}]},
    "too large": {"header.json": {"eval": 1}, "summaries.json": b" " * ((64 << 20) + 1)},
}


@pytest.mark.parametrize("content", DAMAGED.values(), ids=list(DAMAGED))
def test_a_damaged_log_is_told_and_gives_no_result(logs: Path, content: bytes | dict[str, object]) -> None:
    if isinstance(content, bytes):
        (logs / "a.eval").write_bytes(content)
    else:
        zipped(logs / "a.eval", content)
    harvested = harvest(logs.parent)
    assert harvested.results == ()
    assert harvested.problems
