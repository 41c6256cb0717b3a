"""`obo-bench ledger append`: a launcher's row, durable in the ledger of its run when the command returns."""

import math
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from obo_bench.cli import answer, arguments
from obo_bench.cli.panels import OTHER_LAUNCHERS
from obo_bench.core.refusals import PreflightRefused, UsageError
from obo_bench.launch.contract.variables import MANIFEST

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def group() -> None:
    """Append rows to the ledger of a launcher's run.

    Example: obo-bench ledger append --instance-id t1 --status failed --reason x
    """


@app.command(
    "append",
    short_help="Append one row to a launcher's run.",
    rich_help_panel=OTHER_LAUNCHERS,
    epilog="Exit status: 0 the row is on disk, 2 usage, 5 refused: no such run, not open to rows, or no row of it.",
)
def append(
    run: Annotated[
        Path | None,
        arguments.place("--run", f"Directory of the run. Default: {MANIFEST}'s."),
    ] = None,
    instance_id: Annotated[
        str | None, typer.Option("--instance-id", metavar="<id>", help="Instance that the row is about.")
    ] = None,
    status: Annotated[
        str | None,
        typer.Option(metavar="<word>", help="What became of it: completed, failed, skipped, blocked or not_attempted."),
    ] = None,
    reason: Annotated[str | None, typer.Option(metavar="<word>", help="Why: one word, yours or the server's.")] = None,
    detail: Annotated[list[str] | None, typer.Option(metavar="<name=value>", help="Evidence; repeatable.")] = None,
    cost_usd: Annotated[float | None, typer.Option(min=0, help="What it cost, in USD.")] = None,
    attempt: Annotated[int, typer.Option(min=1, help="Number of the attempt.")] = 1,
    prediction_written: Annotated[
        bool, typer.Option("--prediction-written", help="Say that there is something to be graded.")
    ] = False,
    submission_sha256: Annotated[
        str | None, typer.Option(metavar="<hex>", help="SHA-256 of what was submitted.")
    ] = None,
    json_row: Annotated[
        str | None, typer.Option("--json-row", metavar="<path|->", help="Read the row as a JSON object instead.")
    ] = None,
    json_: arguments.Json = False,
) -> None:
    """Append one row to the ledger of a run of `exec`; many processes may do so at the same time.

    Example: obo-bench ledger append --instance-id t1 --status failed --reason x

    The row's number is printed on stdout.
    """
    del json_  # read from the command line itself, so that usage errors obey it too
    place = _run_root(run)
    _check(reason, submission_sha256)
    own = {"instance_id": instance_id, "status": status, "reason_code": reason}
    if json_row is None:
        document = _row(own, detail, cost_usd)
    else:
        _refuse_both([*own.values(), detail, cost_usd, submission_sha256, prediction_written or None])
        document = _read_row(json_row)
    if json_row is None:
        document |= {"attempt": attempt, "prediction_written": prediction_written}
        document |= {"submission_sha256": submission_sha256} if submission_sha256 else {}
    _append(place, document)


def _append(run_root: Path, document: dict[str, Any]) -> None:
    from obo_bench.core.ledger import LEDGER_NAME
    from obo_bench.core.roots import MANIFEST_NAME
    from obo_bench.launch.answers import LedgerAppendAnswer
    from obo_bench.launch.contract.appending import append_row

    if (run_root / MANIFEST_NAME).is_file():
        answer.about(run_root)
    row = append_row(run_root, document)
    found = LedgerAppendAnswer(seq=row.seq, ledger=str(run_root / LEDGER_NAME), row=row.document())
    answer.give("ledger append", str(row.seq), found.document())


def _run_root(named: Path | None) -> Path:
    if named is not None:
        return named.absolute()
    manifest = os.environ.get(MANIFEST)
    if not manifest:
        raise UsageError(f"which run? give --run DIR; {MANIFEST}, which exec sets for its launcher, is not set")
    return Path(manifest).absolute().parent


def _check(reason: str | None, submission_sha256: str | None) -> None:
    from obo_bench.launch.contract.child_rows import reason_problem, sha256_problem

    if reason and (problem := reason_problem(reason)):
        raise UsageError(f"--reason {reason[:200]!r} {problem}: say more with --detail NAME=VALUE")
    if submission_sha256 is not None and (problem := sha256_problem(submission_sha256)):
        raise UsageError(f"--submission-sha256 {submission_sha256[:200]!r} {problem}")


def _row(own: dict[str, str | None], details: list[str] | None, cost_usd: float | None) -> dict[str, Any]:
    for flag, value in zip(("--instance-id", "--status", "--reason"), own.values(), strict=True):
        if not value:
            raise UsageError(f"{flag} is missing or empty: a row needs --instance-id, --status and --reason")
    document: dict[str, Any] = dict(own)
    document["details"] = dict(_detail(each) for each in details or ())
    if cost_usd is not None:
        if not math.isfinite(cost_usd):
            raise UsageError(f"--cost-usd {cost_usd}: give a finite number")
        document["cost"] = {"usd": cost_usd}
    return document


def _detail(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not name or not sign:
        raise UsageError(f"--detail {text!r} is not NAME=VALUE")
    return name, value


def _refuse_both(others: list[object]) -> None:
    if any(value is not None for value in others):
        raise UsageError("--json-row is the whole row: leave out the options that say parts of it")


def _read_row(source: str) -> dict[str, Any]:
    from obo_bench.core.files import open_regular
    from obo_bench.core.ledger_row import LARGEST_LINE
    from obo_bench.core.why import why
    from obo_bench.launch.contract.appending import parse_row

    try:
        if source == "-":
            data = sys.stdin.buffer.read(LARGEST_LINE + 1)
        else:
            with open_regular(source) as stream:
                data = stream.read(LARGEST_LINE + 1)
    except OSError as error:
        raise PreflightRefused(
            "ledger_row_invalid", f"--json-row {source!r} cannot be read: {why(error)}", evidence={"why": why(error)}
        ) from error
    return dict(parse_row(data, f"--json-row {source!r}"))
