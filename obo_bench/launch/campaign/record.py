"""`campaign.json` and `campaign.toml` in the root of a campaign: what was admitted, for whoever resumes it."""

from pathlib import Path
from typing import Any, Literal

from pydantic import Field

from obo_bench.core.documents import UnreadableDocument, read_document
from obo_bench.core.files import make_private_directory, sha256_file, write_bytes, write_json
from obo_bench.core.redact import process_redactor
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.wire_format import WireModel

RECORD_NAME = "campaign.json"
"""Name of the record in a campaign's root."""
COPY_NAME = "campaign.toml"
"""Name of the copy of its file."""
EARLIER = "earlier"
"""Directory of earlier copies, each under its hash."""


class CampaignRecord(WireModel):
    """What a campaign was admitted with."""

    schema_: Literal["obo_bench.campaign.v1"] = Field("obo_bench.campaign.v1", alias="schema")
    """Format name."""
    file: str
    """The campaign file, absolute; paths in it are relative to its directory."""
    sha256: str
    """Hash of the copy."""
    runs_root: str
    """Where its runs are kept."""
    shared: dict[str, Any] = Field(default_factory=dict)
    """Options that all steps are given."""
    runtime_version: str | None = None
    """Version of the server that it was admitted with."""
    max_cost_usd: float | None = None
    """The ceiling that was given last on a command line, in USD; null when the file's counts."""


def read_record(root: Path) -> CampaignRecord | None:
    """Return the record of a campaign, None when there is none; raises PreflightRefused for a damaged one."""
    path = root / RECORD_NAME
    if not path.exists():
        return None
    try:
        return read_document(CampaignRecord, path)
    except UnreadableDocument as error:
        raise PreflightRefused(
            "campaign_invalid",
            str(error),
            evidence={"file": str(path)},
            remedy="restore the file, or start the campaign under another --run-id",
        ) from error


def write_record(root: Path, record: CampaignRecord, data: bytes | None) -> None:
    """Store the record durably; `data` replaces the copy of the campaign file, the earlier one is kept."""
    copy = root / COPY_NAME
    if data is not None:
        if copy.exists():
            make_private_directory(root / EARLIER)
            write_bytes(root / EARLIER / f"{sha256_file(copy)}.toml", copy.read_bytes())
        write_bytes(copy, data)
    write_json(root / RECORD_NAME, process_redactor().document(record.document()))
