"""A summary that this grader run did not write is never published: it is set aside first, and refused afterwards."""

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.files import sha256_file, write_json
from obo_bench.core.lock import RunLock
from obo_bench.core.refusals import PreflightRefused
from obo_bench.launch.swe_bench_pro.published import published_summary
from tests.conftest import Done, obo
from tests.parity.command_lines import command_line
from tests.parity.sources import supplied
from tests.parity.ways import Way
from tests.parity.world import World
from tests.pro_results import ProResults, three_states


@pytest.fixture
def tree(tmp_path: Path) -> ProResults:
    made = three_states(tmp_path)
    made.write()
    return made


def not_fresh(done: Done, *words: str) -> None:
    assert (done.status, done.envelope["refusal"]["reason"]) == (5, "summary_not_fresh")
    for word in words:
        assert word in done.stderr


def test_a_fresh_summary_may_be_used_and_says_what_it_said(tree: ProResults) -> None:
    graded = tree.grade()
    done = tree.verify(run=obo)
    assert done.status == 0, done.stderr
    assert done.envelope["result"] == graded.envelope["result"]
    found = published_summary(tree.summary)
    assert (found.sha256, str(found.manifest)) == (sha256_file(tree.summary), graded.envelope["manifest"])


def test_an_old_summary_is_kept_under_its_hash(tree: ProResults) -> None:
    tree.grade()
    old = tree.summary.read_bytes()
    kept = tree.summary.with_name(f"grade_summary.{sha256_file(tree.summary)}.json")
    done = tree.grade()
    assert kept.read_bytes() == old != tree.summary.read_bytes()
    assert str(kept) in done.stderr
    assert tree.verify().status == 0


def test_a_refused_grader_leaves_none_in_place(tree: ProResults) -> None:
    tree.grade()
    (tree.root / "predictions.jsonl").write_text("damaged")
    assert tree.grade().status == 5
    assert not tree.summary.exists()
    not_fresh(tree.verify(), "No such file")


def test_one_that_could_not_begin_touches_nothing(tree: ProResults) -> None:
    tree.grade()
    run_root = tree.root / "runs" / "grade" / "held"
    run_root.mkdir()
    lock = RunLock(run_root, "other")
    lock.acquire()
    try:
        assert tree.grade("--run-id", "held").envelope["refusal"]["reason"] == "run_locked"
    finally:
        lock.release()
    assert tree.verify().status == 0


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("place", ["admission", "grading", "closing", "releasing"])
def test_a_grader_that_is_ended_in_between_leaves_none_that_counts(
    tmp_path: Path, checkout: Path, sent: signal.Signals, place: str
) -> None:
    world = World(tmp_path / "world", checkout, ("", ""), {})
    summary = Path(world.values["--summary"] or "")
    killed = sent == signal.SIGKILL
    way = Way(
        "ended",
        None,
        None,
        place=place,
        deed="os.kill(os.getpid(), 9)" if killed else "announce(); block()",
        signals=() if killed else (sent,),
    )
    with supplied("grade swe-bench-pro", world.values):
        summary.write_text("of somebody else")
        ended = world._run(command_line("grade swe-bench-pro", world.values), way)
    outcome = ended.manifests[0]["extra"]["outcome"]
    if place == "admission":
        assert summary.read_text() == "of somebody else"
    else:
        # One is there only where the ending was on record before; a signal comes too late then, SIGKILL does not.
        assert summary.exists() == (outcome == "completed" and not killed), ended.stderr
        assert not summary.exists() or published_summary(summary).summary.passed == 1
    assert killed or not list(summary.parent.glob(".*"))


def test_what_was_staged_is_removed_when_the_ending_cannot_be_recorded(tmp_path: Path, checkout: Path) -> None:
    world = World(tmp_path / "world", checkout, ("", ""), {})
    summary = Path(world.values["--summary"] or "")
    with supplied("grade swe-bench-pro", world.values):
        line = command_line("grade swe-bench-pro", world.values)
        world._run(line, Way("broken", None, None, place="closing", deed="1 / 0"))
    assert [path for path in summary.parent.iterdir() if "summary" in path.name] == []


def edited(tree: ProResults) -> None:
    document = tree.document()
    document["pass"] = 7
    write_json(tree.summary, document)


def rewritten(tree: ProResults) -> None:
    tree.place("fails").write_text(tree.place("fails").read_text() + " ")


def appeared(tree: ProResults) -> None:
    tree.output("unscored", {"t": "PASSED"})


def other_predictions(tree: ProResults) -> None:
    tree.predict("late")
    tree.write()


def other_sample(tree: ProResults) -> None:
    sample = tree.root / "raw_sample.jsonl"
    sample.write_text(f"{sample.read_text()}\n")


def gone(tree: ProResults) -> None:
    (tree.root / "predictions.jsonl").unlink()


def no_manifest(tree: ProResults) -> None:
    (tree.root / "runs").rename(tree.root / "elsewhere")


def manifest_of(tree: ProResults) -> Path:
    return Path(tree.document()["run_root"]) / "run_manifest.json"


def ended(outcome: str) -> Callable[[ProResults], None]:
    def spoil(tree: ProResults) -> None:
        manifest = json.loads(manifest_of(tree).read_bytes())
        manifest["extra"]["outcome"] = outcome
        write_json(manifest_of(tree), manifest)

    return spoil


def graded_again_under_the_same_id(tree: ProResults) -> None:
    old = tree.summary.read_bytes()
    tree.grade("--run-id", Path(tree.document()["run_root"]).name)
    tree.summary.write_bytes(old)


def no_json(tree: ProResults) -> None:
    tree.summary.write_bytes(b"[" * 100_000)


def fifo(tree: ProResults) -> None:
    tree.summary.unlink()
    os.mkfifo(tree.summary)


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (edited, "its SHA-256 is"),
        (rewritten, "the official output of 'fails'"),
        (appeared, "the official output of 'unscored'"),
        (other_predictions, "predictions.jsonl"),
        (other_sample, "raw_sample.jsonl"),
        (gone, "cannot be read any more"),
        (no_manifest, "run_manifest.json"),
        (ended("started"), "says started"),
        (ended("interrupted"), "says interrupted"),
        (ended("refused"), "says refused"),
        (graded_again_under_the_same_id, "of another invocation"),
        (no_json, "it is no grade summary"),
        (fifo, "not a regular file"),
    ],
)
def test_a_stale_or_edited_summary_is_refused(tree: ProResults, spoil: Callable[[ProResults], Any], words: str) -> None:
    tree.grade()
    spoil(tree)
    not_fresh(tree.verify(), words)


def test_what_is_no_summary_is_told_by_its_fields_and_without_the_librarys_words(tree: ProResults) -> None:
    tree.grade()
    for document, words in (
        ({"submitted": 2, "verdicts": [{"instance_id": 3}]}, "pass: Field required"),
        ({**tree.document(), "ungraded": -1}, "no grade summary: ungraded: Input should be greater than or equal to 0"),
        ({**tree.document(), "verdicts": [7]}, "no grade summary: verdicts[0]: Input should be"),
    ):
        tree.summary.write_text(json.dumps(document))
        told = tree.verify().stderr
        assert words in told
        assert "pydantic" not in told
        assert "ProGradeSummary" not in told
    tree.summary.unlink()
    not_fresh(tree.verify(), "must not be used: it cannot be read: No such file or directory")
    assert "Errno" not in tree.verify().stderr


def test_words_of_another_version_for_the_same_reason_are_as_good(tree: ProResults) -> None:
    done = tree.grade()
    document = tree.document()
    for verdict in document["verdicts"]:
        verdict["detail"] = "in other words"
    write_json(tree.summary, document)
    manifest = json.loads(manifest_of(tree).read_bytes())
    manifest["extra"]["grades"]["sha256"] = sha256_file(tree.summary)
    write_json(manifest_of(tree), manifest)
    assert done.status == 6
    assert tree.verify().status == 0


def test_a_summary_of_other_results_is_refused(tree: ProResults, tmp_path: Path) -> None:
    tree.grade()
    other = three_states(tmp_path / "other")
    other.write()
    other.grade()
    tree.summary.write_bytes(other.summary.read_bytes())
    not_fresh(tree.verify(), "not here")


def test_a_consumer_can_insist_on_one_attempt(tree: ProResults) -> None:
    first = tree.grade().envelope["manifest"]
    second = tree.grade().envelope["manifest"]
    assert tree.verify("--grader-manifest", second).status == 0
    not_fresh(tree.verify("--grader-manifest", first), "of another invocation")


def test_a_copy_of_the_same_bytes_is_as_good(tree: ProResults) -> None:
    tree.grade()
    os.utime(tree.place("passes"), (1, 1))
    assert tree.verify().status == 0


def test_a_link_in_its_place_is_replaced_and_what_it_leads_to_stays(tree: ProResults) -> None:
    victim = tree.root / "victim.json"
    victim.write_text("mine")
    tree.summary.symlink_to(victim)
    tree.grade()
    assert victim.read_text() == "mine"
    assert not tree.summary.is_symlink()
    assert tree.verify().status == 0


def test_elsewhere_only_a_summary_is_replaced(tree: ProResults) -> None:
    place = tree.root / "s.json"
    assert tree.grade("--summary", place).status == 6
    assert not tree.summary.exists()
    assert tree.grade("--summary", place).status == 6
    place.write_text('{"mine": 1}')
    assert tree.grade("--summary", place).envelope["refusal"]["reason"] == "output_unwritable"
    assert place.read_text() == '{"mine": 1}'


def test_what_is_graded_is_never_overwritten(tree: ProResults) -> None:
    for name in ("predictions.jsonl", "raw_sample.jsonl"):
        done = tree.grade("--summary", tree.root / name)
        assert done.envelope["refusal"]["reason"] == "output_not_confined"
    done = tree.grade("--summary", tree.root / "nowhere" / "s.json")
    assert done.envelope["refusal"]["reason"] == "output_unwritable"


def test_a_directory_in_the_place_of_the_summary_is_called_one(tree: ProResults) -> None:
    done = tree.grade("--summary", tree.root)
    assert done.envelope["refusal"]["reason"] == "output_unwritable"
    assert "it is a directory" in done.stderr


def test_a_library_gets_a_typed_refusal(tmp_path: Path) -> None:
    with pytest.raises(PreflightRefused) as raised:
        published_summary(tmp_path / "none.json")
    assert raised.value.reason == "summary_not_fresh"


@pytest.mark.parametrize("arguments", [["--predictions", ""], ["--run-id", "a/b"], ["--summary", ""]])
def test_arguments_that_mean_nothing_are_usage_errors_and_leave_nothing(tmp_path: Path, arguments: list[str]) -> None:
    tree = ProResults(tmp_path)
    assert tree.grade(*arguments).status == 2
    assert list(tmp_path.iterdir()) == []
