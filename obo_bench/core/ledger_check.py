"""Tell what is wrong with a run's ledgers: damaged lines, a broken chain, copies that disagree."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

from obo_bench.core.ledger_reader import Damage, numbered_rows
from obo_bench.core.ledger_row import LEDGER_NAME


def ledger_notices(run_root: Path) -> list[str]:
    """Return what is wrong with the ledger of a run and its copies, one line each; empty when all is well.

    Raises OSError when one cannot be read.
    """
    path = run_root / LEDGER_NAME
    damage = Damage()
    digests: dict[str, list[bytes]] = {}
    broken = _read(path, damage, digests)
    notices = [f"{path}: {damage}"] if damage.count else []
    return [*notices, *([broken] if broken else []), *_disagreements(run_root, digests)]


def _read(path: Path, damage: Damage, digests: dict[str, list[bytes]]) -> str:
    """Collect the hashes of each instance's lines; returns what breaks the chain of hashes first, in words."""
    broken, before, seq = "", "", 0
    for number, line, row in numbered_rows(path, damage):
        if not broken and row.prev_sha256 != before:
            broken = (
                f"{path}: line {number} does not follow from the row before it (row {row.seq} after row {seq}): "
                "rows were changed, removed or put in by something else"
            )
        digest = hashlib.sha256(line)
        before, seq = digest.hexdigest(), row.seq
        digests.setdefault(row.instance_id, []).append(digest.digest())
    return broken


def _disagreements(run_root: Path, digests: dict[str, list[bytes]]) -> Iterator[str]:
    for path in sorted(run_root.glob(f"*/{LEDGER_NAME}")):
        copied = [hashlib.sha256(line).digest() for _, line, _ in numbered_rows(path)]
        # Rows from before the instance had a directory are at the run root only.
        if copied and digests.get(path.parent.name, [])[-len(copied) :] != copied:
            yield f"{path}: its rows are not those of the run's own ledger"
