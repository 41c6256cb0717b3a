"""What launchers leave behind is foreign: old, damaged, of any shape, and never in anybody's way."""

import json
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.ledger_row import Row
from obo_bench.core.result_reasons import RESULT_REASONS
from obo_bench.launch.presets import collecting, foreign
from obo_bench.launch.presets.launch import Launch
from obo_bench.launch.presets.preset import Harvest
from obo_bench.launch.presets.registry import PRESETS

WORDS = {
    "swe-bench": ("--output", "p.jsonl"),
    "swe-bench-pro": ("--output", "p.jsonl"),
    "swe-bench-pro-evolving": ("--out-dir", "."),
    "harness-bench-fast": ("--run-root", "."),
    "gaia": ("--log-dir", "."),
    "terminal-bench": ("--jobs-dir", ".", "--job-name", "j"),
    "osworld": ("--result_dir", "."),
}
PLACES = {
    "swe-bench": "p.jsonl",
    "swe-bench-pro": "p.jsonl",
    "swe-bench-pro-evolving": "timeline.jsonl",
    "harness-bench-fast": "r.json",
    "gaia": "l.json",
    "terminal-bench": "j/t/result.json",
    "osworld": "e/result.txt",
}
GOOD: dict[str, Any] = {
    "swe-bench": {"instance_id": "a", "model_patch": "diff"},
    "swe-bench-pro": {"instance_id": "a", "model_patch": "diff", "prefix": "p"},
    "swe-bench-pro-evolving": {"instance_id": "a", "patch_bytes": 3},
    "harness-bench-fast": {"tasks": [{"task_id": "a", "passed": True}]},
    "gaia": {"eval": {}, "status": "success", "samples": [{"id": "a", "scores": {"gaia_scorer": {"value": "C"}}}]},
    "terminal-bench": {"trial_name": "a__1", "task_name": "a", "verifier_result": {"rewards": {"reward": 1}}},
    "osworld": 1.0,
}
every = pytest.mark.parametrize("name", list(WORDS))


def launch_of(name: str, directory: Path, **more: Any) -> Launch:
    return Launch(("launcher", *WORDS[name]), directory, **more)


def left(name: str, directory: Path, content: bytes | None = None) -> Path:
    path = directory / PLACES[name]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(json.dumps(GOOD[name]).encode() if content is None else content)
    return path


def harvest(name: str, directory: Path, **more: Any) -> Harvest:
    found = PRESETS[name].results(launch_of(name, directory, **more))
    for result in found:
        # Whatever was found can be a row.
        Row.model_validate_json(Row(benchmark="b", **vars(result)).model_dump_json())
        json.dumps(result.details, allow_nan=False).encode()
    return found


def rows(name: str, directory: Path, values: Iterable[Any]) -> dict[str, tuple[str, str]]:
    left(name, directory, "".join(json.dumps(value) + "\n" for value in values).encode())
    return {one.instance_id: (one.status, one.reason_code) for one in harvest(name, directory)}


@every
def test_a_good_result_is_taken_without_a_word(name: str, tmp_path: Path) -> None:
    left(name, tmp_path)
    found = harvest(name, tmp_path)
    assert [(one.instance_id, one.status) for one in found] == [("e" if name == "osworld" else "a", "completed")]
    assert found.problems == ()


@every
def test_a_result_that_is_older_than_the_start_is_told_and_not_taken(name: str, tmp_path: Path) -> None:
    path = left(name, tmp_path)
    os.utime(path, (1000, 1000))
    found = harvest(name, tmp_path, started_at_unix=2000.0)
    assert found.results == ()
    assert any("older than this start" in problem for problem in found.problems)
    os.utime(path, (2000, 2000))
    assert len(harvest(name, tmp_path, started_at_unix=2000.0).results) == 1


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def device(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


def directory(path: Path) -> None:
    path.unlink()
    path.mkdir()


def loop(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.name)


def unreadable_name(path: Path) -> None:
    path.unlink()
    Path(os.fsdecode(os.fsencode(path.parent) + b"/\xff\xfe")).write_text("x")


@every
@pytest.mark.parametrize("replaced", [fifo, device, directory, loop, unreadable_name, Path.unlink])
def test_what_is_no_file_is_not_waited_for_and_not_read(
    name: str, replaced: Callable[[Path], None], tmp_path: Path
) -> None:
    replaced(left(name, tmp_path))
    found = harvest(name, tmp_path)
    assert found.results == ()
    assert found.problems or name in ("osworld", "terminal-bench", "harness-bench-fast")


FIELDS = ("instance_id", "model_patch", "patch_bytes", "tasks", "eval", "samples", "task_name", "trial_name")
DAMAGED = {
    "empty": b"",
    "no text": b"\xff\xfe\x00\x01",
    "torn": b'{"instance_id": "a", "model_pa',
    "a list": b"[1, 2]",
    "a number": b"7",
    "nothing": b"null",
    "deep": b"[" * 200_000,
    "a huge number": b"1" * 10_000,
    "other fields": b'{"x": 1}',
    "wrong types": json.dumps({field: [{}] for field in FIELDS}).encode(),
}


@every
@pytest.mark.parametrize("content", DAMAGED.values(), ids=list(DAMAGED))
def test_a_damaged_result_is_never_a_success_and_never_an_exception(name: str, content: bytes, tmp_path: Path) -> None:
    left(name, tmp_path, content)
    found = harvest(name, tmp_path)
    assert all(one.status == "failed" and one.official_eval_status != "pass" for one in found)
    assert found.results or found.problems or not content.strip()


def test_lines_that_were_there_before_are_not_of_this_start(tmp_path: Path) -> None:
    path = left("swe-bench", tmp_path, b'{"instance_id": "old", "model_patch": "x"}\n')
    launch = launch_of("swe-bench", tmp_path)
    launch = replace(launch, already=PRESETS["swe-bench"].extents(launch))
    with path.open("a") as stream:
        stream.write('{"instance_id": "new", "model_patch": "x"}\n')
    assert [one.instance_id for one in PRESETS["swe-bench"].results(launch)] == ["new"]
    path.write_text('{"instance_id": "new", "model_patch": "written anew, and longer than what was there before"}\n')
    assert [one.instance_id for one in PRESETS["swe-bench"].results(launch)] == ["new"]
    path.write_text('{"instance_id": "s", "model_patch": ""}\n')
    assert [one.instance_id for one in PRESETS["swe-bench"].results(launch)] == ["s"]


def test_lines_that_repeat_or_are_too_long_or_no_objects_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(foreign, "LONGEST_LINE", 200)
    good, better = '{"instance_id": "a", "model_patch": ""}', '{"instance_id": "a", "model_patch": "x"}'
    long = json.dumps({"instance_id": "long", "model_patch": "x" * 1000})
    left("swe-bench", tmp_path, f'{good}\n{long}\n{{\n{{"instance_id": 1.5}}\n{better}'.encode())
    found = harvest("swe-bench", tmp_path)
    assert [(one.instance_id, one.status) for one in found] == [("a", "completed")]
    told = " ".join(found.problems)
    for words in ("longer than 200 bytes", "1 line(s) are no JSON object", "no usable instance_id", "1 row(s) repeat"):
        assert words in told


def test_there_are_never_more_results_or_problems_than_anybody_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(collecting, "MOST_RESULTS", 10)
    found = rows("swe-bench-pro", tmp_path, [{"instance_id": f"i{n}", "model_patch": "x"} for n in range(20)])
    assert len(found) == 10
    for number in range(200):
        (tmp_path / f"{number}.json").write_text("{")
    problems = harvest("harness-bench-fast", tmp_path).problems
    assert len(problems) == 51
    assert "more problem(s)" in problems[-1]


def test_the_rows_of_a_timeline_are_judged_by_what_they_say(tmp_path: Path) -> None:
    cases: dict[str, dict[str, Any]] = {
        "solved": {"patch_bytes": 10, "infra_suspect": True},
        "blank": {"patch_bytes": 0},
        "suspect": {"patch_bytes": 0, "infra_suspect": True},
        "musl": {"patch_bytes": 0, "infra_reason": "server_import_failed"},
        "volume": {"patch_bytes": 0, "infra_reason": "runtime_skew"},
        "unknown": {"patch_bytes": 9, "infra_reason": "new\nword" + "x" * 500},
        "secret": {"patch_bytes": 0, "secret_opt_in_required": True},
        "libc": {"patch_bytes": 0, "libc_skip": True},
        "odd": {"patch_bytes": True},
    }
    found = rows("swe-bench-pro-evolving", tmp_path, [{"instance_id": key, **row} for key, row in cases.items()])
    assert found == {
        "solved": ("completed", "prediction_written"),
        "blank": ("failed", "empty_prediction"),
        "suspect": ("failed", "infra_suspect"),
        "musl": ("blocked", "server_import_failed"),
        "volume": ("failed", "runtime_skew"),
        "unknown": ("failed", ("new word" + "x" * 500)[:100]),
        "secret": ("failed", "secret_opt_in_required"),
        "libc": ("skipped", "libc_skip"),
        "odd": ("failed", "result_unreadable"),
    }


def test_what_a_task_cost_is_known_from_the_row_before_it(tmp_path: Path) -> None:
    spent = [("a", 1.0), ("b", 1.5), ("b", 2.0), ("c", 0.5), ("d", "x"), ("e", 3.0)]
    rows("swe-bench-pro-evolving", tmp_path, [
        {"instance_id": key, "patch_bytes": 1, "spent_after_usd": usd} for key, usd in spent
    ])  # fmt: skip
    found = {one.instance_id: (one.attempt, one.cost.get("usd")) for one in harvest("swe-bench-pro-evolving", tmp_path)}
    assert found == {"a": (1, None), "b": (2, 1.0), "c": (1, None), "d": (1, None), "e": (1, None)}


def test_the_ledger_says_why_there_is_no_prediction(tmp_path: Path) -> None:
    left("swe-bench", tmp_path, b'{"instance_id": "a", "model_patch": "x"}\n{"instance_id": "b", "model_patch": "x"}')
    ledger = [
        {"instance_id": "a", "status": "failed", "reason_code": "first try"},
        {"instance_id": "a", "status": "completed"},
        {"instance_id": "b", "status": "failed", "reason_code": "late", "error": "e\nf", "cost": {"usd": 1}},
        {"instance_id": "c", "status": "completed"},
        {"instance_id": "d", "status": ["odd"]},
        {"instance_id": "e", "status": "blocked", "reason_code": 5},
    ]
    (tmp_path / "p.ledger.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ledger))
    found = {one.instance_id: (one.status, one.reason_code, one.error) for one in harvest("swe-bench", tmp_path)}
    missing = "the ledger names it, no prediction does"
    assert found == {
        "a": ("completed", "prediction_written", ""),
        "b": ("failed", "late", "e f"),
        "c": ("failed", "no_final_result", missing),
        "d": ("failed", "no_final_result", missing),
        "e": ("blocked", "task_failed", ""),
    }


def test_the_report_of_an_evaluation_is_the_official_verdict(tmp_path: Path) -> None:
    report = {"resolved_ids": ["a"], "unresolved_ids": ["b"], "empty_patch_ids": ["c"], "error_ids": ["d", None]}
    (tmp_path / "model.r.json").write_text(json.dumps(report))
    (tmp_path / "z.other.json").write_text(json.dumps({"unresolved_ids": ["a"]}))
    words = ("python", "-m", "swebench.harness.run_evaluation", "-p", "p.jsonl", "--run_id", "r")
    found = PRESETS["swe-bench"].results(Launch(words, tmp_path))
    verdicts = {one.instance_id: (one.reason_code, one.official_eval_status) for one in found}
    assert verdicts == {
        "a": ("task_ended", "pass"),
        "b": ("task_ended", "fail"),
        "c": ("empty_prediction", "ungraded"),
        "d": ("verdict_missing", "ungraded"),
    }
    assert any("no instance id" in problem for problem in found.problems)
    (tmp_path / "model.r.json").write_text("[]")
    assert "no JSON object" in " ".join(PRESETS["swe-bench"].results(Launch(words, tmp_path)).problems)


@pytest.mark.parametrize("score", ["nan", "1.5", "-1", "one", "", "1.0 " * 1000])
def test_a_score_that_is_none_is_no_verdict(score: str, tmp_path: Path) -> None:
    left("osworld", tmp_path, score.encode())
    [found] = harvest("osworld", tmp_path)
    assert (found.status, found.reason_code, found.official_eval_status) == ("failed", "result_unreadable", "ungraded")


def test_every_word_that_a_preset_gives_is_explained() -> None:
    source = "".join(
        path.read_text() for path in Path(foreign.__file__).parent.glob("*.py") if "reasons" not in path.name
    )
    assert {word for word in RESULT_REASONS if f'"{word}"' not in source} == set()
