"""What the steps of a campaign are held against: the real commands, and the real selection of instances."""

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from obo_bench.cli import origins
from obo_bench.cli.parsing import is_flag
from obo_bench.core.refusals import PreflightRefused, UsageError

if TYPE_CHECKING:
    from obo_bench.programbench.selection import Selector


class RealCommandLines:
    """The command line as it is built: its options, and what its parser has against arguments."""

    def options(self, command: str) -> Mapping[str, bool]:
        """Return a command's options and arguments by name, `ids_file` for --ids-file: whether it takes no value."""
        known = {}
        for each in _built(command).params:
            opposites = (flag for flag in getattr(each, "secondary_opts", ()) if flag.startswith("--"))
            names = {origins.key(each).lower(), *(flag.removeprefix("--").replace("-", "_") for flag in opposites)}
            known.update(dict.fromkeys(names, is_flag(each)))
        return known

    def complaint(self, command: str, arguments: Sequence[str]) -> str | None:
        """Return what its parser has against these arguments; None when it takes them. Nothing is run."""
        try:
            _built(command).make_context(command, list(arguments))
        except (typer.BadParameter, UsageError) as error:
            return _told(error)
        except Exception as error:  # the parser's other errors have no public type
            if not hasattr(error, "format_message"):
                raise
            return _told(error)
        return None

    def wrong_values(
        self, kind: str, options: Mapping[str, Any], directory: Path, *, whole: bool
    ) -> list[tuple[str, str]]:
        """Return the options whose values its command would refuse before anything is started, each with the reason.

        What they ask for together is looked at only where they are all of the step's: `whole`.
        Raises PreflightRefused `dataset_unavailable`.
        """
        found = list(_meaningless(kind, options, directory))
        return found if found or kind != "run" or not whole else list(_not_selected(options, directory))

    def task_ids(self, kind: str, options: Mapping[str, Any], directory: Path) -> list[str] | None:
        """Return the instances that a step asks for, as its command would choose them; None where it does not say.

        Raises the refusals of a selection: `ids_file_unreadable`, `unknown_instance`, `empty_selection`; UsageError
        for values that cannot mean anything.
        """
        if kind == "exec":
            return [*_listed(options.get("task_id")), *_ids_in(options, directory)] or None
        return _selected(options, directory) if kind == "run" else None


def _meaningless(kind: str, options: Mapping[str, Any], directory: Path) -> Iterator[tuple[str, str]]:
    """Yield the values that cannot mean anything, one by one."""
    from obo_bench.launch.benchmark_name import check_benchmark_name
    from obo_bench.programbench.selection import check_selector

    for option, value in options.items():
        try:
            if kind == "exec" and option == "benchmark":
                check_benchmark_name(str(value), "benchmark")
            elif kind == "run":
                check_selector(_selector({option: value}, directory))
            elif option == "ids_file":
                _ids_in(options, directory)
        except (UsageError, PreflightRefused) as error:
            if isinstance(error, PreflightRefused):
                error.settle()
            yield option, str(error)
        if option == "output" and not _can_be_written(directory / str(value)):
            yield option, f"{str(value)!r} cannot be written: its directory is not there, or not yours to write in"


def _not_selected(options: Mapping[str, Any], directory: Path) -> Iterator[tuple[str, str]]:
    """Yield why a selection of usable values selects nothing, or what there is not."""
    try:
        _selected(options, directory)
    except PreflightRefused as refusal:
        if refusal.reason not in ("unknown_instance", "empty_selection"):
            raise
        refusal.settle()
        yield "", refusal.message


def _can_be_written(file: Path) -> bool:
    return not file.is_dir() and os.access(file if file.exists() else file.parent, os.W_OK)


def _selected(options: Mapping[str, Any], directory: Path) -> list[str]:
    from obo_bench.programbench.instances import load_instances
    from obo_bench.programbench.selection import select

    return [instance.instance_id for instance in select(load_instances(), _selector(options, directory))]


def _selector(options: Mapping[str, Any], directory: Path) -> "Selector":
    from obo_bench.programbench.selection import Selector

    return Selector(
        difficulty=_listed(options.get("difficulty")),
        language=_listed(options.get("language")),
        instance_ids=(*_listed(options.get("instance_id")), *_ids_in(options, directory)),
        filter=str(options.get("filter", "")),
        slice=str(options.get("slice", "")),
        shuffle=bool(options.get("shuffle")),
    )


@cache
def _built(command: str) -> Any:
    from obo_bench.cli.app import app

    found: Any = typer.main.get_command(app)
    for word in command.split():
        found = found.commands[word]
    return found


def _told(error: Any) -> str:
    told = getattr(error, "format_message", None)
    return str(told() if told is not None else error)


def _listed(value: object) -> tuple[str, ...]:
    if value is None:
        return ()
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)


def _ids_in(options: Mapping[str, Any], directory: Path) -> Sequence[str]:
    from obo_bench.core.ids_file import read_ids

    return read_ids(directory / str(options["ids_file"])) if "ids_file" in options else ()
