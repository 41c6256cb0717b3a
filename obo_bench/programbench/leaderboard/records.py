"""Copies the records that prove what the README says: `_record/run` mirrors the run root.

Nothing else of the run goes along: no workspace, no archive of an attempt that was not handed in, no log.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

from obo_bench.core.host_load import LOAD_RECORD_NAME
from obo_bench.core.ledger import LEDGER_NAME
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.gateway.checkpoint import CHECKPOINT_NAME
from obo_bench.programbench.admission.order import ORDER_NAME
from obo_bench.programbench.evaluation.grade_summary import GRADE_SUMMARY_NAME
from obo_bench.programbench.leaderboard.eval_copy import copy_if_changed
from obo_bench.programbench.leaderboard.statistics_script import RECORDS

OF_RUN = (MANIFEST_NAME, ORDER_NAME, LEDGER_NAME, GRADE_SUMMARY_NAME, f"eval/{MANIFEST_NAME}")
OF_ATTEMPT = (
    "instruction.txt",
    "ouroboros_task_body.json",
    CHECKPOINT_NAME,
    "ouroboros_task_result.json",
    "submission.json",
    "cleanroom.json",
)


def mirror_records(source: Path, dest: Path, instance_ids: Sequence[str]) -> None:
    """Make `_record/run` below `dest` what the run says now; raises RecordUnreadable and OSError."""
    root = source.resolve()
    for name in _record_names(source, instance_ids):
        target = dest / RECORDS / name
        # A directory that is a link is no part of the run either: it could show a file of another place.
        if (root / name).parent.resolve() == (root / name).parent:
            copy_if_changed(root / name, target)
        else:
            target.unlink(missing_ok=True)


def _record_names(source: Path, instance_ids: Sequence[str]) -> Iterator[Path]:
    yield from map(Path, OF_RUN)
    for place in (Path("manifests"), Path("eval", "manifests")):
        yield from (place / manifest.name for manifest in sorted((source / place).glob("*.json")))
    yield from (load.relative_to(source) for load in sorted(source.glob(f"eval/*/{LOAD_RECORD_NAME}")))
    for iid in instance_ids:
        yield Path(iid, LEDGER_NAME)
        attempts = sorted((source / iid / "attempts").glob("*"))
        for place in (Path(iid), *(Path(iid, "attempts", attempt.name) for attempt in attempts)):
            yield from (place / name for name in OF_ATTEMPT)
