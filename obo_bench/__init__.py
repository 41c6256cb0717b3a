"""obo-bench runs the official ProgramBench benchmark through a live Ouroboros server, and can prove what it ran.

The public names are resolved on first use, so that importing the package costs nothing
and a launcher can use `write_json` with the standard library alone.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_PUBLIC = {
    "BenchmarkAdmissionRefused": "obo_bench.core.refusals",
    "CAMPAIGN_FATAL_PROVENANCE_REASONS": "obo_bench.core.refusals",
    "OVERRIDABLE_ATTESTATION_REASONS": "obo_bench.core.refusals",
    "RuntimeAttestationRefused": "obo_bench.core.refusals",
    "SeedShapeRefused": "obo_bench.core.refusals",
    "admit_benchmark_run": "obo_bench.core.session",
    "commit_lineage_ok": "obo_bench.core.seed.lineage",
    "finalize_run_manifest": "obo_bench.core.session",
    "openrouter_key_remaining": "obo_bench.gateway.openrouter",
    "runtime_attestation": "obo_bench.gateway.attestation",
    "write_json": "obo_bench.core.files",
}

__all__ = ["__version__", *_PUBLIC]  # noqa: PLE0604  # the names are the table's keys


def __getattr__(name: str) -> Any:
    """Import the module that holds a public name when the name is first used."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'obo_bench' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
