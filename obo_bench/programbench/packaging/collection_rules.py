"""What of a workspace is handed in: the one place that the instruction and the packer both read.

The agent is told these rules before it starts, and the archive is made by them afterwards, so neither can promise
what the other does not keep. Everything that no rule names is source and is kept.
"""

import posixpath
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from obo_bench.core.refusals import UsageError

WORKSPACE = "/workspace"
"""Where the workspace lies in the container, both while it is written and while it is evaluated."""

REFERENCE_NAME = "reference_executable"
"""The reference program's name in the root of the workspace."""

PROGRAM_NAME = "executable"
"""The built program's name in the root of the workspace."""

COMPILE_SCRIPT = "compile.sh"
"""The build script's name in the root of the workspace."""

DEFAULT_PROTECTED_PATHS = (f"{WORKSPACE}/{REFERENCE_NAME}", REFERENCE_NAME)
"""What the server guards and the archive leaves out unless the operator says otherwise."""

CACHE_DIRECTORIES = ("__pycache__", ".pytest_cache", ".ruff_cache", ".mypy_cache")
"""Directories that tools write on their own; left out at any depth."""

TESTS_DIRECTORY = "eval"
"""Where the evaluator unpacks the hidden tests, in the root of the workspace."""

PYTEST_FILES = ("conftest.py", "pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
"""What pytest loads from the root, where the evaluator starts it: it would bend or break the hidden tests."""

GIT_NAME = ".git"
SERVER_STATE_DIRECTORY = ".ouroboros"


class Exclusion(StrEnum):
    """Why a path is not in the archive; the value is the `reason` in submission.json."""

    GIT = "git_data"
    BUILT_PROGRAM = "built_program"
    REFERENCE = "reference"
    PROTECTED = "protected_path"
    SERVER_STATE = "server_state"
    TESTS_DIRECTORY = "tests_directory"
    PYTEST_SETUP = "pytest_setup"
    CACHE = "cache"
    SPECIAL_FILE = "special_file"
    LINK_LEAVES_TREE = "link_leaves_tree"
    REFERENCE_COPY = "reference_copy"


class Flag(StrEnum):
    """Why a path that *is* in the archive deserves a look; the value is the `reason` in submission.json."""

    RESEMBLES_REFERENCE = "resembles_reference"
    HOLDS_ENCODED_REFERENCE = "holds_encoded_reference"
    HOLDS_PART_OF_REFERENCE = "holds_part_of_reference"
    NOT_FULLY_SEARCHED = "not_fully_searched"
    PREBUILT_BINARY = "prebuilt_binary"
    LINKS_TO_EXCLUDED = "links_to_excluded_path"
    MAY_AFFECT_TESTS = "may_affect_tests"


REFUSED_WHEN_STRICT = frozenset(
    {
        Flag.RESEMBLES_REFERENCE,
        Flag.HOLDS_ENCODED_REFERENCE,
        Flag.HOLDS_PART_OF_REFERENCE,
        Flag.NOT_FULLY_SEARCHED,
    }
)
"""Flags that `--strict` refuses: the reference is in the archive, or it can't be ruled out."""


EXCLUSION_TEXTS: Mapping[Exclusion, str] = {
    Exclusion.GIT: f"`{GIT_NAME}`, in every directory",
    Exclusion.BUILT_PROGRAM: f"`{PROGRAM_NAME}` in the root, which is built again from your sources",
    Exclusion.REFERENCE: f"`{REFERENCE_NAME}` in the root",
    Exclusion.PROTECTED: "everything at or below a protected path",
    Exclusion.SERVER_STATE: f"directories named `{SERVER_STATE_DIRECTORY}`",
    Exclusion.TESTS_DIRECTORY: f"`{TESTS_DIRECTORY}` in the root, where the hidden tests are unpacked",
    Exclusion.PYTEST_SETUP: f"{', '.join(f'`{name}`' for name in PYTEST_FILES)} in the root",
    Exclusion.CACHE: "cache directories: " + ", ".join(f"`{name}`" for name in CACHE_DIRECTORIES),
    Exclusion.SPECIAL_FILE: "sockets, FIFOs and device nodes",
    Exclusion.LINK_LEAVES_TREE: f"symbolic links that lead out of `{WORKSPACE}`",
    Exclusion.REFERENCE_COPY: "copies of the reference program under any name, and hard links to it",
}
"""Each exclusion in the words that the agent reads."""


_EXCLUDED_IN_ROOT = {
    REFERENCE_NAME: Exclusion.REFERENCE,
    PROGRAM_NAME: Exclusion.BUILT_PROGRAM,
    TESTS_DIRECTORY: Exclusion.TESTS_DIRECTORY,
    **dict.fromkeys(PYTEST_FILES, Exclusion.PYTEST_SETUP),
}


@dataclass(frozen=True)
class CollectionRules:
    """The rules of one run: the fixed ones, and the protected paths of its configuration."""

    protected: tuple[str, ...]
    """Protected paths relative to the root of the workspace, normalised."""

    @classmethod
    def protecting(cls, paths: Sequence[str]) -> "CollectionRules":
        """Build the rules for `paths`, absolute in the container or relative to the workspace.

        Paths outside the workspace can't be in the archive and are dropped; raises UsageError for one that is the
        whole workspace.
        """
        relative = (relative_to_workspace(path) for path in paths)
        return cls(tuple(dict.fromkeys(path for path in relative if path is not None)))

    def excluded(self, path: str, mode: int, *, link_leaves: bool = False) -> Exclusion | None:
        """Return why the entry at `path` (relative, with the `st_mode` of lstat) is left out, or None if it is kept."""
        name = path.rpartition("/")[2]
        if reason := self.excluded_by_name(path):
            return reason
        if name == GIT_NAME:
            return Exclusion.GIT
        if stat.S_ISDIR(mode):
            return _excluded_directory(name)
        if link_leaves:
            return Exclusion.LINK_LEAVES_TREE
        return None if stat.S_ISREG(mode) or stat.S_ISLNK(mode) else Exclusion.SPECIAL_FILE

    def excluded_by_name(self, path: str) -> Exclusion | None:
        """Return why `path` is left out whatever it is: what has its own meaning in the root, or a protected path."""
        if reason := _EXCLUDED_IN_ROOT.get(path.partition("/")[0]):
            return reason
        if any(path == protected or path.startswith(f"{protected}/") for protected in self.protected):
            return Exclusion.PROTECTED
        return None


def relative_to_workspace(path: str) -> str | None:
    """Return a protected path relative to the workspace, None if it lies outside; UsageError for the workspace itself.

    Relative paths start at the root of the workspace, as the server reads them.
    """
    # Two slashes at the beginning stay two in a normalised path.
    absolute = "/" + posixpath.normpath(posixpath.join(WORKSPACE, path.strip())).lstrip("/")
    if absolute == WORKSPACE:
        raise UsageError(
            f"--protected-path {path!r}: it is the whole workspace, so nothing could be handed in; name a file in it"
        )
    return absolute.removeprefix(f"{WORKSPACE}/") if absolute.startswith(f"{WORKSPACE}/") else None


def _excluded_directory(name: str) -> Exclusion | None:
    if name in CACHE_DIRECTORIES:
        return Exclusion.CACHE
    return Exclusion.SERVER_STATE if name == SERVER_STATE_DIRECTORY else None
