"""The wire formats by the names that `obo-bench schema` knows them under; importing this imports none of them.

The name of a command is the format of the `result` that it answers with.
"""

from collections.abc import Mapping

PLACES: Mapping[str, str] = {
    "attest": "programbench.attest_record:AttestRecord",
    "attestation": "gateway.attestation:Attestation",
    "cancel": "programbench.leftovers.answers:CancelAnswer",
    "doctor": "programbench.doctor.report:DoctorReport",
    "eval": "programbench.answers:EvalAnswer",
    "eval-provenance": "programbench.evaluation.eval_files:EvalProvenance",
    "explain": "core.explanation:Explanation",
    "export": "programbench.exporting.export_manifest:ExportManifest",
    "export-manifest": "programbench.exporting.export_manifest:ExportManifest",
    "gate": "programbench.answers:GateAnswer",
    "gate-result": "programbench.gating.gate_result:GateResult",
    "gate-tasks": "programbench.answers:GateTasksAnswer",
    "gc": "programbench.leftovers.answers:GcAnswer",
    "grade-summary": "programbench.evaluation.grade_summary:GradeSummary",
    "host-load": "core.host_load:LoadRecord",
    "instance-order": "programbench.admission.order:InstanceOrder",
    "leaderboard": "programbench.leaderboard.result:LeaderboardResult",
    "ledger-row": "core.ledger:Row",
    "manifest": "core.manifest:RunManifest",
    "prepare": "programbench.answers:PrepareAnswer",
    "result": "core.envelope:ResultEnvelope",
    "run": "programbench.answers:RunAnswer",
    "settings": "programbench.server_profile.change:SettingsChange",
    "submission": "programbench.packaging.record:SubmissionRecord",
    "task-checkpoint": "gateway.checkpoint:TaskCheckpoint",
}
"""Where each format is defined: `module:class` below `obo_bench`."""
