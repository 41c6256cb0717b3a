"""What the record says on how the results came about: per instance, and for the run as a whole."""

from collections.abc import Sequence

from obo_bench.programbench.leaderboard.image_checks import IMAGE_CHECKS
from obo_bench.programbench.leaderboard.result import Attestation, Support
from obo_bench.programbench.leaderboard.run_checks import RUN_CHECKS
from obo_bench.programbench.leaderboard.selection import Graded
from obo_bench.programbench.leaderboard.solve_checks import SOLVE_CHECKS
from obo_bench.programbench.leaderboard.source import RunRecord
from obo_bench.programbench.leaderboard.subject import Subject

TO_CONFIRM = (
    (
        "Solutions came only from observing the program and reading its bundled documentation. The record shows what"
        " was withheld from the agent, not what it did with what it had."
    ),
    "The model's training data: whether it has seen these programs, their sources or the benchmark's tests.",
    "The prompts, the agent and its settings were not tuned on the hidden tests or on earlier scores of these tasks.",
    "The model behind its name: the record holds the name that was asked for, not what the provider served.",
    "Where else the server could reach: its own process talks to the model's provider, outside of the container.",
    "What the server's data directory held before the run (memory, skills, earlier tasks).",
    "No other run of these tasks was made and dropped: the record knows this run only.",
    (
        "Nobody edited workspaces, archives or records by hand. Hashes tie archives, results and ledger together, but"
        " whoever holds all files can make all of them anew."
    ),
    "The images hold neither tests nor sources: that is the benchmark's own promise for its cleanroom images.",
    "`submission.yaml`: every `TODO`, with `is_os_model`, `is_os_scaffold` and `type`.",
    (
        "Trajectories (`traj.json`): they are not here. `_record` has the server's task records, which hold a summary"
        " of the tool calls; the full trajectories are in the server's data directory."
    ),
    (
        "Privacy: `_record` names host paths, addresses and settings. Secrets that were known are masked; read it"
        " before you publish."
    ),
    "Consent to re-evaluation, and the other boxes of the official lists in this file: they are yours to tick.",
)
"""What no record can show: a human has to answer for it."""


def attest(record: RunRecord, graded: Sequence[Graded]) -> list[Attestation]:
    """Return every statement with its support, its exceptions and its proof."""
    subjects = [Subject.of(record, one) for one in graded]
    found = []
    for check in (*SOLVE_CHECKS, *IMAGE_CHECKS):
        exceptions = [f"{s.graded.instance_id}: {why}" for s in subjects if (why := check.trouble(s))]
        found.append(_attestation(check.name, check.statement, exceptions, len(subjects), check.proof))
    for run_check in RUN_CHECKS:
        objections = run_check.objections(record, graded)
        # A run either is what the statement says or is not; only its instances can be so in part.
        found.append(_attestation(run_check.name, run_check.statement, objections, 1, run_check.proof))
    return found


def _attestation(name: str, statement: str, exceptions: list[str], of: int, proof: Sequence[str]) -> Attestation:
    support: Support = "limited" if exceptions else "supported"
    if len(exceptions) >= of:
        support = "unsupported"
    return Attestation(name=name, support=support, statement=statement, exceptions=exceptions, proof=list(proof))
