"""Attest the live server: what it says it runs, against the checkout it is said to run from."""

import os
import re
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from obo_bench.core.refusals import OVERRIDABLE_ATTESTATION_REASONS, Objection
from obo_bench.core.wire_format import WireModel
from obo_bench.gateway.errors import GatewayError, GatewayUnreachable

if TYPE_CHECKING:
    from obo_bench.gateway.client import GatewayClient

OVERRIDE_ENV = "OBO_ALLOW_EVOLVED_VOLUME"
"""The one variable that waives anything here."""
_SET = ("1", "true", "yes")
_HARMLESS = re.compile(r"[A-Za-z0-9._ -]{0,16}")
"""Values that are shown; anything else may be a secret in the wrong place."""


class Attestation(WireModel):
    """The attestation record (wire format)."""

    schema_: Literal["ouroboros.benchmark.runtime_attestation.v1"] = Field(
        "ouroboros.benchmark.runtime_attestation.v1", alias="schema"
    )
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
    _objection: Objection | None = None

    @property
    def objection(self) -> Objection | None:
        """What was held against the server, also where it was waived; unknown of a record read from disk."""
        return self._objection

    def weigh(self, objection: Objection | None) -> None:
        """Take the verdict: only what the override waives is let through, and the record says so."""
        self._objection = objection
        self.reason = objection.reason if objection else None
        self.overridden = self.override_set and self.reason in OVERRIDABLE_ATTESTATION_REASONS
        self.ok = objection is None or self.overridden


def override_is_set(environ: Mapping[str, str] = os.environ) -> bool:
    """Say whether the override variable means yes: `1`, `true` or `yes` in any case, and nothing else."""
    return environ.get(OVERRIDE_ENV, "").lower() in _SET


def explain_override(environ: Mapping[str, str] = os.environ) -> dict[str, Any]:
    """Return what the override variable means here and now, so that no script has to judge its value."""
    value = environ.get(OVERRIDE_ENV)
    return {
        "variable": OVERRIDE_ENV,
        "value": value if value is not None and _HARMLESS.fullmatch(value) else None,
        "set": override_is_set(environ),
        "waives": sorted(OVERRIDABLE_ATTESTATION_REASONS),
        "meaning": f"{', '.join(_SET[:-1])} or {_SET[-1]} (in any case) means set; everything else means not set",
    }


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
    record.weigh(_objection(record, reachable=_identify(client, record)))
    return record


def require_attested(record: Attestation) -> None:
    """Raise RuntimeAttestationRefused unless the record, fresh from `runtime_attestation`, lets the run go on."""
    if record.ok:
        return
    if record.objection is None:
        raise ValueError("a record read from disk proves nothing about the server that is live now")
    raise replace(record.objection, evidence=record.document()).refusal()


def _identify(client: "GatewayClient", record: Attestation) -> bool:
    """Fill in what the server says it runs; False when nobody answers."""
    try:
        health = client.health()
    except GatewayUnreachable as error:
        record.http_error = str(error)
        return False
    except GatewayError as error:
        record.http_error = str(error)
        return True
    record.runtime_version = health.claimed_version
    if health.runtime_version is not None and health.claimed_version is None:
        record.http_error = f"the runtime_version {health.runtime_version[:40]!r} is no version"
    return True


def _objection(record: Attestation, *, reachable: bool) -> Objection | None:
    """Return the first objection in the fixed order."""
    server, why = f"{record.base_url!r}", f": {record.http_error}" if record.http_error else ""
    if not reachable:
        return Objection("runtime_unreachable", f"no server answers at {server}{why}")
    if record.runtime_version is None:
        return Objection("runtime_version_absent", f"what answers at {server} does not say which version it runs{why}")
    if record.repo_head is None or record.repo_version is None:
        return Objection(
            "commit_unavailable",
            f"the checkout {record.repo_dir!r} has no readable commit or VERSION to compare with",
        )
    if record.runtime_version != record.expected_version:
        return Objection(
            "runtime_skew",
            f"the server at {server} runs {record.runtime_version}, expected is {record.expected_version}",
        )
    return None
