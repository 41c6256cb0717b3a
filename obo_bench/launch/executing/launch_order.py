"""`launch_order.json`: what a run of a launcher was first admitted with; every later invocation must repeat it."""

from pathlib import Path
from typing import Literal

from pydantic import Field

from obo_bench.core.documents import UnreadableDocument, read_document
from obo_bench.core.files import write_json
from obo_bench.core.redact import process_redactor
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.wire_format import WireModel

LAUNCH_ORDER_NAME = "launch_order.json"
"""Its name in the root of a run."""
_REMEDY = "name the ids and the data set that it was admitted with, or choose another --run-id"
_SHOWN = 3


class LaunchOrder(WireModel):
    """The whole document."""

    schema_: Literal["obo_bench.launch_order.v1"] = Field("obo_bench.launch_order.v1", alias="schema")
    """Format name."""
    benchmark: str
    """The benchmark's name."""
    dataset: str = ""
    """The data set and its version; empty while nobody has said."""
    instance_ids: list[str] | None = None
    """The requested instances; null while nobody has said."""


def hold_against_order(run_root: Path, found: LaunchOrder) -> LaunchOrder:
    """Return the order of a run, completed by what is known now. Nothing is written.

    Raises PreflightRefused `resume_config_mismatch` where it says something else.
    """
    path = run_root / LAUNCH_ORDER_NAME
    if not path.is_symlink() and not path.exists():
        return found
    try:
        admitted = read_document(LaunchOrder, path)
    except UnreadableDocument as error:
        raise PreflightRefused(
            "resume_config_mismatch",
            f"what this run was admitted with cannot be read: {error}",
            evidence={"key": LAUNCH_ORDER_NAME, "problem": error.problem},
            remedy="restore the file from a copy, or choose another --run-id",
        ) from error
    changes = [
        {"key": key, "old": old, "new": new}
        for key, old, new in (
            ("dataset", admitted.dataset, found.dataset),
            ("requested_task_ids", admitted.instance_ids, found.instance_ids),
        )
        if old and new and old != new
    ]
    if changes:
        told = "; ".join(f"{each['key']} was {_shown(each['old'])}, is {_shown(each['new'])}" for each in changes)
        raise PreflightRefused(
            "resume_config_mismatch",
            f"this run was admitted with another configuration: {told}",
            evidence={"changes": changes},
            remedy=_REMEDY,
        )
    return found.model_copy(
        update={
            "dataset": found.dataset or admitted.dataset,
            "instance_ids": found.instance_ids if admitted.instance_ids is None else admitted.instance_ids,
        }
    )


def store_order(run_root: Path, order: LaunchOrder) -> None:
    """Make it the run's own, once every gate has let the invocation through; raises OSError."""
    write_json(run_root / LAUNCH_ORDER_NAME, process_redactor().document(order.document()))


def _shown(value: object) -> str:
    if isinstance(value, list):
        return f"{len(value)} ({', '.join(map(str, value[:_SHOWN]))}{', ...' if len(value) > _SHOWN else ''})"
    return repr(value)[:100]
