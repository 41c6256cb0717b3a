"""Files that name instances."""

from pathlib import Path

from obo_bench.core.files import read_whole
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.why import why


def read_ids(path: Path) -> tuple[str, ...]:
    """Return the ids of a text file, one a line, `#` begins a comment; PreflightRefused `ids_file_unreadable`."""
    try:
        lines = read_whole(path).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise PreflightRefused(
            "ids_file_unreadable",
            f"--ids-file {str(path)!r} cannot be read: {why(error)}",
            evidence={"ids_file": str(path), "error": why(error)},
        ) from error
    ids = tuple(name for line in lines if (name := line.partition("#")[0].strip()))
    if not ids:
        raise PreflightRefused(
            "ids_file_unreadable",
            f"--ids-file {str(path)!r} names no instance",
            evidence={"ids_file": str(path), "lines": len(lines)},
        )
    return ids
