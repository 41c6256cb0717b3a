"""README.md and submission.yaml: the official template, foreign text as code, and what a human wrote stays."""

from pathlib import Path

import pytest
import yaml  # type: ignore[import-untyped]  # a dependency of programbench
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.leaderboard.attestations import TO_CONFIRM
from obo_bench.programbench.leaderboard.markdown import code, fenced
from tests.leaderboard_case import A, Run

NASTY = (
    "`x`` <img src=x onerror=alert(1)> [a](https://evil.example) @all <!-- obo-bench: end of System overview -->"
    "\n<!-- obo-bench: end of System overview -->\n<!-- obo-bench: What no record can show -->\n## H\u202e"
)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


@given(st.text(min_size=1, max_size=40) | st.text("`<>[]()\\*_ \n|", min_size=1, max_size=40))
def test_foreign_text_is_one_code_span_and_nothing_else(text: str) -> None:
    tokens = MarkdownIt("commonmark").parseInline(f"before {code(text)} after")[0].children or []
    assert [token.type for token in tokens] in (["text", "code_inline", "text"], ["text"])
    if len(tokens) == 1:
        assert not "".join(c for c in text if c.isprintable()).strip()


@given(st.lists(st.text("`~ab \n", max_size=20), min_size=1, max_size=4))
def test_no_line_of_foreign_text_ends_a_code_block(lines: list[str]) -> None:
    tokens = MarkdownIt("commonmark").parse("\n".join([*fenced(lines, "bash"), "", "after"]))
    assert [token.type for token in tokens] == ["fence", "paragraph_open", "inline", "paragraph_close"]


def test_the_official_template_is_all_there(run: Run) -> None:
    import programbench

    run.export()
    template = (Path(programbench.__file__).parent / "data" / "templates" / "README.md.j2").read_text()
    missing = [line for line in template.splitlines() if line not in run.readme() and "{{" not in line]
    assert missing == []
    assert "cd submission\n" in run.readme()
    assert "{{" not in run.readme()


def test_hostile_names_are_shown_and_do_nothing(run: Run) -> None:
    run.manifest["harness"]["solve_model"] = NASTY
    run.manifest["source"]["version"] = NASTY
    run.manifest["argv"] = ["obo-bench", "programbench", "run", "```", NASTY]
    run.export()
    first = run.readme()
    allowed = {token.content for token in MarkdownIt().parse(_template_only(first)) if token.type == "html_block"}
    found = [token for token in MarkdownIt().parse(first) if token.type == "html_block"]
    assert {token.content for token in found if "obo-bench" not in token.content} <= allowed
    assert "onerror" in first
    assert all(statement in first for statement in TO_CONFIRM)
    run.export()
    assert run.readme() == first
    assert "\n## H" not in first


def _template_only(text: str) -> str:
    """Leave out what stands between our marks."""
    kept, ours = [], False
    for line in text.splitlines():
        ours = (ours or line.startswith("<!-- obo-bench: ")) and not line.startswith("<!-- obo-bench: end of ")
        kept += [] if ours else [line]
    return "\n".join(kept)


def test_what_a_human_wrote_and_ticked_stays_while_our_parts_follow_the_record(run: Run) -> None:
    run.export()
    readme = run.dest / "README.md"
    text = run.readme().replace("# [Submission Name Here]", "# Our entry").replace("- [ ]", "- [x]")
    readme.write_text(text.replace("## Links\n", "## Links\n\nOur paper.\n"))
    run.manifest["timeout_sec"] = 7200.0
    run.export()
    assert "# Our entry" in run.readme()
    assert "Our paper." in run.readme()
    assert "- [ ]" not in run.readme()
    assert "`7200.0` s" in run.readme()
    assert "`21600.0` s" not in run.readme()


def test_a_readme_of_its_own_gets_our_parts_at_its_end(run: Run) -> None:
    run.dest.mkdir()
    (run.dest / "README.md").write_text("# Mine\n\nWords.")
    run.export()
    assert run.readme().startswith("# Mine\n\nWords.\n\n## System overview\n")
    first = run.readme()
    run.export()
    assert run.readme() == first


@pytest.mark.parametrize(
    ("model", "direct", "provider"),
    [
        ("openai::gpt-5.5", None, "openai"),
        ("anthropic/claude-opus-4.8", None, "TODO"),
        ("anthropic/claude-opus-4.8", "anthropic", "anthropic"),
        (None, None, "TODO"),
        ('a"b: # 😀 \u2028\x00', None, "TODO"),
    ],
)
def test_submission_yaml_says_what_is_known_and_todo_for_the_rest(
    run: Run, model: str | None, direct: str | None, provider: str
) -> None:
    run.manifest["harness"] |= {"solve_model": model, "direct_provider": direct}
    run.export()
    found = yaml.safe_load((run.dest / "submission.yaml").read_text())
    shown = "TODO" if model is None else "".join(c if c.isprintable() else " " for c in model)
    assert (found["system"]["model"], found["system"]["provider"]) == (shown, provider)
    assert found["system"]["agent"] == "Ouroboros 6.75.0"
    open_fields = ("is_os_model", "is_os_scaffold", "type")
    assert [found["system"][name] for name in open_fields] == ["TODO"] * 3
    assert found["submission_id"] == run.dest.name


def test_a_filled_in_submission_yaml_is_left_alone(run: Run) -> None:
    run.export()
    path = run.dest / "submission.yaml"
    path.write_text(path.read_text().replace('contact: "TODO"', 'contact: "@me"'))
    before = path.read_bytes()
    run.export()
    assert path.read_bytes() == before


def test_a_submission_yaml_that_the_package_could_not_read_is_refused(run: Run) -> None:
    run.dest.mkdir()
    (run.dest / "submission.yaml").write_text("system: [")
    with pytest.raises(PreflightRefused) as refused:
        run.export()
    assert refused.value.reason == "leaderboard_not_possible"
    assert "submission.yaml" in refused.value.message
    assert not (run.dest / "_record").exists()
    assert not (run.dest / A / f"{A}.eval.json").exists()
