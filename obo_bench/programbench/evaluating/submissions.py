"""What a directory holds that can be graded: a run, an export, or plain `<iid>/submission.tar.gz` from anywhere."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from obo_bench.core.files import sha256_file
from obo_bench.core.ledger import LEDGER_NAME, Row, latest_rows
from obo_bench.core.lock import LOCK_NAME, OWNER_NAME
from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.admission.order import read_order
from obo_bench.programbench.instances import is_instance_id
from obo_bench.programbench.packaging.submission import ARCHIVE_NAME

_OUR_OWN = frozenset({"eval", LOCK_NAME, OWNER_NAME})
"""What an eval that was refused has made itself."""


@dataclass(frozen=True)
class Submissions:
    """What is to be graded."""

    requested: tuple[str, ...]
    """The denominator: what the run was asked for; in a plain directory, what has an archive."""
    hashes: Mapping[str, str]
    """SHA-256 of each archive, by instance id."""
    recorded: bool
    """Whether the hashes come from a ledger; else they were taken now, and nothing vouches for the archives."""
    nonce: str = ""
    """The run's nonce; empty in a plain directory."""
    rows: Mapping[str, Row] = field(default_factory=dict)
    """The last row of each instance in the ledger."""


def read_submissions(root: Path, named: str) -> Submissions:
    """Return what `root`, which the operator called `named`, holds.

    Raises PreflightRefused `run_not_found` when there is nothing at all, `empty_selection` without submissions,
    `resume_config_mismatch` when the run's order cannot be read, and OSError.
    """
    if not [entry for entry in root.iterdir() if entry.name not in _OUR_OWN]:
        raise PreflightRefused(
            "run_not_found",
            f"there is no run {named!r}: nothing is in {str(root)!r}",
            evidence={"run": named, "directory": str(root)},
            remedy="name a run by its id (with --runs-root saying where runs are kept), or a directory with a slash in "
            "its name, such as ./submissions",
        )
    order, rows = read_order(root), latest_rows(root / LEDGER_NAME)
    found = {path.parent.name: path for path in sorted(root.glob(f"*/{ARCHIVE_NAME}"))}
    requested = tuple(dict.fromkeys(order.instance_ids if order else found))
    requested = tuple(name for name in requested if is_instance_id(name))
    if not requested:
        raise PreflightRefused(
            "empty_selection",
            f"{str(root)!r} holds no submission: there is no <instance id>/{ARCHIVE_NAME} in it",
            evidence={"directory": str(root)},
            remedy="name a run, an export, or a directory with a directory for each submission",
        )
    recorded = bool(rows)
    if recorded:
        hashes = {name: row.submission_sha256 for name, row in rows.items() if row.submission_sha256}
    else:
        hashes = {name: sha256_file(found[name]) for name in requested if name in found}
    return Submissions(requested, hashes, recorded, order.run_nonce if order else "", rows)
