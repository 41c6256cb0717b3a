"""Makes the evaluator's request of what was asked for, what the run holds, and what the engine has."""

import hashlib
import os
from collections.abc import Mapping

from obo_bench.core.reporter import Reporter
from obo_bench.core.session import Session
from obo_bench.engine.cleanroom_spec import NONCE_LABEL, RUN_LABEL
from obo_bench.engine.leftovers import EVALUATOR, ROLE_LABEL
from obo_bench.programbench.evaluating.engine import EvaluationEngine
from obo_bench.programbench.evaluating.options import EvalOptions
from obo_bench.programbench.evaluating.submissions import Submissions
from obo_bench.programbench.evaluation.accounts import read_accounts
from obo_bench.programbench.evaluation.evaluation_request import EvaluationRequest
from obo_bench.programbench.evaluation.evaluator_settings import container_cpus
from obo_bench.programbench.image_pins import read_pins


def evaluation_request(
    session: Session,
    options: EvalOptions,
    found: Submissions,
    selected: tuple[str, ...],
    engine: EvaluationEngine,
    reporter: Reporter,
) -> EvaluationRequest:
    """Return the request, and put its limits and pins into the manifest.

    Raises PreflightRefused for pins or numbers of the environment that cannot be used, OSError for the ledger.
    """
    pins = read_pins(options.pin_digests) if options.pin_digests else None
    if pins is not None:
        session.manifest.harness["pin_digests"] = pins.facts()
    cpus = container_cpus(options.docker_cpus, engine.environ, engine.cpus)
    session.manifest.harness["limits"]["docker_cpus"] = cpus
    _tell_limits(options, cpus, engine.cpus, reporter)
    return EvaluationRequest(
        run_root=options.run_root,
        requested_ids=found.requested,
        submissions=found.hashes,
        docker_cpus=cpus,
        timeout_sec=options.instance_limit_sec,
        environ=engine.environ,
        labels=_labels(session, found),
        invocation=session.invocation,
        workers=options.workers,
        accounts=read_accounts(options.run_root, found.requested),
        branch_workers=options.branch_workers,
        selected_ids=frozenset(selected),
        force=options.force,
        pins=pins,
    )


def _tell_limits(options: EvalOptions, cpus: int, engine_cpus: int, reporter: Reporter) -> None:
    if options.docker_cpus is not None and options.docker_cpus > cpus:
        reporter.event(f"--docker-cpus {options.docker_cpus} is lowered to the engine's {cpus}")
    if (at_once := options.workers * options.branch_workers) > 1 and at_once * cpus > engine_cpus:
        reporter.event(
            f"{at_once} containers with {cpus} core(s) each want more than the engine's {engine_cpus}: they slow each "
            "other down, and a test that then takes too long counts as failed"
        )


def _labels(session: Session, found: Submissions) -> Mapping[str, str]:
    """Return the labels of the evaluation's containers and images; a plain directory has its path for a nonce."""
    path = hashlib.sha256(os.fsencode(session.run_root.resolve())).hexdigest()[:16]
    return {RUN_LABEL: session.run_root.name, NONCE_LABEL: found.nonce or path, ROLE_LABEL: EVALUATOR}
