"""What makes a run one experiment: fixed when it is first admitted, compared on every resume.

Compared: the requested ids, solve model, model slots and the settings that shape a solve, server version, seed commit
and its changes, version of the programbench package, limits, protected paths, and each instance's image.

Not compared, because the result of a solve does not depend on it: --workers, --pull and --skip-pull, --pin-digests (the
images themselves are), --rm-images, --redo-existing, --retry, --eval, --dry-run, --json, --quiet, --on-interrupt,
--max-cost-usd, --min-budget-usd, --strict, the waivers and demands of admission, the server's address, TOTAL_BUDGET and
worker count, and how the paths of checkout, settings and run root are spelled.
"""

import math
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from obo_bench.core.manifest import RunManifest
from obo_bench.core.redact import process_redactor
from obo_bench.core.refusals import PreflightRefused
from obo_bench.gateway.admission.live_settings import SOLVE_SETTINGS
from obo_bench.gateway.admission.model_slots import MODEL_SLOTS
from obo_bench.programbench.admission.order import (
    AdmittedImage,
    ConfigChange,
    Configuration,
    InstanceOrder,
    read_order,
    write_order,
)
from obo_bench.programbench.options import RunOptions
from obo_bench.programbench.packaging.collection_rules import DEFAULT_PROTECTED_PATHS
from obo_bench.programbench.sizes import parse_size

IDS_KEY = "requested_task_ids"
_SHOWN_KEYS = 3


def configuration_of(manifest: RunManifest, options: RunOptions) -> Configuration:
    """Return the run's configuration as far as the gates have found it out; what is not known is None."""
    attestation = manifest.extra.runtime_attestation or {}
    found = {
        "solve_model": manifest.harness.get("solve_model") or None,
        "server_version": attestation.get("runtime_version"),
        "seed_commit": manifest.source.head,
        "seed_changes": manifest.source.tracked_diff_sha256,
        "programbench": manifest.harness.get("programbench"),
        "limits.cpus": float(options.cpus),
        "limits.memory_bytes": float(parse_size(options.memory)),
        "limits.timeout_sec": float(options.timeout_sec),
        "protected_paths": sorted(options.protected_paths or DEFAULT_PROTECTED_PATHS),
        **_of_live_server(manifest),
    }
    # Held against what is on disk, where secrets are masked.
    masked: Configuration = process_redactor().document(found)
    return masked


def _of_live_server(manifest: RunManifest) -> Configuration:
    """A dry run knows only the file, and a server may run with other settings."""
    live = (manifest.harness.get("settings") or {}).get("live")
    if live is None:
        return {}
    slots: Configuration = {f"model_slots.{name}": manifest.model_slots.get(name, "") for name in MODEL_SLOTS}
    return slots | {f"settings.{name}": _comparable(live.get(name)) for name in SOLVE_SETTINGS}


def _comparable(value: object) -> str | float:
    """The server's values are not reliably typed: 1000 and "1000" are one setting, and one that is gone is empty."""
    text = "" if value is None else str(value).strip().lower()
    try:
        number = float(text)
    except ValueError:
        return text
    return number if math.isfinite(number) else text


class AdmittedConfiguration:
    """The admitted configuration of one run; safe to share between threads once it is stored."""

    def __init__(self, run_root: Path, invocation: str, order: InstanceOrder, *, accept_change: bool) -> None:
        self._run_root = run_root
        self._invocation = invocation
        self._order = order
        self._accept_change = accept_change
        self._lock = threading.Lock()
        self._adopted = order.admitted is None
        self.accepted: list[dict[str, Any]] = []
        """The differences that this invocation was allowed, for the manifest."""

    @classmethod
    def hold_against(
        cls,
        run_root: Path,
        invocation: str,
        nonce: str,
        instance_ids: Sequence[str],
        found: Configuration,
        *,
        accept_change: bool,
    ) -> "AdmittedConfiguration":
        """Hold what was found against what the run was admitted with; `nonce` is taken for a new run only.

        Nothing is written before `store`. Raises PreflightRefused `resume_config_mismatch` naming every difference.
        """
        order = read_order(run_root)
        if order is None:
            order = InstanceOrder(run_nonce=nonce, instance_ids=list(instance_ids), admitted=dict(found))
            return cls(run_root, invocation, order, accept_change=accept_change)
        _refuse_export(run_root, order)
        admitted = cls(run_root, invocation, order, accept_change=accept_change)
        admitted._compare(list(instance_ids), found)
        return admitted

    @property
    def adopted(self) -> bool:
        """Whether the run was begun by version 0.1.0, which wrote down nothing but the requested ids."""
        return self._adopted

    @property
    def nonce(self) -> str:
        """The run's nonce."""
        return self._order.run_nonce

    def store(self) -> None:
        """Make it the run's own, once every gate has let the invocation through; raises OSError."""
        with self._lock:
            write_order(self._run_root, self._order)

    def image_trouble(self, instance_id: str, image: Mapping[str, Any]) -> str | None:
        """Return why an attempt may not use this image, None when it may; the first one is admitted durably."""
        used = AdmittedImage.model_validate({name: image[name] for name in ("name", "id", "digests")})
        with self._lock:
            before = self._order.images.get(instance_id)
            if before is not None and before.is_same(used):
                return None
            if before is not None and not self._accept_change:
                return (
                    f"image {used.name!r} is {_shown_image(used)}, an earlier attempt of this run used "
                    f"{_shown_image(before)}: restore that one, or pass --accept-config-change"
                )
            if before is not None:
                self._accept(f"images.{instance_id}", before.document(), used.document())
            self._order.images[instance_id] = used
            write_order(self._run_root, self._order)
        return None

    def _compare(self, instance_ids: list[str], found: Configuration) -> None:
        order = self._order
        before = {IDS_KEY: order.instance_ids, **(order.admitted or {})}
        now = {IDS_KEY: instance_ids, **found}
        changed = [key for key in now if _differs(before.get(key), now[key])]
        if changed and not self._accept_change:
            raise _mismatch({key: (before[key], now[key]) for key in changed})
        for key in changed:
            self._accept(key, before[key], now[key])
        order.instance_ids = instance_ids
        # What was not known so far, as in a dry run or in a document of version 0.1.0, is adopted.
        order.admitted = {**(order.admitted or {}), **{key: value for key, value in found.items() if value is not None}}

    def _accept(self, key: str, old: Any, new: Any) -> None:
        self.accepted.append({"key": key, "old": old, "new": new})
        self._order.history.append(
            ConfigChange(key=key, old=old, new=new, invocation=self._invocation, ts_unix=time.time())
        )


def _refuse_export(run_root: Path, order: InstanceOrder) -> None:
    """An export holds the work of its source: what is solved in it would pass for that."""
    if order.exported_from is not None:
        raise PreflightRefused(
            "resume_config_mismatch",
            f"{str(run_root)!r} is an export of {order.exported_from.run_root!r}: nothing is solved in it",
            evidence={"key": "exported_from", "old": order.exported_from.run_root, "new": None},
            remedy="choose another --run-id",
        )


def _differs(old: object, new: object) -> bool:
    return old is not None and new is not None and old != new


def _mismatch(changed: Mapping[str, tuple[Any, Any]]) -> PreflightRefused:
    told = [f"{key} was {_shown(old)}, is {_shown(new)}" for key, (old, new) in changed.items()]
    more = len(told) - _SHOWN_KEYS
    return PreflightRefused(
        "resume_config_mismatch",
        "this run was admitted with another configuration: "
        + "; ".join(told[:_SHOWN_KEYS])
        + (f"; and {more} more" if more > 0 else ""),
        evidence={"changes": [{"key": key, "old": old, "new": new} for key, (old, new) in changed.items()]},
    )


def _shown(value: object) -> str:
    if isinstance(value, list):
        return f"{len(value)} ({', '.join(map(str, value[:3]))}{', ...' if len(value) > 3 else ''})"
    return f"{value:g}" if isinstance(value, float) else repr(value)[:100]


def _shown_image(image: AdmittedImage) -> str:
    return (image.digests or [image.id or "unknown"])[0]
