"""What a reference may be: told by its content, scored as the official package does, refused with its line."""

import hashlib
import json
import shutil
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from programbench.submission import benchmark_instances, score_from_tests, score_instance, write_stat

from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.gating.official_tasks import OfficialTasks, official_tasks
from obo_bench.programbench.gating.score_source import ScoreReader
from obo_bench.programbench.gating.scores import ScoreTable
from tests.gate_world import IDS, GateWorld, account

OFFICIAL: OfficialTasks = official_tasks()
FIXTURE = "testorg__calculator.abc1234"
SAMPLES = Path(__file__).parent / "data" / "eval"


def read(path: Path, wanted: list[str] | None = None, runs_root: Path | None = None) -> ScoreTable:
    return ScoreReader(OFFICIAL, wanted or IDS[:4], runs_root).read("reference", str(path))


def refusal(path: Path, content: bytes | None = None) -> str:
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(PreflightRefused) as caught:
        read(path)
    caught.value.settle()
    assert caught.value.reason == "scores_unreadable"
    return caught.value.message


@pytest.mark.parametrize("header", ["", "id,score\n", "instance_id,score\n", "\ufeffID , Score\r\n", "\n"])
def test_a_table_of_ids_and_scores(tmp_path: Path, header: str) -> None:
    lines = f"{IDS[0]},0.5\n\n {IDS[1]} , 1 \n{IDS[2]},1e-1\n{IDS[3]},.25\n{IDS[9]},0\n"
    path = tmp_path / "scores"
    path.write_text(header + lines, encoding="utf-8")
    found = read(path)
    assert [found.scores[iid].value for iid in IDS[:4]] == [Fraction(1, 2), 1, Fraction(1, 10), Fraction(1, 4)]
    assert (found.source.format, found.source.role) == ("csv", "reference")
    assert found.source.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("lines", "problem"),
    [
        ("{a},85", "line 2: the score '85' is above 1: divide percentages by 100"),
        ("{a},1.0000000001", "line 2: the score '1.0000000001' is above 1"),
        ("{a},85%", "line 2: the score '85%' is not a number"),
        ("{a},nan", "line 2: the score 'nan' is not a number"),
        ("{a},-0.5", "line 2: the score '-0.5' is not a number"),
        ("{a},1/2", "line 2: the score '1/2' is not a number"),
        ("{a},1e999999999", "line 2: the score '1e999999999' is not a number"),
        ("{a},.", "line 2: the score '.' is not a number"),
        ("{a},", "line 2: the score '' is not a number"),
        ("{a},٣", "line 2: the score '٣' is not a number"),
        ("{a},0.5\n{a},0.5", "line 3: the task {a} is there twice"),
        ("{a},0.5\n{b}x,0.5", "line 3: the benchmark has no task '{b}x'"),
        ("{a}", "line 2: 1 column(s) instead of the two of id,score"),
        ("{a},0.5,1", "line 2: 3 column(s)"),
        ("{a};0.5", "line 2: 1 column(s)"),
        ('{a},"0.5', "it is not CSV"),
        ("", "line 1: there is no score in it"),
        ("{a},0.5\nid,score", "line 3: the benchmark has no task 'id'"),
    ],
)
def test_a_table_that_is_wrong_is_refused_with_the_line(tmp_path: Path, lines: str, problem: str) -> None:
    lines, problem = (text.replace("{a}", IDS[0]).replace("{b}", IDS[1]) for text in (lines, problem))
    assert problem in refusal(tmp_path / "scores.csv", f"id,score\n{lines}\n".encode())


def test_a_wrong_first_line_is_not_taken_for_a_header(tmp_path: Path) -> None:
    assert "line 1: the score 'nan'" in refusal(tmp_path / "scores.csv", f"{IDS[0]},nan\n".encode())


def test_bytes_that_are_no_text_are_refused_with_the_line(tmp_path: Path) -> None:
    assert "line 2: it is not UTF-8" in refusal(tmp_path / "scores.csv", f"{IDS[0]},1\n".encode() + b"\xff,1\n")


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    assert "not a regular file" in refusal(Path("/dev/zero"))
    assert "there is no such file" in refusal(tmp_path / "nothing")
    assert "neither grade_summary.json" in refusal(tmp_path)


def leaderboard_entry(directory: Path) -> dict[str, dict[str, bool]]:
    """Write the entry as the official package would for the whole benchmark, its own test instance besides."""
    entry = {}
    for number, iid in enumerate([*IDS, FIXTURE]):
        tests = json.loads((OFFICIAL.tasks_dir / iid / "tests.json").read_text())["branches"]
        names = [f"{branch}/{name}" for branch, told in tests.items() for name in told["tests"][:60]]
        ignored = {f"{branch}/{t['name']}" for branch, told in tests.items() for t in told["ignored_tests"]}
        counted = [name for name in names if name not in ignored]
        entry[iid] = {name: (place * 7 + number) % 11 > number % 12 for place, name in enumerate(counted)}
    directory.mkdir(exist_ok=True)
    write_stat(directory, "score", dict(entry))
    return entry


@pytest.mark.parametrize("place", [".", "_stats", "_stats/score.json"])
def test_a_public_leaderboard_entry_is_scored_as_the_official_package_does(tmp_path: Path, place: str) -> None:
    entry = leaderboard_entry(tmp_path / "entry")
    assert len(entry) == 201
    if place == "_stats":
        shutil.move(tmp_path / "entry" / "_stats" / "score.json", tmp_path / "entry" / "renamed")
        place = "renamed"
    found = read(tmp_path / "entry" / place, IDS)
    assert found.source.format == "score_json"
    assert found.source.sha256 == hashlib.sha256(Path(found.source.path).read_bytes()).hexdigest()
    assert {iid: float(score.value) for iid, score in found.scores.items()} == {
        iid: score_from_tests(entry[iid]) for iid in IDS
    }
    assert len(set(found.scores.values())) > 100
    assert [(s.passed, s.counted) for s in found.scores.values()] == [
        (sum(entry[iid].values()), len(entry[iid])) for iid in IDS
    ]


def test_tests_that_the_package_does_not_count_are_struck_out(tmp_path: Path) -> None:
    iid, told = next(
        (iid, told)
        for iid in IDS
        for told in [json.loads((OFFICIAL.tasks_dir / iid / "tests.json").read_text())["branches"]]
        if any(branch["ignored_tests"] for branch in told.values())
    )
    branch = next(name for name, info in told.items() if info["ignored_tests"])
    ignored = told[branch]["ignored_tests"][0]["name"]
    counted = next(n for n in told[branch]["tests"] if n not in {t["name"] for t in told[branch]["ignored_tests"]})
    tests = {f"{branch}/{counted}": True, f"{branch}/{ignored}": False, f"no-such-branch/{counted}": False}
    path = tmp_path / "score.json"
    path.write_text(json.dumps({iid: tests}))
    score = read(path, [iid]).scores[iid]
    assert (score.passed, score.counted, score.value) == (1, 1, Fraction(1))
    path.write_text(json.dumps({iid: {}}))
    assert read(path, [iid]).scores[iid].value == 0 == score_from_tests({})


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ('{"no__such.0000000": {}}', "the benchmark has no task 'no__such.0000000'"),
        ('{"%s": 0.5}', 'not a mapping of "branch/test" to true or false'),
        ('{"%s": {"a/b": 1}}', 'not a mapping of "branch/test" to true or false'),
        ('{"%s": {"a/b": true}}', "counts none of its 1 tests; it is of another version"),
        ('{"%s": {"a/b": true, "a/b": false}}', "'a/b' is there twice"),
        ('{"%s": {}, "%s": {}}', "is there twice"),
        ('{"%s": {}', "Expecting"),
        ('{"a":' * 100_000, "recursion"),
        ('{"schema": "obo_bench.grade_summary.v1"}', "Field required"),
    ],
)
def test_a_stats_file_of_another_shape_is_refused(tmp_path: Path, document: str, problem: str) -> None:
    assert problem in refusal(tmp_path / "score.json", document.replace("%s", IDS[0]).encode())


def test_a_task_that_is_not_in_the_reference_has_no_score(tmp_path: Path) -> None:
    path = tmp_path / "score.json"
    path.write_text(json.dumps({IDS[0]: {}}))
    assert list(read(path).scores) == [IDS[0]]


@pytest.mark.parametrize("sample", ["correct", "incorrect", "two-branches", "compile-failed", "executable-missing"])
def test_a_directory_of_official_evaluations_is_scored_as_the_official_package_does(
    tmp_path: Path, sample: str
) -> None:
    found = read(evaluations(tmp_path, sample), [FIXTURE])
    plan: Mapping[str, Any] = {"instance_id": FIXTURE, "branches": _branches()}
    official = score_instance(tmp_path / FIXTURE / f"{FIXTURE}.eval.json", dict(plan))
    assert float(found.scores[FIXTURE].value) == official
    digest = hashlib.sha256((tmp_path / FIXTURE / f"{FIXTURE}.eval.json").read_bytes()).hexdigest()
    assert found.source.sha256 == hashlib.sha256(f"{FIXTURE} {digest}\n".encode()).hexdigest()
    assert found.source.format == "eval_json"


def test_an_evaluation_without_an_official_verdict_has_no_score(tmp_path: Path) -> None:
    found = read(evaluations(tmp_path, "results-missing"), [FIXTURE])
    assert (found.scores, found.absent) == ({}, {FIXTURE: "results_read_failed"})


def evaluations(directory: Path, sample: str) -> Path:
    """Put a recorded evaluation into a directory, its branches renamed to those of the package's test instance."""
    document = json.loads((SAMPLES / f"{sample}.eval.json").read_text())
    (directory / FIXTURE).mkdir()
    (directory / FIXTURE / f"{FIXTURE}.eval.json").write_text(_with_branches(document))
    return directory


def _branches() -> dict[str, Any]:
    value = json.loads((OFFICIAL.tasks_dir / FIXTURE / "tests.json").read_text())["branches"]
    assert isinstance(value, dict)
    return value


def _with_branches(document: Mapping[str, Any]) -> str:
    own = list(_branches())
    text = json.dumps(document)
    for ours, recorded in zip(own, document["test_branches"], strict=False):
        text = text.replace(recorded, ours)
    return text


def test_a_graded_run_gives_its_scores_and_why_some_are_missing(tmp_path: Path) -> None:
    world = GateWorld(tmp_path / "programbench" / "champion")
    world.graded(IDS[0], 1, 3)
    world.ungraded(IDS[1], "evaluator_timed_out", submission_sha256="a" * 64)
    world.unsubmitted(IDS[2], account("failed", "task_not_completed"))
    world.unsubmitted(IDS[3], account("failed", "llm_error", infrastructure=True))
    world.write()
    for named in (world.root, world.root / "grade_summary.json", Path("champion")):
        found = read(named, runs_root=tmp_path)
        assert found.source.format == "grade_summary"
        assert {iid: score.value for iid, score in found.scores.items()} == {IDS[0]: Fraction(1, 3), IDS[2]: 0}
        assert found.absent == {IDS[1]: "evaluator_timed_out", IDS[3]: "no_submission: llm_error"}


def test_the_benchmark_of_these_tests_is_the_official_one() -> None:
    assert sorted(benchmark_instances()) == IDS
    assert len(IDS) == 200
