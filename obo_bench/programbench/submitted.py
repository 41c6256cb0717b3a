"""What a directory of submissions says of itself: which instances it is about, and what its ledgers vouch for.

It may be a run, an export, a run whose instances were prepared one by one, or just `<instance id>/submission.tar.gz`
from anywhere. One rule for all who read one; nothing is written, and nothing in it is trusted to be ours.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.core.files import read_whole
from obo_bench.core.ledger import LEDGER_NAME, Row, latest_rows
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.programbench.admission.order import InstanceOrder, read_order
from obo_bench.programbench.instances import is_instance_id
from obo_bench.programbench.packaging.submission import ARCHIVE_NAME
from obo_bench.programbench.paths import InstancePaths

_SHOWN = 5


@dataclass(frozen=True)
class Submitted:
    """A directory of submissions as it was found."""

    root: Path
    """The directory."""
    requested: tuple[str, ...]
    """What it is about, in its own order: as its manifest says, else its order, else all with an archive or a row."""
    rows: Mapping[str, Row]
    """The last row of each instance: of the run's ledger, or of the instances' own ones where it has none."""
    has_ledger: bool
    """Whether the run's ledger is there: what it does not record is then vouched for by nothing."""
    manifest: Mapping[str, Any]
    """The run's manifest; empty where there is none that can be read, as the next."""
    manifest_sha256: str
    """SHA-256 of its bytes."""
    order: InstanceOrder | None
    """What the run was admitted with; None where it does not say, or not readably."""
    others: tuple[str, ...]
    """Directories with an archive that are no instance of it, or no instance at all."""
    notices: tuple[str, ...]
    """What is wrong with it, in words."""

    def recorded_sha256(self, instance_id: str) -> str:
        """Return the hash of an archive that a ledger vouches for; empty where none does. A dry run's never counts."""
        row = self.rows.get(instance_id)
        return row.submission_sha256 if row is not None and row.reason_code != "dry_run" else ""

    def has_archive(self, instance_id: str) -> bool:
        """Say whether something is in the place of an instance's archive, whatever that is."""
        return os.path.lexists(InstancePaths(self.root, instance_id).submission)

    def is_unaccounted(self, instance_id: str) -> bool:
        """Say whether no ledger speaks of an instance, so that its archive may be taken as it is."""
        return not self.has_ledger and instance_id not in self.rows


def read_submitted(root: Path) -> Submitted:
    """Return what the directory says.

    Raises PreflightRefused `resume_config_mismatch` where its order cannot be read and nothing else tells what it is
    about; OSError where the directory or the run's ledger cannot be read.
    """
    notices: list[str] = []
    manifest, digest = _manifest(root)
    recorded = _recorded_ids(manifest)
    order = _order(root, notices, needed=not recorded)
    has_ledger = (root / LEDGER_NAME).is_file()
    rows = latest_rows(root / LEDGER_NAME) if has_ledger else _own_rows(root, notices)
    archives = sorted(path.parent.name for path in root.glob(f"*/{ARCHIVE_NAME}"))
    named = recorded or (order.instance_ids if order is not None else []) or sorted({*rows, *archives})
    requested = _instances(root, named, notices)
    others = tuple(name for name in archives if name not in set(requested))
    return Submitted(root, requested, rows, has_ledger, manifest, digest, order, others, tuple(notices))


def _manifest(root: Path) -> tuple[Mapping[str, Any], str]:
    try:
        data = read_whole(root / MANIFEST_NAME)
        value = json.loads(data)
    except (OSError, ValueError, RecursionError):
        return {}, ""
    return (value, hashlib.sha256(data).hexdigest()) if isinstance(value, dict) else ({}, "")


def _recorded_ids(manifest: Mapping[str, Any]) -> list[str]:
    named = manifest.get("requested_task_ids")
    return [str(name) for name in named] if isinstance(named, list) else []


def _order(root: Path, notices: list[str], *, needed: bool) -> InstanceOrder | None:
    try:
        return read_order(root)
    except PreflightRefused as refusal:
        if needed:
            raise
        refusal.settle()
        notices.append(refusal.message)
        return None


def _own_rows(root: Path, notices: list[str]) -> dict[str, Row]:
    """Return the last row of each instance's own ledger, which a copied instance directory brings along."""
    rows: dict[str, Row] = {}
    for path in sorted(root.glob(f"*/{LEDGER_NAME}")):
        name = path.parent.name
        try:
            found = latest_rows(path).get(name)
        except OSError as error:
            notices.append(f"the ledger of {name[:100]!a} cannot be read: {error.strerror or error}")
            continue
        if found is not None:
            rows[name] = found
    return rows


def _instances(root: Path, named: Iterable[str], notices: list[str]) -> tuple[str, ...]:
    names: Sequence[str] = tuple(dict.fromkeys(named))
    odd = [name for name in names if not is_instance_id(name)]
    if odd:
        shown = ", ".join(ascii(name[:100]) for name in odd[:_SHOWN])
        notices.append(f"{len(odd)} name(s) in {root} are no instance ids and left out: {shown}")
    return tuple(name for name in names if is_instance_id(name))
