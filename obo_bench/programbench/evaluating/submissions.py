"""What a directory holds that can be graded, and the hash of each archive that the grade is bound to."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.files import sha256_file
from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.no_run import holds_only_refusals
from obo_bench.programbench.packaging.submission import ARCHIVE_NAME
from obo_bench.programbench.paths import InstancePaths
from obo_bench.programbench.submitted import Submitted, read_submitted


@dataclass(frozen=True)
class Submissions:
    """What is to be graded."""

    submitted: Submitted
    """What the directory says of itself."""
    hashes: Mapping[str, str]
    """SHA-256 of each archive, by instance id; empty for one that could not be read."""
    taken_now: tuple[str, ...]
    """Instances whose hash comes from no ledger: it was taken now, and nothing vouches for the archive."""

    @property
    def requested(self) -> tuple[str, ...]:
        """The denominator."""
        return self.submitted.requested

    @property
    def nonce(self) -> str:
        """The run's nonce; empty in a directory that is none."""
        return self.submitted.order.run_nonce if self.submitted.order is not None else ""


def read_submissions(root: Path, named: str) -> Submissions:
    """Return what `root`, which the operator called `named`, holds.

    Raises PreflightRefused `run_not_found` when there is nothing at all, `empty_selection` without submissions,
    `resume_config_mismatch` as `read_submitted` does, and OSError.
    """
    if holds_only_refusals(root):
        raise PreflightRefused(
            "run_not_found",
            f"there is no run {named!r}: nothing is in {str(root)!r}",
            evidence={"run": named, "directory": str(root)},
            remedy="name a run by its id (with --runs-root saying where runs are kept), or a directory with a slash in "
            "its name, such as ./submissions",
        )
    found = read_submitted(root)
    if not found.requested:
        raise PreflightRefused(
            "empty_selection",
            f"{str(root)!r} holds no submission: there is no <instance id>/{ARCHIVE_NAME} in it",
            evidence={"directory": str(root)},
            remedy="name a run, an export, or a directory with a directory for each submission",
        )
    recorded = {name: sha256 for name in found.requested if (sha256 := found.recorded_sha256(name))}
    taken_now = {
        name: _hash_now(InstancePaths(root, name).submission)
        for name in found.requested
        if found.is_unaccounted(name) and found.has_archive(name)
    }
    return Submissions(found, {**recorded, **taken_now}, tuple(taken_now))


def _hash_now(archive: Path) -> str:
    """An archive that cannot be read must not keep the others from their grades: it gets its own reason later."""
    try:
        return sha256_file(archive)
    except OSError:
        return ""
