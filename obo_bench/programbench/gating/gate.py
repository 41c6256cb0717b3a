"""`gate`: compare a graded run with a reference on the calibration tasks, before a campaign is paid for.

Writes `gate/gate_result.json` in the run; an earlier one is kept under `gate/earlier/`.
"""

import time
from dataclasses import asdict
from pathlib import Path

from obo_bench.core.admission import AdmissionRequest, SeedDemands
from obo_bench.core.files import make_private_directory, sha256_file, write_bytes, write_json
from obo_bench.core.harness import base_harness
from obo_bench.core.refusals import ExitCode
from obo_bench.core.reporter import Reporter
from obo_bench.core.session import Session, benchmark_session
from obo_bench.core.showing import Showing
from obo_bench.programbench import BENCHMARK
from obo_bench.programbench.gating.comparison import compare
from obo_bench.programbench.gating.decision import decide
from obo_bench.programbench.gating.evaluation_load import evaluation_load
from obo_bench.programbench.gating.gate_result import (
    GATE_RESULT_NAME,
    GateInput,
    GateResult,
    TaskDraw,
)
from obo_bench.programbench.gating.gated_run import GatedRun, read_gated_run
from obo_bench.programbench.gating.gated_tasks import Board, board, notices
from obo_bench.programbench.gating.official_tasks import official_tasks
from obo_bench.programbench.gating.options import GateOptions
from obo_bench.programbench.gating.score_source import ScoreReader
from obo_bench.programbench.gating.scores import ScoreTable, unreadable
from obo_bench.programbench.gating.task_list import read_tasks


def run_gate(options: GateOptions, reporter: Reporter) -> tuple[GateResult, Path]:
    """Judge a run; return the result and where it is written. The exit status is concluded with the seam.

    Raises the typed refusal of an input that cannot be used.
    """
    with benchmark_session(admission(options)) as session, Showing(session, reporter):
        found = _board(session, options)
        session.gates_passed()
        result = _judge(session, options, found)
        path = _write(session, options.run_root, result)
        _conclude(session, result)
    return result, path


def admission(options: GateOptions) -> AdmissionRequest:
    """Return all that the arguments say, for the first manifest."""
    asked = {name: str(path) if path is not None else None for name, path in asdict(options.tasks).items()}
    return AdmissionRequest(
        benchmark=BENCHMARK,
        command="programbench gate",
        run_root=options.run_root,
        repo_dir=options.repo_dir,
        settings_path=options.settings_path,
        seed=SeedDemands(gated=False),
        harness={
            **base_harness(),
            "run": str(options.run),
            "reference": options.reference,
            "baseline": options.baseline,
            "tasks": asked,
            "min_pairs": options.min_pairs,
        },
    )


def _board(session: Session, options: GateOptions) -> Board:
    run = read_gated_run(options.run)
    official = official_tasks()
    tasks = read_tasks(options.tasks, official.instances)
    session.manifest.requested_task_ids = list(tasks.groups)
    session.manifest.requested_count = len(tasks.groups)
    session.manifest.dataset = f"programbench {official.version}"
    reader = ScoreReader(official, list(tasks.groups), options.runs_root)
    reference = reader.read("reference", options.reference)
    _refuse_itself(run, reference)
    baseline = reader.read("baseline", options.baseline) if options.baseline is not None else None
    if baseline is not None:
        _refuse_itself(run, baseline)
    return board(tasks, run, reference, baseline)


def _refuse_itself(run: GatedRun, other: ScoreTable) -> None:
    if other.source.sha256 in {source.sha256 for source in run.inputs}:
        raise unreadable(other.source.role, other.source.path, "these are the grades of the run itself")


def _judge(session: Session, options: GateOptions, found: Board) -> GateResult:
    rows, run = found.rows(), found.run
    reference = compare(found.pairs(found.reference))
    baseline = compare(found.pairs(found.baseline)) if found.baseline else None
    load = evaluation_load(run.root, [row.instance_id for row in rows if row.evaluator_version is not None])
    verdict, reasons = decide(rows, options.min_pairs, reference, baseline, load, run.root)
    return GateResult(
        invocation=session.invocation,
        created_at_unix=time.time(),
        run_id=run.root.name,
        run_root=str(run.root),
        run_invocation=str(run.manifest.get("invocation") or ""),
        run_outcome=run.outcome,
        verdict=verdict,
        reasons=reasons,
        notices=notices(found, rows),
        min_pairs=options.min_pairs,
        draw=TaskDraw(**asdict(found.tasks.draw)) if found.tasks.draw else None,
        reference=reference,
        baseline=baseline,
        load=load,
        inputs=_inputs(found),
        tasks=rows,
    )


def _inputs(found: Board) -> list[GateInput]:
    others = [table.source for table in (found.reference, found.baseline) if table is not None]
    return [GateInput(**asdict(source)) for source in (*found.run.inputs, *others, *found.tasks.inputs)]


def _write(session: Session, directory: Path, result: GateResult) -> Path:
    """Write the result; an earlier one is kept under the hash of its bytes."""
    path = directory / GATE_RESULT_NAME
    if path.exists():
        make_private_directory(directory / "earlier")
        write_bytes(directory / "earlier" / f"{sha256_file(path)}.json", path.read_bytes())
    write_json(path, session.redactor.document(result.document()))
    session.manifest.output_paths["gate_result"] = str(path)
    return path


def _conclude(session: Session, result: GateResult) -> None:
    if result.verdict == "NO-GO":
        session.conclude("gate_no_go", ExitCode.FAILED)
    elif result.verdict == "INCONCLUSIVE":
        session.conclude("gate_inconclusive", ExitCode.EVALUATION)
