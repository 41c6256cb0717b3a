"""obo-bench runs the official ProgramBench benchmark through a live Ouroboros server, and can prove what it ran.

The public names are resolved on first use, so that importing the package costs nothing
and a launcher can use `write_json` with the standard library alone.
"""

from importlib import import_module

TYPE_CHECKING = False
"""As in `typing`, which takes longer to load than all that a process does before it heeds signals (early.py)."""

if TYPE_CHECKING:
    from obo_bench.core.admission import SeedDemands as SeedDemands
    from obo_bench.core.files import write_json as write_json
    from obo_bench.core.refusals import CAMPAIGN_FATAL_PROVENANCE_REASONS as CAMPAIGN_FATAL_PROVENANCE_REASONS
    from obo_bench.core.refusals import OVERRIDABLE_ATTESTATION_REASONS as OVERRIDABLE_ATTESTATION_REASONS
    from obo_bench.core.refusals import BenchmarkAdmissionRefused as BenchmarkAdmissionRefused
    from obo_bench.core.refusals import Refusal as Refusal
    from obo_bench.core.refusals import RuntimeAttestationRefused as RuntimeAttestationRefused
    from obo_bench.core.refusals import SeedShapeRefused as SeedShapeRefused
    from obo_bench.core.refusals import UsageError as UsageError
    from obo_bench.core.seed.lineage import commit_lineage_ok as commit_lineage_ok
    from obo_bench.core.session import admit_benchmark_run as admit_benchmark_run
    from obo_bench.core.session import finalize_run_manifest as finalize_run_manifest
    from obo_bench.gateway.attestation import runtime_attestation as runtime_attestation
    from obo_bench.gateway.openrouter import openrouter_key_remaining as openrouter_key_remaining
    from obo_bench.launch.benchmark_run import benchmark_run as benchmark_run
    from obo_bench.launch.helper.main import run_main as run_main
    from obo_bench.launch.helper.run import BenchmarkRun as BenchmarkRun

__version__ = "0.1.0"

_PUBLIC = {
    "BenchmarkAdmissionRefused": "obo_bench.core.refusals",
    "BenchmarkRun": "obo_bench.launch.helper.run",
    "CAMPAIGN_FATAL_PROVENANCE_REASONS": "obo_bench.core.refusals",
    "OVERRIDABLE_ATTESTATION_REASONS": "obo_bench.core.refusals",
    "Refusal": "obo_bench.core.refusals",
    "RuntimeAttestationRefused": "obo_bench.core.refusals",
    "SeedDemands": "obo_bench.core.admission",
    "SeedShapeRefused": "obo_bench.core.refusals",
    "UsageError": "obo_bench.core.refusals",
    "admit_benchmark_run": "obo_bench.core.session",
    "benchmark_run": "obo_bench.launch.benchmark_run",
    "commit_lineage_ok": "obo_bench.core.seed.lineage",
    "finalize_run_manifest": "obo_bench.core.session",
    "openrouter_key_remaining": "obo_bench.gateway.openrouter",
    "run_main": "obo_bench.launch.helper.main",
    "runtime_attestation": "obo_bench.gateway.attestation",
    "write_json": "obo_bench.core.files",
}

__all__ = ["__version__", *_PUBLIC]  # noqa: PLE0604  # the names are the table's keys


def __getattr__(name: str) -> object:
    """Import the module that holds a public name when the name is first used."""
    if name not in _PUBLIC:
        raise AttributeError(f"module 'obo_bench' has no attribute {name!r}")
    return getattr(import_module(_PUBLIC[name]), name)
