"""How busy the host was while the compared grades were made: each grade's proof names the evaluation that made it."""

from collections.abc import Iterable
from pathlib import Path

from obo_bench.core.host_load import sample_host_load
from obo_bench.programbench.evaluation.eval_files import read_provenance
from obo_bench.programbench.evaluation.load_records import read_load
from obo_bench.programbench.gating.gate_result import GateLoad, LoadStatus


def evaluation_load(run_root: Path, graded_ids: Iterable[str]) -> GateLoad:
    """Return the load of the evaluations that graded these tasks; an evaluation without a record is unknown."""
    proofs = [read_provenance(run_root, iid) for iid in graded_ids]
    records = {proof.invocation: read_load(run_root, proof.invocation) for proof in proofs if proof is not None}
    known = {invocation: record for invocation, record in records.items() if record is not None}
    status: LoadStatus = "ok" if proofs and None not in proofs and len(known) == len(records) else "unknown"
    if any(record.overload() for record in known.values()):
        status = "overloaded"
    return GateLoad(
        status=status,
        evaluations=known,
        unrecorded=[invocation for invocation in records if invocation not in known],
        at_gate=sample_host_load(),
    )
