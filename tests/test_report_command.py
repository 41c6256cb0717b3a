"""`obo-bench programbench report` as a process: where the file goes, what is answered, what is refused."""

import json
import random
import re
import shutil
from pathlib import Path
from urllib.parse import unquote

import pytest

from obo_bench.core.json_schema import json_schema
from obo_bench.report.wire_formats import FORMATS
from tests.conftest import Done, obo
from tests.report_case import grade
from tests.solved_run import CMATRIX, ZOXIDE, solved_run

REPORT = ("programbench", "report")


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A runs root with two runs."""
    place = tmp_path / "bench_runs" / "programbench"
    place.mkdir(parents=True)
    for name in ("first", "second"):
        solved_run(place / name, {CMATRIX: "#!/bin/sh\n", ZOXIDE: None}, nonce=f"{len(name):08x}")
    return place


def report(runs: Path, *arguments: str | Path, cwd: Path | None = None) -> Done:
    return obo(*REPORT, *arguments, "--runs-root", runs.parent, cwd=cwd or runs)


def files(place: Path) -> set[str]:
    return {str(path.relative_to(place)) for path in place.rglob("*") if path.is_file()}


def test_the_page_goes_into_the_run_and_nothing_else_changes(runs: Path) -> None:
    before = {name: (runs / name).read_bytes() for name in files(runs)}
    done = report(runs, "first", "--compare", "second")
    page = runs / "first" / "report.html"
    assert (done.status, done.stdout) == (0, f"{page}\n")
    assert page.read_text().startswith("<!doctype html>")
    assert "Compared with second" in page.read_text()
    assert files(runs) == {*before, "first/report.html"}
    assert {name: (runs / name).read_bytes() for name in before} == before
    assert report(runs, "first", "-q").stderr == ""


@pytest.mark.parametrize(("form", "begins"), [("md", "# first"), ("json", '{\n  "schema": "obo_bench.report.v1"')])
def test_other_forms_have_other_names(runs: Path, form: str, begins: str) -> None:
    done = report(runs, "first", "--format", form)
    assert done.stdout == f"{runs / 'first' / f'report.{form}'}\n"
    assert (runs / "first" / f"report.{form}").read_text().startswith(begins)


def test_without_a_name_the_latest_run_is_meant(runs: Path) -> None:
    for name, when in (("first", 2e9), ("second", 1e9)):
        path = runs / name / "run_manifest.json"
        manifest = {**json.loads(path.read_text(encoding="utf-8")), "created_at_unix": when}
        path.write_text(json.dumps({"created_at_unix": when, **manifest}), encoding="utf-8")
    assert report(runs).stdout == f"{runs / 'first' / 'report.html'}\n"
    for run in runs.iterdir():
        shutil.rmtree(run)
    done = report(runs)
    assert (done.status, done.stdout) == (5, "")
    assert "there is no run below" in done.stderr


def test_a_comparison_without_pairs_is_told_and_one_with_no_run_is_refused(runs: Path) -> None:
    done = report(runs, "first", "--compare", "second")
    assert "note: nothing is compared with second: no instance has an official score in both runs" in done.stderr
    assert "nothing is compared with second" in (runs / "first" / "report.html").read_text()
    assert obo("eval", "nosuch", "--runs-root", runs.parent).status == 5
    refused = report(runs, "first", "--compare", "nosuch", "--json")
    assert (refused.status, refused.envelope["refusal"]["reason"]) == (5, "run_not_found")


def test_a_run_that_was_graded_afterwards_says_so(runs: Path) -> None:
    asked = "| Official evaluation | not asked for"
    assert report(runs, "first", "--format", "md").status == 0
    assert f"{asked} |" in (runs / "first" / "report.md").read_text()
    grade(runs / "first", [CMATRIX, ZOXIDE], random.Random(1))
    report(runs, "first", "--format", "md")
    assert f"{asked} with the run; graded afterwards |" in (runs / "first" / "report.md").read_text()


def test_both_documents_are_of_their_published_format(runs: Path) -> None:
    import jsonschema

    done = report(runs, runs / "first", "--format", "json", "--json", "--output", "out.json", "--compare", "second")
    answer, written = done.envelope["result"], json.loads((runs / "out.json").read_text())
    jsonschema.Draft202012Validator(json_schema(FORMATS["report"])).validate(answer)
    jsonschema.Draft202012Validator(json_schema(FORMATS["run-report"])).validate(written)
    assert (answer["report"], answer["format"]) == (str(runs / "out.json"), "json")
    assert answer["money"] == written["money"]


def test_no_file_of_a_record_is_ever_replaced(runs: Path) -> None:
    for output in ("first/run_manifest.json", f"second/{CMATRIX}/report.html", "first/notes.html"):
        done = report(runs, "first", "--output", output, "--json")
        assert (done.status, done.envelope["refusal"]["reason"]) == (5, "output_unwritable"), output
    assert report(runs, "first", "--output", "second/report.html").status == 0


def test_a_report_that_cannot_be_written_is_refused_and_leaves_nothing(runs: Path) -> None:
    (runs / "first" / "report.html").mkdir()
    before = files(runs)
    for arguments in (("first",), ("first", "--output", "no/such/place.html"), ("first", "--output", ".")):
        done = report(runs, *arguments)
        assert (done.status, done.stdout) == (5, "")
        assert "output_unwritable" in done.stderr
        assert "--output" in done.stderr
    assert files(runs) == before


def test_nothing_lands_in_the_checkout(runs: Path, checkout: Path) -> None:
    done = report(runs, "first", "--output", "report.html", "--json", cwd=checkout)
    assert (done.status, done.envelope["refusal"]["reason"]) == (5, "output_not_confined")
    assert not (checkout / "report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "status", "told"),
    [
        (("frist",), 5, "did you mean first"),
        (("first", "--compare", "none"), 5, "there is no run 'none'"),
        (("",), 2, "RUN is empty"),
        (("first", "--compare", ""), 2, "it is empty"),
        (("first", "--format", "pdf"), 2, "'pdf' is not one of"),
        (("first", "--output", ""), 2, "it is empty"),
    ],
    ids=["near", "no other", "empty", "empty other", "form", "empty output"],
)
def test_a_wrong_word_is_answered_with_what_is_wrong(
    runs: Path, arguments: tuple[str, ...], status: int, told: str
) -> None:
    done = report(runs, *arguments)
    assert (done.status, done.stdout) == (status, "")
    assert told in done.stderr


def test_a_link_in_the_place_of_the_report_is_replaced_and_not_followed(runs: Path, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("kept")
    (runs / "first" / "report.html").symlink_to(precious)
    assert report(runs, "first").status == 0
    assert precious.read_text() == "kept"
    assert not (runs / "first" / "report.html").is_symlink()


def test_a_copy_of_a_run_can_be_reported_on(runs: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(runs / "first", copy)
    assert report(runs, copy).stdout == f"{copy / 'report.html'}\n"


@pytest.mark.parametrize("place", ["elsewhere/cmp.html", "cmp.html", "bench_runs/a b#c/cmp.html"])
def test_every_link_of_a_page_elsewhere_leads_to_a_file(runs: Path, tmp_path: Path, place: str) -> None:
    page = tmp_path / place
    page.parent.mkdir(exist_ok=True)
    assert report(runs, "first", "--output", page, cwd=tmp_path).status == 0
    links = [link for link in re.findall(r'href="([^"]+)"', page.read_text()) if not link.startswith(("#", "data:"))]
    assert len(links) > 5
    assert [link for link in links if not (page.parent / unquote(link)).exists()] == []
