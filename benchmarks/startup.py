"""Measure `obo-bench --help` and `--version` against a bare typer application: `python -m benchmarks.startup`.

The bare application is written for the occasion: the same groups, commands, options and words of help as ours, in a
module of its own, with functions that do nothing. Each start is a process of its own, and they take turns. Ends with 1
when ours takes more than 1.5 times as long. A number of rounds may be given.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import typer.main

from benchmarks.load import load
from obo_bench.cli.app import app

ROUNDS = 30
MOST_TIMES_SLOWER = 1.5
BARE = "bare_application"
WORDS = ("--help", "--version")
_HEAD = """\
from typing import Annotated

import typer


def show_version(wanted: bool) -> None:
    if wanted:
        typer.echo("bare 1")
        raise typer.Exit


"""
_ADDED_BY_TYPER = frozenset({"help", "install_completion", "show_completion"})


def write_bare(place: Path) -> int:
    """Write the package of the bare application below `place`; returns how many options it has."""
    package = place / BARE
    package.mkdir()
    source = _HEAD + "\n".join(_group("app", typer.main.get_command(app)))
    (package / "__init__.py").write_text("")
    (package / "application.py").write_text(source)
    (package / "__main__.py").write_text(f"from {BARE}.application import app\n\napp()\n")
    return source.count("typer.Option(")


def _group(path: str, group: Any) -> Iterator[str]:
    """Yield the lines of a group and of all that is in it; `path` is the name of its variable."""
    yield f"{path} = typer.Typer(help={group.help!r}, rich_markup_mode=None, pretty_exceptions_enable=False)"
    yield from _function(f"@{path}.callback()", f"{path}_callback", group)
    for name, command in group.commands.items():
        below = f"{path}_{name}".replace("-", "_")
        if hasattr(command, "commands"):
            yield from _group(below, command)
            yield f"{path}.add_typer({below}, name={name!r})"
        else:
            yield from _function(f"@{path}.command({name!r})", below, command)


def _function(decorator: str, name: str, command: Any) -> Iterator[str]:
    parameters = ", ".join(_parameter(each) for each in command.params if each.name not in _ADDED_BY_TYPER)
    yield f"{decorator}\ndef {name}({parameters}) -> None:\n    {command.help or ''!r}\n\n"


def _parameter(parameter: Any) -> str:
    """Return the source of one parameter, which has a default whatever it is: the order does not matter then."""
    if parameter.name == "show_version":
        return "version: Annotated[bool, typer.Option('--version', callback=show_version, is_eager=True)] = False"
    if parameter.param_type_name == "argument":
        return f"a_{parameter.name}: Annotated[str, typer.Argument()] = ''"
    kind, default = ("bool", "False") if parameter.is_flag else ("str", "''")
    flags = ", ".join(map(repr, parameter.opts))
    return f"o_{parameter.name}: Annotated[{kind}, typer.Option({flags}, help={parameter.help!r})] = {default}"


def contenders(place: Path) -> tuple[dict[str, list[str]], Mapping[str, str]]:
    """Return the command lines that take turns, by what they are called, and their environment."""
    modules = {"bare": BARE, "ours": "obo_bench"}
    lines = {f"{who} {word}": [sys.executable, "-m", module, word] for who, module in modules.items() for word in WORDS}
    search = os.pathsep.join([str(place), str(Path(__file__).resolve().parents[1])])
    return {"python": [sys.executable, "-c", ""], **lines}, {**os.environ, "PYTHONPATH": search}


def measure(place: Path, rounds: int) -> dict[str, list[float]]:
    """Return the seconds that each took in each round."""
    commands, environ = contenders(place)
    taken: dict[str, list[float]] = {name: [] for name in commands}
    # The round before the first writes the compiled modules.
    for number in range(rounds + 1):
        for name, command in commands.items():
            started = time.perf_counter()
            subprocess.run(command, env=dict(environ), cwd=place, check=True, stdout=subprocess.DEVNULL)
            if number:
                taken[name].append(time.perf_counter() - started)
    return taken


def compare(word: str, taken: Mapping[str, list[float]]) -> float:
    """Tell of one option, and return how many times as long ours takes: the median of the rounds."""
    bare, ours = taken[f"bare {word}"], taken[f"ours {word}"]
    ratio = median(mine / other for mine, other in zip(ours, bare, strict=True))
    both = f"bare typer {median(bare) * 1000:.0f} ms, ours {median(ours) * 1000:.0f} ms"
    print(f"{word:9} {both}, ratio {ratio:.2f} (budget {MOST_TIMES_SLOWER})")  # noqa: T201
    return ratio


def main() -> int:
    """Print the measurements; returns 1 when the budget is broken."""
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else ROUNDS
    with tempfile.TemporaryDirectory(prefix="obo-bench-startup-") as directory:
        options = write_bare(Path(directory))
        taken = measure(Path(directory), rounds)
    print(f"{options} options; medians of {rounds} rounds in turn; {load()}")  # noqa: T201
    print(f"python alone {median(taken['python']) * 1000:.0f} ms")  # noqa: T201
    kept = max([compare(word, taken) for word in WORDS]) <= MOST_TIMES_SLOWER
    print("budget kept" if kept else "BUDGET BROKEN")  # noqa: T201
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
