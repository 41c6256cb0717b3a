"""Presets as such: what a command names, what a line announces, what an exit status says."""

import json
import os
from pathlib import Path

import pytest

from obo_bench.core.refusals import CAMPAIGN_FATAL_PROVENANCE_REASONS, PreflightRefused, UsageError
from obo_bench.launch.benchmark_name import check_benchmark_name
from obo_bench.launch.presets.launch import Launch
from obo_bench.launch.presets.preset import VOLUME_REFUSED
from obo_bench.launch.presets.registry import PRESETS, preset

EVOLVING = PRESETS["swe-bench-pro-evolving"]


def requested(name: str, directory: Path, *words: str) -> list[str] | None:
    return PRESETS[name].requested(Launch(("launcher", *words), directory))


def refused(name: str, directory: Path, *words: str) -> str:
    with pytest.raises(PreflightRefused) as raised:
        requested(name, directory, *words)
    assert raised.value.reason == "launcher_input_unreadable"
    raised.value.settle()
    return raised.value.message


@pytest.mark.parametrize("name", list(PRESETS))
def test_a_preset_can_be_had_by_its_name_and_names_a_benchmark(name: str) -> None:
    assert preset(name) is PRESETS[name]
    assert preset(name).name == name == check_benchmark_name(preset(name).benchmark)


def test_a_name_that_no_preset_has_lists_all() -> None:
    with pytest.raises(UsageError, match="swe-bench-pro-evolving"):
        preset("swebench")


@pytest.mark.parametrize("name", list(PRESETS))
def test_without_arguments_nothing_is_requested_and_nothing_found_and_nothing_raised(name: str, tmp_path: Path) -> None:
    launch = Launch(("launcher", "--", "", "--input"), tmp_path)
    assert PRESETS[name].requested(launch) is None
    assert PRESETS[name].results(launch).results == ()
    assert PRESETS[name].extents(launch) == {}


def test_input_lines_are_requested_once_each_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('\ufeff{"instance_id": "b"}\n\n{"instance_id": " a "}\n{"instance_id": "b"}')
    assert requested("swe-bench", tmp_path, "--input", "nowhere", "--input=in.jsonl") == ["b", "a"]


@pytest.mark.parametrize(
    "content",
    [b"", b"\n", b"{}\n", b"[1]\n", b'{"instance_id": ""}', b'{"instance_id": [1]}', b"\xff\xfe", b"[" * 100_000]
    + [json.dumps({"instance_id": text}).encode() for text in ("a\nb", "x" * 301, "\ud800\n")],
)
def test_an_input_line_without_an_id_is_refused_and_never_passed_over(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(content)
    assert "in.jsonl" in refused("swe-bench-pro", tmp_path, "--input", "in.jsonl")


def test_a_bad_line_is_named_by_its_own_number(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"instance_id": "a"}\n\n{nonsense}\n')
    told = refused("swe-bench", tmp_path, "--input", "in.jsonl")
    assert "line 3 is no JSON: Expecting property name enclosed in double quotes at column 2" in told
    (tmp_path / "t.txt").write_bytes(b"a\n\xff\n")
    assert "line 2: it is not UTF-8 text" in refused("harness-bench-fast", tmp_path, "--task-file", "t.txt")


def test_a_missing_input_is_named_once(tmp_path: Path) -> None:
    place = tmp_path / "in.jsonl"
    told = refused("swe-bench", tmp_path, "--input", str(place))
    assert told == f"--input {str(place)!r} cannot be read: No such file or directory"


def test_a_pipe_in_the_place_of_the_input_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "in.jsonl")
    assert "regular" in refused("swe-bench", tmp_path, "--input", "in.jsonl")


def test_an_evaluation_is_asked_for_by_its_predictions(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text(json.dumps({"x": {"instance_id": "a"}, "y": {"instance_id": "b"}}))
    module = ("-m", "swebench.harness.run_evaluation", "--run_id", "r")
    assert requested("swe-bench", tmp_path, *module, "--predictions_path", "p.json") == ["a", "b"]
    assert requested("swe-bench", tmp_path, *module, "-p", "gold") is None
    (tmp_path / "p.json").write_text('"a"')
    refused("swe-bench", tmp_path, *module, "--predictions_path", "p.json")


def schedule(directory: Path, text: str, *words: str) -> list[str] | None:
    (directory / "s.csv").write_text(text)
    return requested(EVOLVING.name, directory, "s.csv", *words)


def test_start_and_limit_choose_rows_of_the_schedule(tmp_path: Path) -> None:
    text = 'idx,instance_id,note\n0,a,"x\ny"\n1,b,\n2,c,\n'
    assert schedule(tmp_path, text) == ["a", "b", "c"]
    assert schedule(tmp_path, text, "--start", "1", "--limit", "1") == ["b"]
    assert schedule(tmp_path, text, "--schedule=s.csv", "--limit=2") == ["a", "b"]
    assert schedule(tmp_path, text, "other.csv") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,name\n1,a\n", ()),
        ("", ()),
        ("idx,instance_id\n0,a\n", ("--start", "1")),
        ("idx,instance_id\n0,a\n", ("--start", "-1")),
        ("idx,instance_id\n0,a\n", ("--limit", "many")),
        ("idx,instance_id\n1,a\n2,b\n", ("--start", "1")),
        ('idx,instance_id\n0,"a\n', ()),
        ("idx,instance_id\n0\n", ()),
    ],
)
def test_a_schedule_that_leaves_open_what_is_requested_is_refused(
    text: str, words: tuple[str, ...], tmp_path: Path
) -> None:
    with pytest.raises(PreflightRefused) as raised:
        schedule(tmp_path, text, *words)
    raised.value.settle()
    assert raised.value.reason == "launcher_input_unreadable"


def test_tasks_come_from_options_and_from_a_file_of_lines_or_json(tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("b # second\n\n a\n")
    (tmp_path / "t.json").write_text(json.dumps({"tasks": [{"task_id": "c"}, "d"]}))
    name = "harness-bench-fast"
    assert requested(name, tmp_path, "--task", "a", "--task=e", "--task-file", "t.txt") == ["a", "e", "b"]
    assert requested(name, tmp_path, "--task-file", "t.json") == ["c", "d"]
    (tmp_path / "t.json").write_text('{"sample": 3}')
    assert "`task_ids`" in refused(name, tmp_path, "--task-file", "t.json")


def test_names_that_are_patterns_request_nobody_knows_what(tmp_path: Path) -> None:
    assert requested("terminal-bench", tmp_path, "run", "-i", "a", "--include-task-name=b") == ["a", "b"]
    assert requested("terminal-bench", tmp_path, "run", "-i", "a*") is None


def test_examples_are_those_of_the_domain(tmp_path: Path) -> None:
    (tmp_path / "all.json").write_text(json.dumps({"os": ["a"], "chrome": ["b", "c"]}))
    assert requested("osworld", tmp_path, "--test_all_meta_path", "all.json") == ["a", "b", "c"]
    assert requested("osworld", tmp_path, "--test_all_meta_path", "all.json", "--domain", "chrome") == ["b", "c"]
    assert "'vlc'" in refused("osworld", tmp_path, "--test_all_meta_path", "all.json", "--domain", "vlc")
    (tmp_path / "all.json").write_text("[]")
    refused("osworld", tmp_path, "--test_all_meta_path", "all.json")


LINES = {
    "SOLVE_INFRA_SUSPECT reason=runtime_skew": "runtime_skew",
    "2026-01-02T03:04:05.678901234Z  entry: SOLVE_INFRA_SUSPECT reason=runtime_skew tries=3\r": "runtime_skew",
    "\x1b[1;31mSOLVE_INFRA_SUSPECT\x1b[0m \x1b[33mreason=\x1b[1mstamp_absent\x1b[0m\r": "stamp_absent",
    "\x1b]0;title\x07SOLVE_INFRA_\x1b[1mSUSPECT reason=x": "x",
    'x|SOLVE_INFRA_SUSPECT task=a reason="lineage_broken"': "lineage_broken",
    "SOLVE_INFRA_SUSPECT reason=a_new_word.v2": "a_new_word.v2",
    f"SOLVE_INFRA_SUSPECT reason={'y' * 5000}": "y" * 100,
    "SOLVE_INFRA_SUSPECT only 3 events": None,
    "SOLVE_INFRA_SUSPECT reason=": None,
    "SOLVE_INFRA_SUSPECT reason= runtime_skew": None,
    "SOLVE_INFRA_SUSPECT treason=runtime_skew": None,
    "MY_SOLVE_INFRA_SUSPECTS reason=runtime_skew": None,
    "reason=runtime_skew SOLVE_INFRA_SUSPECT": None,
    "": None,
}


@pytest.mark.parametrize("line", LINES)
def test_a_line_announces_a_reason_wherever_it_stands_and_a_suspicion_is_none(line: str) -> None:
    assert EVOLVING.announced(line) == LINES[line]


def test_a_hostile_line_takes_no_time() -> None:
    assert EVOLVING.announced("\x1b]" * 200_000 + "SOLVE_INFRA_SUSPECT " * 200_000) is None


def test_only_an_evolving_volume_announces_anything_and_refuses_by_its_status() -> None:
    for name, found in PRESETS.items():
        evolving = name == EVOLVING.name
        assert (found.announced("SOLVE_INFRA_SUSPECT reason=x") == "x") is evolving
        assert [found.reason_of_status(status) for status in (0, 1, 87, 143)] == [None] * 4
        assert found.reason_of_status(2) == found.reason_of_status(88) == (VOLUME_REFUSED if evolving else None)
        assert found.needs_stamp is evolving
        assert found.needs_git_directory is name.startswith("swe-bench-pro")
    assert VOLUME_REFUSED not in CAMPAIGN_FATAL_PROVENANCE_REASONS
