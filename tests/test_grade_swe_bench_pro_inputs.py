"""Predictions, raw sample and official outputs that are odd, hostile or damaged."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from obo_bench.launch.swe_bench_pro.official_output import LARGEST_OUTPUT
from tests.conftest import Done
from tests.pro_results import PREFIX, ProResults

PASSING = {"t": "PASSED"}


@pytest.fixture
def tree(tmp_path: Path) -> ProResults:
    made = ProResults(tmp_path)
    made.instance("i", PASSING)
    return made


def refused(done: Done, reason: str, *words: str) -> None:
    assert (done.status, done.envelope["refusal"]["reason"]) == (5, reason)
    for word in words:
        assert word in done.stderr


def outcome(row: dict[str, Any]) -> tuple[str, str | None]:
    return row["verdict"], row["reason"]


def test_the_official_patches_are_taken_as_they_are(tree: ProResults) -> None:
    tree.write()
    patches = [{"instance_id": "i", "patch": "diff", "prefix": PREFIX}]
    (tree.root / "predictions.jsonl").write_bytes(b"\xef\xbb\xbf" + json.dumps(patches, indent=2).encode())
    assert tree.grade().status == 0
    assert tree.document()["pass"] == 1


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "there is no prediction in it"),
        (
            b'{"instance_id": "i", "model_patch": "x"}\n{"instance_id',
            "line 2 is not JSON: Unterminated string starting at column 2",
        ),
        (b"[" * 100_000, "is not JSON"),
        (b'{"instance_id": "i", "model_patch": "\xff"}', "not UTF-8"),
        (b'[["i"]]', "entry 1 is not a JSON object"),
        (b'{"instance_id": "i"}', "neither model_patch nor patch"),
        (b'{"instance_id": 7, "model_patch": "x"}', "instance_id is not a text"),
        (b'{"instance_id": "i", "model_patch": ["x"]}', "the patch is not a text"),
        (b'{"instance_id": "i", "model_patch": "x", "patch": "y"}', "model_patch and patch differ"),
        (b'{"instance_id": "i", "model_patch": "x", "prefix": NaN}', "prefix is not a text"),
        (b'{"instance_id": "i", "patch": "x"}\n{"instance_id": "i", "patch": "y"}', "two different predictions of 'i'"),
        (b'{"instance_id": "i", "patch": "x"}\n{"instance_id": "i", "patch": ""}', "two different predictions of 'i'"),
    ],
)
def test_predictions_that_cannot_be_counted_are_refused(tree: ProResults, content: bytes, words: str) -> None:
    tree.write()
    (tree.root / "predictions.jsonl").write_bytes(content)
    refused(tree.grade(), "predictions_unreadable", words)


def test_a_prediction_that_is_repeated_word_for_word_counts_once(tree: ProResults) -> None:
    tree.predict("i")
    assert outcome(tree.graded()["i"]) == ("pass", None)
    assert (tree.document()["submitted"], tree.document()["repeated_predictions"]) == (1, 1)


@pytest.mark.parametrize("content", [b"", b"{", b'{"FAIL_TO_PASS": []}', b'"text"', b"\xff"])
def test_a_raw_sample_that_is_none_is_refused(tree: ProResults, content: bytes) -> None:
    tree.write()
    (tree.root / "raw_sample.jsonl").write_bytes(content)
    refused(tree.grade(), "raw_sample_unreadable", "--raw-sample")


@pytest.mark.parametrize(
    "row",
    [
        {"FAIL_TO_PASS": ["t"]},
        {"FAIL_TO_PASS": ["t"], "PASS_TO_PASS": None},
        {"FAIL_TO_PASS": ["t"], "PASS_TO_PASS": "['u'"},
        {"FAIL_TO_PASS": ["t"], "PASS_TO_PASS": "__import__('os').getpid()"},
        {"FAIL_TO_PASS": ["t"], "PASS_TO_PASS": "(" * 100_000},
        {"FAIL_TO_PASS": ["t"], "PASS_TO_PASS": "t"},
        {"FAIL_TO_PASS": ["t"], "PASS_TO_PASS": ["t", 1]},
        {"FAIL_TO_PASS": ["t"], "PASS_TO_PASS": {"t": 1}},
        {"FAIL_TO_PASS": ["t"], "PASS_TO_PASS": [], "pass_to_pass": ["u"]},
        {"FAIL_TO_PASS": [], "PASS_TO_PASS": "[]"},
    ],
)
def test_an_instance_whose_required_tests_are_not_known_is_never_graded_by_half_of_them(
    tree: ProResults, row: dict[str, Any]
) -> None:
    tree.instance("other", PASSING)
    tree.rows[0] = {"instance_id": "i"} | row
    found = tree.graded()
    assert outcome(found["i"]) == ("ungraded", "no_required_tests")
    assert outcome(found["other"]) == ("pass", None)


def test_two_different_rows_of_an_instance_are_no_requirement(tree: ProResults) -> None:
    tree.require("i", ["t", "u"])
    assert outcome(tree.graded()["i"]) == ("ungraded", "no_required_tests")


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b"", "JSONDecodeError"),
        (b"{", "JSONDecodeError"),
        (b'{"tests": "\xff"}', "UnicodeDecodeError"),
        (b"[" * 100_000, "RecursionError"),
        (b'{"n": ' + b"9" * 5000 + b"}", "ValueError"),
        (b"[]", "TypeError"),
        (b"null", "TypeError"),
        (b"{}", "KeyError"),
        (b'{"tests": {}}', "TypeError"),
        (b'{"tests": ["t"]}', "TypeError"),
        (b'{"tests": [{"name": "t"}]}', "KeyError"),
        (b'{"tests": [{"name": 7, "status": "PASSED"}]}', "TypeError"),
        (b'{"tests": [{"name": "t", "status": NaN}]}', "TypeError"),
    ],
)
def test_an_output_of_another_shape_is_unparseable(tree: ProResults, content: bytes, kind: str) -> None:
    tree.place("i").write_bytes(content)
    assert outcome(tree.graded()["i"]) == ("ungraded", f"output_unparseable:{kind}")


def linked(place: Path) -> None:
    place.rename(place.with_name("elsewhere"))
    place.symlink_to("elsewhere")


def fifo(place: Path) -> None:
    place.unlink()
    os.mkfifo(place)


def huge(place: Path) -> None:
    os.truncate(place, LARGEST_OUTPUT + 1)


def directory(place: Path) -> None:
    place.unlink()
    place.mkdir()


@pytest.mark.parametrize("spoil", [linked, fifo, huge, directory])
def test_what_is_no_file_of_the_evaluation_is_not_read(tree: ProResults, spoil: Callable[[Path], None]) -> None:
    spoil(tree.place("i"))
    kind = "IsADirectoryError" if spoil is directory else "OSError"
    assert outcome(tree.graded()["i"]) == ("ungraded", f"output_unparseable:{kind}")


def test_a_linked_instance_directory_is_not_followed(tree: ProResults) -> None:
    tree.instance("copy", None)
    (tree.out / "copy").symlink_to("i")
    assert outcome(tree.graded()["copy"]) == ("ungraded", "no_official_output")


@pytest.mark.parametrize("instance_id", ["../i", "/etc", ".", "..", "a/b", "nul\0", "x" * 300, "\ud800"])
def test_an_id_that_leads_elsewhere_has_no_output(tree: ProResults, instance_id: str) -> None:
    tree.predict(instance_id)
    tree.require(instance_id, ["t"])
    tree.output("..", PASSING)
    rows = list(tree.graded().values())
    assert outcome(rows[1]) == ("ungraded", "no_official_output")


@pytest.mark.parametrize("prefix", ["../j/ouroboros", "/", "x" * 300, "\0", "another"])
def test_only_the_predictions_own_prefix_counts(tree: ProResults, prefix: str) -> None:
    tree.output("j", PASSING)
    tree.predictions[0]["prefix"] = prefix
    assert outcome(tree.graded()["i"]) == ("ungraded", "no_official_output")


@pytest.mark.parametrize("absent", [True, False])
def test_without_a_prefix_the_only_output_counts_and_none_of_several(tree: ProResults, absent: bool) -> None:
    if absent:
        del tree.predictions[0]["prefix"]
    else:
        tree.predictions[0]["prefix"] = None
    assert outcome(tree.graded()["i"]) == ("pass", None)
    tree.output("i", PASSING, "second")
    row = tree.graded()["i"]
    assert outcome(row) == ("ungraded", "no_official_output")
    assert "2 files" in row["detail"]


def test_an_empty_prefix_is_one(tree: ProResults) -> None:
    tree.predictions[0]["prefix"] = ""
    assert outcome(tree.graded()["i"]) == ("ungraded", "no_official_output")
    tree.output("i", PASSING, "")
    assert outcome(tree.graded()["i"]) == ("pass", None)


def test_of_several_statuses_of_a_test_passed_counts_and_is_told(tree: ProResults) -> None:
    tests = [{"name": "t", "status": status} for status in ("PASSED", "FAILED")]
    tree.place("i").write_text(json.dumps({"tests": tests}))
    row = tree.graded()["i"]
    assert (row["verdict"], row["conflicting_tests"]) == ("pass", 1)
    assert "several statuses" in tree.grade().stderr


def test_an_output_that_is_older_than_the_predictions_is_told(tree: ProResults) -> None:
    tree.write()
    os.utime(tree.place("i"), (1, 1))
    done = tree.grade()
    assert "older than the predictions" in done.stderr
    assert tree.document()["verdicts"][0]["older_than_predictions"] is True


def test_a_directory_for_a_file_and_a_file_for_a_directory_are_called_so(tree: ProResults) -> None:
    tree.write()
    refused(tree.grade("--predictions", tree.root), "predictions_unreadable", "regular file")
    refused(tree.grade("--raw-sample", tree.root), "raw_sample_unreadable", "regular file")
    for file in ("predictions.jsonl", "raw_sample.jsonl"):
        refused(tree.grade("--output-dir", tree.root / file), "official_results_unreadable", "Not a directory")


def test_the_output_that_was_looked_for_is_named(tree: ProResults) -> None:
    tree.place("i").unlink()
    assert tree.graded()["i"]["detail"] == f"there is no i/{tree.place('i').name} in the output directory"


def test_with_q_the_counts_are_all_that_is_told(tree: ProResults) -> None:
    tree.write()
    assert tree.grade("-q").stderr == ""
    tree.place("i").unlink()
    ended = "grade swe-bench-pro: official_eval_error (exit status 6): grades: 1 ungraded\n"
    assert tree.grade("-q").stderr == ended


def test_results_that_are_not_there_are_refused(tree: ProResults) -> None:
    tree.write()
    tree.out.rename(tree.root / "moved")
    refused(tree.grade(), "official_results_unreadable", "--output-dir")
