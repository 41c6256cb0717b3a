"""`obo-bench doctor`: is everything there that a run needs?"""

import os
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from obo_bench.cli import answer, arguments, next_step, recorded_runs
from obo_bench.cli.panels import GET_READY
from obo_bench.core.admission import SeedDemands
from obo_bench.core.refusals import ExitCode
from obo_bench.core.reporter import Reporter, printable
from obo_bench.gateway import DEFAULT_URL

if TYPE_CHECKING:
    from obo_bench.programbench.doctor.report import CheckResult, DoctorReport
    from obo_bench.programbench.doctor.world import DoctorOptions


def doctor(
    repo_dir: arguments.RepoDir = None,
    ouroboros_url: arguments.OuroborosUrl = DEFAULT_URL,
    solve_model: arguments.SolveModel = None,
    settings_path: arguments.SettingsPath = None,
    runs_root: arguments.RunsRoot = None,
    allow_dirty_seed: Annotated[
        bool, typer.Option("--allow-dirty-seed", help="Look as a run with --allow-dirty-seed would.")
    ] = False,
    expect: arguments.Expect = None,
    expected_version: arguments.ExpectedVersion = None,
    seed_commit: arguments.SeedCommit = None,
    require_stamp: arguments.RequireStamp = False,
    self_test: Annotated[
        bool,
        typer.Option(
            "--self-test",
            help="Also grade a right and a wrong practice submission with the real evaluator (builds the practice "
            "image if it is missing).",
        ),
    ] = False,
    json_: arguments.Json = False,
    quiet: arguments.Quiet = False,
) -> None:
    """Check every precondition of a run and say what to do about each; spends nothing, changes nothing.

    Example: obo-bench doctor --repo-dir ~/ouroboros

    The table goes to stderr, the verdict as one line to stdout. All checks are made, whatever another one finds, at the
    same time and within half a minute.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    from obo_bench.programbench.doctor.checks import examine

    reporter = arguments.reporter(quiet=quiet)
    seed = arguments.seed_demands(
        seed_commit,
        allow_dirty=allow_dirty_seed,
        expect=expect,
        require_stamp=require_stamp,
    )
    options = _options(repo_dir, ouroboros_url, settings_path, runs_root, solve_model, expected_version, seed)
    report = examine(options)
    if self_test:
        report = _with_self_test(report, reporter)
    answer.tell(table(report))
    _tell_next(ok=report.ok)
    answer.give("doctor", report.headline(), report.document())
    if not report.ok:
        raise typer.Exit(ExitCode.PREFLIGHT)


def _tell_next(*, ok: bool) -> None:
    asked = next_step.admission(answer.arguments())
    if ok:
        next_step.tell(["obo-bench", "attest", *asked, "--require-ready"])
    else:
        next_step.tell(["obo-bench", "doctor", *asked], "do what is told above")


def _options(
    repo_dir: Path | None,
    url: str,
    settings_path: Path | None,
    runs_root: Path | None,
    solve_model: str | None,
    expected_version: str | None,
    seed: SeedDemands,
) -> "DoctorOptions":
    """Return all that is known without a checkout, too: that there is none is a finding, not a usage error."""
    from obo_bench.programbench.doctor.world import DoctorOptions

    checkout = arguments.optional_checkout(repo_dir)
    settings, named = _settings(settings_path, checkout)
    return DoctorOptions(
        repo_dir=checkout,
        runs_root=recorded_runs.known_runs_root(runs_root, checkout),
        settings_path=settings,
        settings_named=named,
        url=arguments.address(url),
        solve_model=solve_model,
        seed=seed,
        expected_version=expected_version,
    )


def _settings(named: Path | None, checkout: Path | None) -> tuple[Path | None, bool]:
    if checkout is None and named is None and not os.environ.get("OUROBOROS_DATA_DIR"):
        return None, False
    return arguments.settings_place(named, checkout or Path.cwd())


def _with_self_test(report: "DoctorReport", reporter: Reporter) -> "DoctorReport":
    from obo_bench.practice.self_test import self_test
    from obo_bench.programbench.doctor.evaluator_checks import need_evaluator
    from obo_bench.programbench.doctor.report import CheckResult, report_of
    from obo_bench.programbench.doctor.verdict import CannotLook

    try:
        need_evaluator({check.id: str(check.status) for check in report.checks})
        results = self_test(reporter)
    except CannotLook as why:
        results = [CheckResult(id="self-test", status="skipped", finding=str(why))]
    return report_of([*report.checks, *results], checked_at_unix=report.checked_at_unix, obo_bench=report.obo_bench)


def table(report: "DoctorReport") -> str:
    """Return one aligned line per check, and below each that needs something done what that is."""
    wide = max(len(check.id) for check in report.checks)
    return "\n".join(line for check in report.checks for line in _lines(check, wide))


def _lines(check: "CheckResult", wide: int) -> list[str]:
    head = f"{check.id:<{wide}}  {check.status:<7}  "
    found = [head + printable(part) if not at else " " * len(head) + printable(part.strip())
             for at, part in enumerate(check.finding.split("\n"))]  # fmt: skip
    remedy = [printable(part.strip()) for part in check.remedy.split("\n") if part.strip()]
    told = [textwrap.indent(part, " " * len(head)) for part in remedy]
    if told:
        told[0] = f"{' ' * len(head)}what to do: {remedy[0]}"
    return [*found, *told]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "doctor",
        short_help="Check every precondition of a run, and say what to do.",
        rich_help_panel=GET_READY,
        epilog="Exit status: 0 nothing failed (there may be warnings), 2 usage, 5 something failed.",
    )(doctor)
