"""The wire formats by the names that `obo-bench schema` knows them under."""

from collections.abc import Mapping

from obo_bench.core.envelope import ResultEnvelope
from obo_bench.core.host_load import LoadRecord
from obo_bench.core.ledger import Row
from obo_bench.core.manifest import RunManifest
from obo_bench.core.wire_format import WireModel
from obo_bench.gateway.attestation import Attestation
from obo_bench.gateway.checkpoint import TaskCheckpoint
from obo_bench.programbench.admission.order import InstanceOrder
from obo_bench.programbench.attest_record import AttestRecord
from obo_bench.programbench.evaluation.eval_files import EvalProvenance
from obo_bench.programbench.evaluation.grade_summary import GradeSummary
from obo_bench.programbench.exporting.export_manifest import ExportManifest
from obo_bench.programbench.gating.gate_result import GateResult
from obo_bench.programbench.leaderboard.result import LeaderboardResult
from obo_bench.programbench.packaging.record import SubmissionRecord

FORMATS: Mapping[str, type[WireModel]] = {
    "attest": AttestRecord,
    "attestation": Attestation,
    "eval-provenance": EvalProvenance,
    "export-manifest": ExportManifest,
    "gate-result": GateResult,
    "grade-summary": GradeSummary,
    "host-load": LoadRecord,
    "instance-order": InstanceOrder,
    "leaderboard": LeaderboardResult,
    "ledger-row": Row,
    "manifest": RunManifest,
    "result": ResultEnvelope,
    "submission": SubmissionRecord,
    "task-checkpoint": TaskCheckpoint,
}
"""Every document that other tools may read, in the order of the names."""
