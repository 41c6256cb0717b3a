"""`obo-bench grade`: verdicts from the official results of other benchmarks, and whether a summary may be used."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from obo_bench.cli import answer, arguments, recorded_runs
from obo_bench.cli.panels import GRADE
from obo_bench.core.refusals import UsageError
from obo_bench.core.reporter import Reporter
from obo_bench.core.roots import MANIFEST_NAME, check_run_id, new_run_id
from obo_bench.launch.swe_bench_pro.options import SUMMARY_NAME, GradeInputs, GradeOptions

if TYPE_CHECKING:
    from obo_bench.launch.swe_bench_pro.grade_summary import ProGradeSummary

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)

Predictions = Annotated[
    Path,
    arguments.place(
        "--predictions",
        "Submitted predictions: JSON lines, or the official patches.json.",
    ),
]
OutputDir = Annotated[
    Path,
    arguments.place(
        "--output-dir",
        "Directory that the official evaluation wrote to.",
    ),
]
RawSample = Annotated[
    Path,
    arguments.place(
        "--raw-sample",
        "Raw sample of the benchmark: JSON lines with FAIL_TO_PASS and PASS_TO_PASS.",
    ),
]
SummaryPlace = Annotated[
    Path | None,
    arguments.place(
        "--summary",
        f"Place of the summary. Default: {SUMMARY_NAME} in --output-dir.",
    ),
]
Vouching = Annotated[
    Path | None,
    arguments.place(
        "--grader-manifest",
        "Manifest of the attempt that must have written it. Default: the one that the summary names.",
    ),
]


@app.callback()
def group() -> None:
    """Grade the official results of other benchmarks.

    Example: obo-bench grade verify results/grade_summary.json
    """


@app.command(
    "swe-bench-pro",
    short_help="Grade official SWE-bench Pro results.",
    rich_help_panel=GRADE,
    epilog="Exit status: 0 every submission has its verdict (pass or fail), 2 usage, 5 refused (an input that cannot "
    "be used, a summary that cannot be written), 6 a submission is ungraded, 129/130/143 signal.",
)
def swe_bench_pro(
    predictions: Predictions,
    output_dir: OutputDir,
    raw_sample: RawSample,
    summary: SummaryPlace = None,
    run_id: arguments.RunId = None,
    runs_root: arguments.RunsRoot = None,
    repo_dir: arguments.RepoDir = None,
    json_: arguments.Json = False,
    quiet: arguments.Quiet = False,
    verbose: arguments.Verbose = False,
) -> None:
    """Grade what the official evaluation of SWE-bench Pro left: pass, fail or ungraded for each, never a guess.

    \b
    Example: obo-bench grade swe-bench-pro --predictions predictions.jsonl \\
      --output-dir results --raw-sample sweap_eval_full_v2.jsonl

    An earlier summary is set aside first; the new one is in place only when the grader has ended normally, and its
    path is printed. No server is needed and no money is spent.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    checkout = arguments.optional_checkout(repo_dir)
    results = output_dir.absolute()
    options = GradeOptions(
        inputs=GradeInputs(predictions.absolute(), results, raw_sample.absolute()),
        summary=arguments.absolute(summary) or results / SUMMARY_NAME,
        run_root=_run_root(recorded_runs.known_runs_root(runs_root, checkout), run_id),
        repo_dir=checkout,
        settings_path=arguments.implied_settings(checkout),
    )
    _grade(options, arguments.reporter(quiet=quiet, verbose=verbose))


@app.command(
    "verify",
    short_help="Say whether a grade summary may be used.",
    rich_help_panel=GRADE,
    epilog="Exit status: 0 it may be used, 2 usage, 5 refused (summary_not_fresh: stale, edited or of another place).",
)
def verify(
    summary: Annotated[str, typer.Argument(metavar="SUMMARY", help="Summary, in the place where it was published.")],
    manifest: Vouching = None,
    json_: arguments.Json = False,
    quiet: arguments.Quiet = False,
) -> None:
    """Say whether a summary of SWE-bench Pro results may be used, by grading again in memory.

    Example: obo-bench grade verify results/grade_summary.json

    Its manifest must have ended with verdicts and vouch for these very bytes in this place, and predictions, raw sample
    and official outputs must still be what was graded.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    if not summary:
        raise UsageError("SUMMARY is empty: name a grade summary")
    if quiet:
        answer.hush()
    from obo_bench.launch.swe_bench_pro.published import published_summary

    path = Path(summary).absolute()
    found = published_summary(path, manifest=arguments.absolute(manifest))
    _tell(found.summary, path, found.sha256, found.manifest, "grade verify")


def _grade(options: GradeOptions, reporter: Reporter) -> None:
    from obo_bench.launch.swe_bench_pro import COMMAND
    from obo_bench.launch.swe_bench_pro.grade import grade

    graded = grade(options, reporter)
    _tell(graded.summary, graded.path, graded.sha256, options.run_root / MANIFEST_NAME, COMMAND)


def _tell(summary: "ProGradeSummary", path: Path, sha256: str, manifest: Path, command: str) -> None:
    from obo_bench.cli.swe_bench_pro_table import table
    from obo_bench.launch.swe_bench_pro.grade_summary import grade_answer

    answer.tell(table(summary))
    answer.give(command, str(path), grade_answer(summary, path, sha256, manifest).document())


def _run_root(runs: Path | None, run_id: str | None) -> Path:
    if runs is None:
        raise UsageError("where runs are kept is not known: give --runs-root or --repo-dir")
    return runs / "grade" / (check_run_id(run_id) if run_id is not None else new_run_id())
