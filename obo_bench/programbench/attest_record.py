"""What `attest` found, as one document (wire format): it is the manifest's own words, so the two never disagree."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from obo_bench.core.manifest import Lineage, RefusalRecord, SeedGate
from obo_bench.core.wire_format import WireModel

_SOURCE = ("repo_dir", "version", "head", "branch", "describe", "dirty", "contents_read", "ignored_importable_count")


class Finding(WireModel):
    """Something that is reported, and refused only where it was asked for."""

    reason: str
    """One of the typed reasons."""
    message: str
    """What was found."""
    remedy: str
    """What to do about it."""


class ReadinessReport(WireModel):
    """Whether the server can take a task now."""

    ready: bool | None = None
    """Its state says so; null when it did not answer."""
    workers_alive: int | None = None
    """Workers that can take a task."""
    workers_total: int | None = None
    """Workers configured."""
    findings: list[Finding] = Field(default_factory=list)
    """What stands against it."""


class SettingsReport(WireModel):
    """The settings file and what the live server says of its settings; keys only as present or absent."""

    path: str
    """Where the file was looked for."""
    named: bool
    """Whether the operator named the place."""
    present: bool = False
    """Whether there is one that can be read."""
    file_model: str | None = None
    """The solving model in the file."""
    live_model: str | None = None
    """The solving model of the live server."""
    live: dict[str, Any] | None = None
    """The live server's modes and bounds; null when it did not show them."""
    bind_port: int | None = None
    """The port that the server says it listens on."""
    findings: list[Finding] = Field(default_factory=list)
    """What does not fit."""


class AttestRecord(WireModel):
    """The record of one attestation."""

    schema_: Literal["obo_bench.attest.v1"] = Field("obo_bench.attest.v1", alias="schema")
    """Format name."""
    ok: bool = False
    """Whether nothing was refused."""
    refusal: RefusalRecord | None = None
    """Why it was refused; what comes after it in the order of the gates was not looked at."""
    seed_gate: SeedGate = Field(default_factory=SeedGate)
    """Verdict of the clean-seed gate."""
    source: dict[str, Any] = Field(default_factory=dict)
    """Identity of the checkout, in short."""
    lineage: Lineage | None = None
    """The line of descent; null when nobody asked and no stamp was found."""
    attestation: dict[str, Any] | None = None
    """The runtime attestation record; null when it was not come to."""
    readiness: ReadinessReport | None = None
    """Whether the server can take tasks; null when it was not come to."""
    settings: SettingsReport | None = None
    """The settings; null when they were not come to."""


def record_of(manifest: Mapping[str, Any]) -> AttestRecord:
    """Return the record that a manifest of `attest` holds."""
    extra, harness = manifest["extra"], manifest["harness"]
    return AttestRecord(
        ok=extra["refusal"] is None and extra["error"] is None,
        refusal=extra["refusal"],
        seed_gate=manifest["seed_gate"],
        source={name: manifest["source"][name] for name in _SOURCE},
        lineage=extra["lineage"],
        attestation=extra["runtime_attestation"],
        readiness=_with_findings(harness, "readiness"),
        settings=_with_findings(harness, "settings"),
    )


def _with_findings(harness: Mapping[str, Any], check: str) -> dict[str, Any] | None:
    findings = (harness.get("findings") or {}).get(check)
    if check not in harness and not findings:
        return None
    return {**harness.get(check, {}), "findings": findings or []}
