"""What a run was admitted to do, `instance_order.json`: fixed once, compared on every resume."""

import secrets
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from obo_bench.core.files import read_json_object, write_json
from obo_bench.core.refusals import PreflightRefused
from obo_bench.gateway.checkpoint import CHECKPOINT_NAME

ORDER_NAME = "instance_order.json"
SCHEMA = "obo_bench.instance_order.v1"


def fix_order(run_root: Path, instance_ids: Sequence[str], *, allow_change: bool = False) -> str:
    """Fix the requested ids, or compare them with those of the first admission; returns the run's nonce.

    Raises PreflightRefused `resume_config_mismatch` when they differ.
    """
    path = run_root / ORDER_NAME
    known = read_json_object(path)
    if known is None:
        return _write(path, secrets.token_hex(4), instance_ids)
    before = [str(name) for name in known.get("instance_ids") or []]
    if before == list(instance_ids):
        return str(known["run_nonce"])
    if allow_change:
        return _write(path, str(known["run_nonce"]), instance_ids)
    raise PreflightRefused(
        "resume_config_mismatch",
        f"this run was admitted with {_count(before)}, now asked for are {_count(instance_ids)}",
        evidence={"key": "requested_task_ids", "old": before, "new": list(instance_ids)},
    )


def refuse_dry_run_over_tasks(run_root: Path, instance_ids: Sequence[str]) -> None:
    """Raise PreflightRefused when tasks were submitted in this run: preparing afresh would take their containers."""
    submitted = [name for name in instance_ids if (run_root / name / CHECKPOINT_NAME).exists()]
    if submitted:
        raise PreflightRefused(
            "resume_config_mismatch",
            f"a dry run would disturb the {len(submitted)} task(s) that this run has submitted, such as {submitted[0]}",
            evidence={"key": "dry_run", "old": False, "new": True, "submitted": submitted},
        )


def _write(path: Path, nonce: str, instance_ids: Sequence[str]) -> str:
    document: dict[str, Any] = {"schema": SCHEMA, "run_nonce": nonce, "instance_ids": list(instance_ids)}
    write_json(path, document)
    return nonce


def _count(ids: Sequence[str]) -> str:
    shown = ", ".join(ids[:3])
    return f"{len(ids)} instance(s) ({shown}{', ...' if len(ids) > 3 else ''})"
