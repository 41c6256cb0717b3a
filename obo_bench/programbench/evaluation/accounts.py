"""Builds the accounts of a run's instances from its ledger, its checkpoints and its manifests.

An attempt counts when a task was made for it: a row names the task or its cost, or only a checkpoint is left of it.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path

from pydantic import ValidationError

from obo_bench.core.documents import UnreadableDocument, read_document
from obo_bench.core.ledger import LEDGER_NAME, Row, read_rows
from obo_bench.gateway.checkpoint import CHECKPOINT_NAME, TaskCheckpoint
from obo_bench.programbench.evaluation.declared_repeats import DeclaredRepeats
from obo_bench.programbench.evaluation.instance_account import CARRIED_ACCOUNT, InstanceAccount
from obo_bench.programbench.row_reasons import NO_ROW
from obo_bench.programbench.solving.account import Account
from obo_bench.programbench.solving.earlier import SUPERSEDED


def read_accounts(run_root: Path, requested_ids: Iterable[str]) -> dict[str, InstanceAccount] | None:
    """Return the account of every requested instance, or None where the directory has no ledger that could tell.

    Raises OSError when the ledger cannot be read.
    """
    ledger = run_root / LEDGER_NAME
    if not ledger.is_file():
        return None
    rows: dict[str, list[Row]] = defaultdict(list)
    for row in read_rows(ledger):
        rows[row.instance_id].append(row)
    declared = DeclaredRepeats(run_root)
    return {
        iid: _carried(rows.get(iid, [])) or _account(rows.get(iid, []), _tasks_on_disk(run_root / iid), declared)
        for iid in requested_ids
    }


def _carried(rows: Sequence[Row]) -> InstanceAccount | None:
    """Return the account that an export brought from its source: the attempts themselves are not in its ledger."""
    last = rows[-1] if rows else None
    if last is None or CARRIED_ACCOUNT not in last.details:
        return None
    try:
        account = InstanceAccount.model_validate(last.details[CARRIED_ACCOUNT])
    except ValidationError:
        return None
    return account.model_copy(update={"status": str(last.status), "reason_code": last.reason_code})


def _account(rows: Sequence[Row], on_disk: set[int], declared: DeclaredRepeats) -> InstanceAccount:
    charged = {row.attempt for row in rows if row.cost or row.details.get("task_id")}
    untold = on_disk - {row.attempt for row in rows if row.status != "not_attempted"}
    attempts = sorted(charged | untold)
    costs = Account(rows).document()
    repeats = [_kind_of_repeat(rows, *pair, declared) for pair in pairwise(attempts)]
    last = rows[-1] if rows else None
    unknown = costs["unknown"] + len(untold) + _solved_elsewhere(last, attempts)
    return InstanceAccount(
        status=str(last.status) if last else "not_attempted",
        reason_code=last.reason_code if last else NO_ROW,
        infrastructure=last is not None and _by_infrastructure(last),
        degraded=last is not None and _is_degraded(last, rows),
        solve_attempts=len(attempts),
        repeats_after_infrastructure=repeats.count("after_infrastructure"),
        repeats_asked_for=repeats.count("asked_for"),
        repeats_undeclared=repeats.count("undeclared"),
        known_usd=costs["known_usd"],
        unknown_costs=unknown,
        lower_bound=costs["lower_bound"] or unknown > 0,
    )


def _solved_elsewhere(last: Row | None, attempts: Sequence[int]) -> bool:
    """Say whether there is a submission of which no attempt is known: what was prepared by hand was not free."""
    return last is not None and bool(last.submission_sha256) and not attempts


def _kind_of_repeat(rows: Sequence[Row], earlier: int, later: int, declared: DeclaredRepeats) -> str:
    """Say why attempt `later` followed attempt `earlier`."""
    before, after = list(_endings(rows, earlier)), list(_endings(rows, later))
    if before and _by_infrastructure(before[-1]):
        return "after_infrastructure"
    if before and after and declared.cover(before[0].invocation, after[0].invocation):
        return "asked_for"
    return "undeclared"


def _endings(rows: Sequence[Row], attempt: int) -> Iterator[Row]:
    return (row for row in rows if row.attempt == attempt and row.status not in ("skipped", "not_attempted"))


def _by_infrastructure(row: Row) -> bool:
    """Say whether the infrastructure ended it; finished work that was given up for another attempt is no such case."""
    ended = row.status in ("failed", "blocked") and row.reason_code != SUPERSEDED
    return ended and bool(row.details.get("infrastructure"))


def _is_degraded(last: Row, rows: Sequence[Row]) -> bool:
    """Say whether the solve of the submission was not clean; a row of an instance not come to does not repeat that."""
    sha256 = last.submission_sha256
    told = [row for row in rows if row.submission_sha256 == sha256 and row.status in ("completed", "skipped")]
    return bool(sha256 and told and told[-1].details.get("degraded"))


def _tasks_on_disk(directory: Path) -> set[int]:
    """Return the attempts that a checkpoint tells of, earlier ones set aside included."""
    found = set()
    for path in [directory / CHECKPOINT_NAME, *directory.glob(f"attempts/*/{CHECKPOINT_NAME}")]:
        try:
            found.add(read_document(TaskCheckpoint, path).attempt)
        except UnreadableDocument:
            continue
    return found
