"""The one directory that everything of a practice is kept in."""

import tempfile
from pathlib import Path

from obo_bench.practice.setup_error import PracticeSetupError


def make_practice_directory(named: Path) -> Path:
    """Make the directory where it is missing, and return its absolute path.

    Raises PracticeSetupError where nothing can be written: before any image is built, and not as a crash afterwards.
    """
    directory = named.absolute()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=directory):
            pass
    except OSError as error:
        raise PracticeSetupError(
            f"nothing can be written to the directory {str(directory)!r}: {error.strerror}",
            "name a directory of your own with --directory",
        ) from None
    return directory
