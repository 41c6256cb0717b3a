"""Attest the live server: what it says it runs, against the checkout it is said to run from."""

import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from obo_bench.core.refusals import OVERRIDABLE_ATTESTATION_REASONS, RuntimeAttestationRefused
from obo_bench.gateway.errors import GatewayError, GatewayUnreachable

if TYPE_CHECKING:
    from obo_bench.gateway.client import GatewayClient

OVERRIDE_ENV = "OBO_ALLOW_EVOLVED_VOLUME"
_SET = frozenset({"1", "true", "yes"})


class Attestation(BaseModel):
    """The attestation record (wire format)."""

    model_config = ConfigDict(populate_by_name=True)

    schema_: str = Field("ouroboros.benchmark.runtime_attestation.v1", alias="schema")
    """Format name."""
    checked_at_unix: float
    """Wall-clock seconds."""
    base_url: str
    """The server's address."""
    runtime_version: str | None = None
    """What the server says it runs."""
    repo_dir: str
    """The checkout."""
    repo_head: str | None = None
    """Its commit."""
    repo_version: str | None = None
    """Its VERSION."""
    expected_version: str | None = None
    """The version that the server must run: --expected-version, else the checkout's."""
    http_error: str | None = None
    """Why no identity could be had."""
    override_env: str = OVERRIDE_ENV
    """The variable that can waive a reason."""
    override_set: bool = False
    """Whether it is set."""
    override_waives: list[str] = Field(default_factory=lambda: sorted(OVERRIDABLE_ATTESTATION_REASONS))
    """What it can waive."""
    overridden: bool = False
    """Whether it was used."""
    reason: str | None = None
    """The objection, also a waived one."""
    ok: bool = False
    """Whether the run may go on."""


def override_is_set(environ: Mapping[str, str] = os.environ) -> bool:
    """Say whether the override variable means yes: `1`, `true` or `yes` in any case, and nothing else."""
    return environ.get(OVERRIDE_ENV, "").strip().lower() in _SET


def runtime_attestation(
    client: "GatewayClient",
    *,
    repo_dir: Path,
    repo_head: str | None,
    repo_version: str | None,
    expected_version: str | None = None,
) -> Attestation:
    """Ask the server who it is and decide, in the fixed order; never raises, the record says all."""
    record = Attestation(
        checked_at_unix=time.time(),
        base_url=client.base_url,
        repo_dir=str(repo_dir),
        repo_head=repo_head,
        repo_version=repo_version,
        expected_version=expected_version or repo_version,
        override_set=override_is_set(),
    )
    reachable = _identify(client, record)
    record.reason = _objection(record, reachable=reachable)
    record.overridden = record.override_set and record.reason in OVERRIDABLE_ATTESTATION_REASONS
    record.ok = record.reason is None or record.overridden
    return record


def require_attested(record: Attestation) -> None:
    """Raise RuntimeAttestationRefused unless the record lets the run go on."""
    if record.ok or record.reason is None:
        return
    messages = {
        "runtime_unreachable": f"no server answers at {record.base_url!r}: {record.http_error}",
        "runtime_version_absent": f"what answers at {record.base_url!r} does not say which version it runs"
        + (f": {record.http_error}" if record.http_error else ""),
        "commit_unavailable": f"the checkout {record.repo_dir!r} has no readable commit or VERSION to compare with",
        "runtime_skew": f"the server at {record.base_url!r} runs {record.runtime_version}, "
        f"expected is {record.expected_version}",
    }
    raise RuntimeAttestationRefused(record.reason, messages[record.reason], evidence=record.model_dump(by_alias=True))


def _identify(client: "GatewayClient", record: Attestation) -> bool:
    try:
        record.runtime_version = client.health().runtime_version or None
    except GatewayUnreachable as error:
        record.http_error = str(error)
        return False
    except GatewayError as error:
        record.http_error = str(error)
    return True


def _objection(record: Attestation, *, reachable: bool) -> str | None:
    if not reachable:
        return "runtime_unreachable"
    if record.runtime_version is None:
        return "runtime_version_absent"
    if record.repo_head is None or record.repo_version is None:
        return "commit_unavailable"
    return None if record.runtime_version == record.expected_version else "runtime_skew"
