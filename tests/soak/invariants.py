"""What must hold after every kill and at the end of every run, whatever was done to it."""

import hashlib
from collections import Counter
from collections.abc import Sequence

from tests.soak.world import Run

FINAL = frozenset({"completed", "failed", "cancelled", "rejected_duplicate"})


class Broken(AssertionError):
    """Something that must never be was found."""


def require(holds: object, what: str) -> None:
    """Raise Broken unless it holds."""
    if not holds:
        raise Broken(what)


def check_always(run: Run) -> None:
    """Check what holds at any moment after a process of the run is gone."""
    _check_ledger(run)
    run.manifest()
    tasks, live = run.tasks(), set(run.world.server.live())
    for instance_id, ids in tasks.items():
        require(len(live & set(ids)) <= 1, f"{instance_id} has two live tasks: {live & set(ids)}")
        solved = [one for one in ids if run.world.server.record(one).get("status") == "completed"]
        require(len(solved) <= 1, f"{instance_id} was solved and paid for twice: {solved}")
    rooms = Counter(run.objects())
    require(not [one for one, number in rooms.items() if number > 1], f"two containers for one instance: {rooms}")
    done = {row["instance_id"] for row in run.rows() if row["status"] == "completed"}
    # Between its row and the removal of its container an instance may be killed once; then no task of it is live.
    for instance_id in done:
        require(not live & set(tasks[instance_id]), f"{instance_id} is done, and its task is live")


def check_end(run: Run, *, instances: Sequence[str] = (), tasks_each: int | None = 1) -> None:
    """Check a run of `instances` (empty: all of the world) that ended with status 0.

    `tasks_each` is None where faults make further attempts right.
    """
    asked = list(instances) or run.world.ids
    check_always(run)
    require(run.manifest()["extra"]["outcome"] == "completed", "the manifest does not say completed")
    require(not run.objects(), f"containers are left: {run.objects()}")
    require(not run.objects("volume"), f"volumes are left: {run.objects('volume')}")
    tasks = run.tasks()
    require(set(tasks) == set(asked), f"tasks of {len(tasks)} instances, not of {len(asked)}")
    for instance_id in asked:
        _check_finished(run, instance_id)
        if tasks_each is not None:
            require(len(tasks[instance_id]) == tasks_each, f"{instance_id}: {tasks[instance_id]}")
        require(
            run.world.server.record(tasks[instance_id][-1])["status"] == "completed",
            f"{instance_id}: its last task is not the one that was completed",
        )


def _check_finished(run: Run, instance_id: str) -> None:
    for where in ("", instance_id):
        rows = [row for row in run.rows(where) if row["instance_id"] == instance_id]
        require(rows, f"{instance_id}: no row in {where or 'the run root'}")
        require(rows[-1]["status"] in ("completed", "skipped"), f"{instance_id} ended {rows[-1]['status']}")
    archive = run.root / instance_id / "submission.tar.gz"
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    require(rows[-1]["submission_sha256"] == digest, f"{instance_id}: the archive is not the one in its last row")


def _check_ledger(run: Run) -> None:
    """Every line is a row, and each names the hash of the line before."""
    ledger = run.root / "result_index.jsonl"
    lines = ledger.read_bytes().splitlines(keepends=True) if ledger.exists() else []
    before = ""
    for row, line in zip(run.rows(), lines, strict=True):
        require(row["prev_sha256"] == before, f"line {row['seq']} does not follow from the one before")
        before = hashlib.sha256(line).hexdigest()
