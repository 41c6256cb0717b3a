"""`instance_order.json`: which instances a run was admitted with, under which configuration, on which images.

In an export it says where the submissions come from instead.
"""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from obo_bench.core.documents import UnreadableDocument, read_document
from obo_bench.core.files import write_json
from obo_bench.core.redact import process_redactor
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.wire_format import LaterWord, WireModel

ORDER_NAME = "instance_order.json"
Configuration = dict[str, str | float | list[str] | None]
"""Values by dotted key; null where a value was not known, as in a dry run."""


class ConfigChange(WireModel):
    """One accepted difference from the admitted configuration."""

    key: str
    """Which value."""
    old: Any = None
    """As admitted."""
    new: Any = None
    """As accepted instead."""
    invocation: str = ""
    """The invocation that was given --accept-config-change."""
    ts_unix: float = 0.0
    """Wall-clock seconds."""


class AdmittedImage(WireModel):
    """The image that an instance's attempts have used."""

    name: str = ""
    """As asked for."""
    id: str = ""
    """The engine's id, a hash of the configuration."""
    digests: list[str] = Field(default_factory=list)
    """Registry digests; empty for an image that was built here."""

    def is_same(self, other: "AdmittedImage") -> bool:
        """Whether both are one image; engines may know one by different ids, but not under different digests."""
        return self.id == other.id or bool(_hashes(self) & _hashes(other))


class ExportedFrom(WireModel):
    """Where an export has its submissions from."""

    run_root: str
    """The source's directory, links resolved."""
    command: str = ""
    """The recorded command that made the source; empty, as the next two, where it has no manifest."""
    invocation: str = ""
    """The invocation of its manifest."""
    manifest_sha256: str = ""
    """SHA-256 of its manifest, as it was at the time of the export."""
    run_nonce: str = ""
    """Its nonce; empty for a directory that is no run."""
    unverified_source: bool = False
    """Whether it has no ledger, so that nothing vouches for its archives."""
    source_live: bool | None = None
    """Whether a process was at work on it; null when that could not be told."""
    earlier: list[dict[str, Any]] = Field(default_factory=list)
    """Where the source, an export itself, has its submissions from, the nearest first; objects of this form."""

    def is_same_source(self, other: "ExportedFrom") -> bool:
        """Whether both are one source: one run, wherever it lies, or one directory."""
        if self.run_nonce or other.run_nonce:
            return self.run_nonce == other.run_nonce
        return self.run_root == other.run_root


class InstanceOrder(WireModel):
    """The whole document."""

    schema_: Literal["obo_bench.instance_order.v1"] | LaterWord = Field("obo_bench.instance_order.v1", alias="schema")
    """Format name."""
    run_nonce: str
    """Part of every task id, container name and label of the run."""
    instance_ids: list[str]
    """The requested instances, in order."""
    admitted: Configuration | None = None
    """What every invocation must repeat; null in documents of version 0.1.0."""
    images: dict[str, AdmittedImage] = Field(default_factory=dict)
    """The image of each instance, from its first attempt on."""
    history: list[ConfigChange] = Field(default_factory=list)
    """What --accept-config-change has let through."""
    exported_from: ExportedFrom | None = None
    """Where the submissions come from, in an export; null in a run that solves."""


def read_order(run_root: Path) -> InstanceOrder | None:
    """Return what the run was admitted with, None for a new run.

    Raises PreflightRefused `resume_config_mismatch` for a document that is there but cannot be read: without its nonce
    the run's tasks and containers cannot be told from others.
    """
    path = run_root / ORDER_NAME
    if not path.is_symlink() and not path.exists():
        return None
    try:
        return read_document(InstanceOrder, path)
    except UnreadableDocument as error:
        raise PreflightRefused(
            "resume_config_mismatch",
            f"what this run was admitted with cannot be read: {error}",
            evidence={"key": ORDER_NAME, "problem": error.problem},
            remedy="restore the file from a copy, or choose another --run-id",
        ) from error


def write_order(run_root: Path, order: InstanceOrder) -> None:
    """Store the document durably; raises OSError."""
    write_json(run_root / ORDER_NAME, process_redactor().document(order.document()))


def _hashes(image: AdmittedImage) -> set[str]:
    return {digest.rpartition("@")[2] for digest in image.digests}
