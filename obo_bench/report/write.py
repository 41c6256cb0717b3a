"""Writes the report of a run: one file, whole or not at all, and nothing else."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.files import json_bytes, write_bytes
from obo_bench.core.ledger import LEDGER_NAME
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.roots import MANIFEST_NAME, check_confined
from obo_bench.report.document.build import build_report
from obo_bench.report.document.model import RunReport
from obo_bench.report.html.page import html
from obo_bench.report.markdown import markdown
from obo_bench.report.output_format import Format

_DRAWN: Mapping[Format, Callable[[RunReport, str], bytes]] = {
    Format.HTML: lambda report, files: html(report, files).encode(),
    Format.MARKDOWN: lambda report, _: markdown(report).encode(),
    Format.JSON: lambda report, _: json_bytes(report.document()),
}
REPORT_NAMES = frozenset(f"report.{form}" for form in Format)


@dataclass(frozen=True)
class Destination:
    """Where a report goes."""

    path: Path
    """The file."""
    run_root: Path
    """The run that it tells of."""
    forbidden: Mapping[str, Path]
    """Places that belong to the server, by what they are."""

    def check(self) -> None:
        """Raise PreflightRefused when nothing of ours may be written there: no file of a run's record is replaced."""
        check_confined(self.path, self.forbidden)
        directory = self.path.parent.resolve()
        root = next((place for place in (directory, *directory.parents) if _is_run(place)), None)
        if root is not None and not (self._is_root(directory) and self.path.name in REPORT_NAMES):
            names = ", ".join(sorted(REPORT_NAMES))
            raise _unwritable(
                self.path, f"it lies in the run {str(root)!r}, where only {names} beside its manifest may be written"
            )
        if self.path.is_dir():
            raise _unwritable(self.path, "it is a directory")

    def way_to_run(self) -> str:
        """Return the way from the report to the files of the run, as a relative path of real directories."""
        return os.path.relpath(self.run_root.resolve(), self.path.parent.resolve())

    def _is_root(self, directory: Path) -> bool:
        return directory == self.run_root.resolve() or (directory / MANIFEST_NAME).exists()


def write_report(root: Path, destination: Destination, form: Format, other: Path | None = None) -> RunReport:
    """Write the report of the run in `root`, compared with `other`, and return it.

    Raises PreflightRefused `output_unwritable` or `output_not_confined`, and then nothing was written.
    """
    destination.check()
    report = build_report(root, other)
    try:
        write_bytes(destination.path, _DRAWN[form](report, destination.way_to_run()))
    except OSError as error:
        raise _unwritable(destination.path, error.strerror or str(error)) from error
    return report


def _is_run(place: Path) -> bool:
    return (place / MANIFEST_NAME).exists() or (place / LEDGER_NAME).exists()


def _unwritable(path: Path, why: str) -> PreflightRefused:
    return PreflightRefused(
        "output_unwritable",
        f"the report cannot be written to {str(path)!r}: {why}",
        evidence={"output": str(path), "why": why},
        remedy="name another file with --output, outside of every run, in a directory that exists and can be written",
    )
