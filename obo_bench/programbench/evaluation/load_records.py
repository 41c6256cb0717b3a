"""How busy the host was during an evaluation, as the evaluation itself recorded it."""

from pathlib import Path

from obo_bench.core.documents import UnreadableDocument, read_document
from obo_bench.core.host_load import LOAD_RECORD_NAME, LoadRecord


def load_path(invocation: str) -> Path:
    """Return where, below the run root, the evaluation of an invocation keeps its record."""
    return Path("eval", Path(invocation).name, LOAD_RECORD_NAME)


def read_load(run_root: Path, invocation: str) -> LoadRecord | None:
    """Return the record, None where there is none that can be read."""
    try:
        return read_document(LoadRecord, run_root / load_path(invocation))
    except UnreadableDocument:
        return None
