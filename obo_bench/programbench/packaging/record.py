"""submission.json: what is in an archive, what is not, and what deserves a look."""

from enum import StrEnum
from typing import Literal

from pydantic import ConfigDict, Field

from obo_bench.core.wire_format import LaterWord, WireModel
from obo_bench.programbench.packaging.collection_rules import Exclusion, Flag


class SubmissionWarning(StrEnum):
    """What an operator should know of a submission; none of them decides whether it builds."""

    NO_COMPILE_SCRIPT = "compile_script_missing"
    NOT_EXECUTABLE = "compile_script_not_executable"
    CRLF = "compile_script_crlf"
    COPIES_PREBUILT = "compile_script_copies_prebuilt_binary"
    TESTS_DIRECTORY = "tests_directory_left_out"


class CompileScriptCheck(WireModel):
    """What stands in the root as compile.sh; nothing here decides whether it builds."""

    model_config = ConfigDict(frozen=True)

    present: bool
    """A regular file of that name, or a link to one in the tree."""
    executable: bool
    """It has an execute bit (the evaluator sets one anyway)."""
    crlf: bool
    """It has carriage returns at line ends, which end most scripts at their first line."""
    builds_nothing: bool = False
    """All its commands only copy or unpack."""
    names_pytest_setup: bool = False
    """It names files or variables that configure pytest."""


class PathNote(WireModel):
    """A path and the reason it is listed for."""

    model_config = ConfigDict(frozen=True)

    path: str
    """Relative to the workspace; bytes that are not UTF-8 as `\\xNN`."""
    reason: Exclusion | Flag | LaterWord
    """A value of Exclusion in `excluded`, of Flag in `flagged`."""


class SubmissionRecord(WireModel):
    """The content of submission.json."""

    model_config = ConfigDict(frozen=True)

    schema_: Literal["obo_bench.submission.v1"] = Field(default="obo_bench.submission.v1", alias="schema")
    """Name and version of this format; `schema` on the wire."""
    sha256: str
    """Hexadecimal hash of submission.tar.gz."""
    size: int
    """Its size in bytes."""
    member_count: int
    """Entries in it, the root among them."""
    compile_sh: CompileScriptCheck
    """What stands in the root as compile.sh."""
    excluded: tuple[PathNote, ...]
    """What was left out; a directory stands for all that it holds."""
    flagged: tuple[PathNote, ...]
    """What is in the archive and deserves a look."""
    warnings: tuple[SubmissionWarning | LaterWord, ...] = ()
    """What an operator should know."""


def warnings_of(
    script: CompileScriptCheck, excluded: tuple[PathNote, ...], flagged: tuple[PathNote, ...]
) -> tuple[SubmissionWarning, ...]:
    """Return what an operator should know of a submission."""
    prebuilt = any(note.reason == Flag.PREBUILT_BINARY for note in flagged)
    found = {
        SubmissionWarning.NO_COMPILE_SCRIPT: not script.present,
        SubmissionWarning.NOT_EXECUTABLE: script.present and not script.executable,
        SubmissionWarning.CRLF: script.crlf,
        SubmissionWarning.COPIES_PREBUILT: script.builds_nothing and prebuilt,
        SubmissionWarning.TESTS_DIRECTORY: any(note.reason == Exclusion.TESTS_DIRECTORY for note in excluded),
    }
    return tuple(warning for warning, holds in found.items() if holds)
