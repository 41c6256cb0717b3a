"""The destination of an export: whether it may be one, and what it is then."""

import secrets
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from obo_bench.core.files import read_json_object
from obo_bench.core.invocation_log import LOGS
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.programbench.admission.order import ORDER_NAME, ExportedFrom, InstanceOrder, read_order
from obo_bench.programbench.exporting.export_manifest import EXPORT_MANIFEST_NAME

COMMAND = "programbench export"
_OF_THE_SEAM = frozenset({MANIFEST_NAME, "manifests", LOGS})
_HIDDEN_OF_THE_SEAM = ".run"
_SHOWN = 3


def require_destination(root: Path, invocation: str, source: ExportedFrom) -> InstanceOrder | None:
    """Return what an earlier export of the source left here, None where the destination is new.

    Raises PreflightRefused: `output_not_confined` where it and the source lie in one another, `destination_taken`
    where it belongs to something else (a run, other files, the export of another source), `resume_config_mismatch`
    where its `instance_order.json` cannot be read.
    """
    _refuse_nested(root, Path(source.run_root))
    _refuse_other_command(root, invocation)
    order = read_order(root)
    if order is None:
        _refuse_other_files(root)
        return None
    if order.exported_from is None:
        raise _taken(root, f"its {ORDER_NAME} is that of a run which solves")
    if not order.exported_from.is_same_source(source):
        raise _taken(root, f"it is the export of another source, {order.exported_from.run_root!r}")
    return order


def refuse_links(root: Path, names: Iterable[str]) -> None:
    """Raise PreflightRefused `destination_taken` for a directory that is a link: it may lead anywhere."""
    for name in names:
        if (root / name).is_symlink():
            raise _taken(root, f"its directory {name!r} is a link: remove it")


def standing_entry(root: Path) -> dict[str, Any] | None:
    """Return what an earlier export told of the leaderboard entry that it made here; None where it made none."""
    found = (read_json_object(root / EXPORT_MANIFEST_NAME) or {}).get("leaderboard")
    return found if isinstance(found, dict) else None


def refuse_stale_entry(root: Path, changing: Sequence[str]) -> None:
    """Raise PreflightRefused `destination_taken` where a leaderboard entry would not fit its archives any more."""
    if changing and standing_entry(root) is not None:
        told = ", ".join(changing[:_SHOWN]) + (", ..." if len(changing) > _SHOWN else "")
        why = f"this is a leaderboard entry, and the archive of {told} would change: repeat with --leaderboard"
        raise _taken(root, why)


def order_of(standing: InstanceOrder | None, source: ExportedFrom, chosen: Sequence[str]) -> InstanceOrder:
    """Return the destination's new `instance_order.json`: what it held already comes first, in its order."""
    before: Iterable[str] = standing.instance_ids if standing else ()
    nonce = standing.run_nonce if standing else secrets.token_hex(4)
    return InstanceOrder(run_nonce=nonce, instance_ids=list(dict.fromkeys([*before, *chosen])), exported_from=source)


def _refuse_nested(root: Path, source: Path) -> None:
    """Admission keeps outputs off the likeliest place of the source only: which one it is, was not known then."""
    here = root.resolve()
    if not source.is_relative_to(here) and not here.is_relative_to(source):
        return
    relation = "lies in the destination" if source.is_relative_to(here) else "holds the destination"
    raise PreflightRefused(
        "output_not_confined",
        f"the source {str(source)!r} {relation} {str(root)!r}",
        evidence={"output": str(here), "source": str(source)},
        remedy="choose a --dest outside of the source that does not hold it",
    )


def _refuse_other_command(root: Path, invocation: str) -> None:
    """An earlier manifest stands as long as the gates have not let this invocation through."""
    standing = read_json_object(root / MANIFEST_NAME) or {}
    command = standing.get("command")
    if standing and standing.get("invocation") != invocation and command != COMMAND:
        raise _taken(root, f"it holds the record of {str(command or 'another tool')[:100]!r}")


def _refuse_other_files(root: Path) -> None:
    others = sorted(
        path.name
        for path in root.iterdir()
        if path.name not in _OF_THE_SEAM and not path.name.startswith(_HIDDEN_OF_THE_SEAM)
    )
    if others:
        more = ", ..." if len(others) > _SHOWN else ""
        raise _taken(root, f"it is not empty and no export ({', '.join(map(repr, others[:_SHOWN]))}{more})")


def _taken(root: Path, why: str) -> PreflightRefused:
    return PreflightRefused(
        "destination_taken",
        f"{str(root)!r} cannot become this export: {why}",
        evidence={"destination": str(root), "why": why},
    )
