"""Options that several commands share: one spelling, one help, one meaning.

Before admission only work on the arguments themselves is allowed (design: admission is the outer boundary). The one
probe is whether the current directory looks like a checkout, when none was named: without it there is no run root.
"""

import contextlib
import math
import os
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from obo_bench.cli import answer, completion
from obo_bench.core.admission import SeedDemands, check_commit
from obo_bench.core.refusals import UsageError
from obo_bench.core.reporter import Reporter
from obo_bench.core.roots import check_run_id, new_run_id, runs_root
from obo_bench.gateway.admission.settings import settings_location


def text(value: str) -> str:
    """Refuse the empty value of a script's unset variable: it would silently ask for less."""
    if not value:
        raise typer.BadParameter("it is empty: give a value, or leave the option out")
    return value


def named_path(value: str) -> Path:
    """Return a path as it was written; refuses the empty one, which would mean the current directory."""
    return Path(text(value))


def place(flag: str, told: str) -> Any:
    """Return an option whose value is a path, with `told` as its help; the parser does not look at the path itself."""
    return typer.Option(flag, parser=named_path, metavar="<path>", help=told)


RepoDir = Annotated[
    Path | None,
    place(
        "--repo-dir",
        "Checkout that the server runs from. Default: OUROBOROS_REPO_DIR, else the current directory.",
    ),
]
OuroborosUrl = Annotated[str, typer.Option("--ouroboros-url", metavar="<url>", help="Address of the Ouroboros server.")]
SolveModel = Annotated[
    str | None,
    typer.Option(
        "--solve-model",
        parser=text,
        metavar="<model>",
        help="Model that must solve; refused if settings or server name another.",
    ),
]
SettingsPath = Annotated[
    Path | None,
    place(
        "--settings-path",
        "Settings file of the server. Default: OUROBOROS_SETTINGS_PATH, else settings.json in OUROBOROS_DATA_DIR, "
        "else in data/ beside the checkout.",
    ),
]
RunId = Annotated[
    str | None,
    typer.Option(
        "--run-id",
        metavar="<id>",
        help="Id of the run; give it again to resume. Default: a new one from the clock.",
        autocompletion=completion.run_ids,
    ),
]
RunsRoot = Annotated[
    Path | None,
    place(
        "--runs-root",
        "Directory of all runs. Default: OUROBOROS_BENCH_RUNS_ROOT, else bench_runs/ beside the checkout.",
    ),
]
AllowDirtySeed = Annotated[
    bool, typer.Option("--allow-dirty-seed", help="Go on although the checkout is not clean; recorded.")
]
Expect = Annotated[
    str | None,
    typer.Option(
        "--expect",
        parser=text,
        metavar="<commit|version>",
        help="Commit (7 digits or more) or VERSION that the checkout must have.",
    ),
]
ExpectedVersion = Annotated[
    str | None,
    typer.Option(
        "--expected-version",
        parser=text,
        metavar="<version>",
        help="Version that the server must run. Default: the checkout's.",
    ),
]
SeedCommit = Annotated[
    str | None,
    typer.Option(
        "--seed-commit", metavar="<commit>", help="Commit (7 digits or more) that the checkout must descend from."
    ),
]
RequireStamp = Annotated[
    bool, typer.Option("--require-stamp", help="Refuse a git directory without the stamp of the seed's commit.")
]
Output = Annotated[
    Path | None,
    place("--output", "File for the record as JSON, written also when refused."),
]
PinDigests = Annotated[
    Path | None,
    place(
        "--pin-digests",
        "File of the only images to use: a run_manifest.json of an earlier run, or lines such as name@sha256:...",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Answer with one JSON object.")]
Retry = Annotated[
    list[str] | None,
    typer.Option(
        metavar="<reason>",
        help='Reason, or "degraded", whose instances are solved again; repeatable.',
        autocompletion=completion.retry_reasons,
    ),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Show nothing on stderr but why it ended.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="Show every phase and every look at a task as well.")]


def checkout(named: Path | None) -> Path:
    """Return the checkout as an absolute path; what it is, is for the gates to find out after admission."""
    if named is not None:
        return named.absolute()
    try:
        here = Path.cwd()
    except OSError as error:
        raise UsageError(f"the current directory is gone ({error.strerror}): give --repo-dir DIR") from error
    if (here / "VERSION").is_file() and (here / ".git").exists():
        return here
    raise UsageError(
        f"no checkout is named and {str(here)!r} is none: give --repo-dir DIR (or set OUROBOROS_REPO_DIR) with the "
        "Ouroboros checkout that the server runs from"
    )


def optional_checkout(named: Path | None) -> Path | None:
    """Return the checkout that was named or is the current directory, as `checkout` does; None when there is none."""
    with contextlib.suppress(UsageError):
        return checkout(named)
    return None


def absolute(path: Path | None) -> Path | None:
    """Return a path that was named as an absolute one, links as they are."""
    return None if path is None else path.absolute()


def settings_place(named: Path | None, repo_dir: Path) -> tuple[Path, bool]:
    """Return where the settings are, and whether the operator named the place."""
    return settings_location(named, repo_dir, os.environ)


def implied_settings(repo_dir: Path | None) -> Path | None:
    """Return where the settings of a checkout are, for a command that does not read them: no output may land there."""
    return settings_place(None, repo_dir)[0] if repo_dir else None


def run_root(kind: str, named: Path | None, run_id: str | None, repo_dir: Path) -> Path:
    """Return the directory of an invocation: `<runs root>/<kind>/<run id>`."""
    return runs_root(named, repo_dir) / kind / (check_run_id(run_id) if run_id is not None else new_run_id())


def address(url: str) -> str:
    """Return the server's address, or raise UsageError when it cannot be one."""
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable or any(character.isspace() or not character.isprintable() for character in url):
        raise UsageError(f"--ouroboros-url {url!r} is not an address: write it as http://HOST:PORT")
    return url


def seed_demands(
    seed_commit: str | None,
    *,
    allow_dirty: bool,
    expect: str | None,
    require_stamp: bool,
    require_git_directory: bool = False,
) -> SeedDemands:
    """Return what the checkout must be; raises UsageError for a --seed-commit that is no commit."""
    return SeedDemands(
        allow_dirty=allow_dirty,
        expect=expect,
        seed_commit=check_commit("--seed-commit", seed_commit),
        require_stamp=require_stamp,
        require_git_directory=require_git_directory,
    )


def finite(flag: str, value: float) -> float:
    """Return a number, or raise UsageError for the infinite and the undefined."""
    if not math.isfinite(value):
        raise UsageError(f"{flag} {value}: give a finite number")
    return value


def finite_if_given(flag: str, value: float | None) -> float | None:
    """Return the number of an option that has no default, None where it was not given; raises like `finite`."""
    return None if value is None else finite(flag, value)


def reporter(*, quiet: bool, verbose: bool = False) -> Reporter:
    """Return where progress goes: a board on a terminal, else lines; nowhere with -q. Raises UsageError for -q -v."""
    _check_loudness(quiet=quiet, verbose=verbose)
    from obo_bench.cli.seen import OperatorDisplay

    return OperatorDisplay(quiet=quiet, verbose=verbose)


def lines(*, quiet: bool, verbose: bool = False) -> Reporter:
    """Return where progress goes that shares the terminal with another program: lines, nowhere with -q.

    Raises UsageError for -q -v.
    """
    _check_loudness(quiet=quiet, verbose=verbose)
    from obo_bench.core.display import Display

    return Display(quiet=quiet, verbose=verbose)


def _check_loudness(*, quiet: bool, verbose: bool) -> None:
    if quiet and verbose:
        raise UsageError("-q and -v exclude each other: give one of them")
    if quiet:
        answer.hush()
