"""The gates of `prepare`, in the order of `run`'s; after the last one the invocation owns the instance's directory."""

import os
import secrets
from importlib.metadata import version

from obo_bench.core.ledger import Ledger
from obo_bench.core.reporter import Reporter
from obo_bench.core.session import Session
from obo_bench.engine.daemon import Engine, connect_engine
from obo_bench.gateway.admission.declared import declare
from obo_bench.programbench.context import evaluator_environment
from obo_bench.programbench.evaluation.evaluator import preflight_evaluator
from obo_bench.programbench.instances import Instance, load_instances, programbench_version
from obo_bench.programbench.preparing.instruction_file import read_instruction
from obo_bench.programbench.preparing.options import PrepareOptions
from obo_bench.programbench.preparing.outputs import open_ledger_output, open_manifest_output
from obo_bench.programbench.preparing.preparation import Preparation
from obo_bench.programbench.preparing.run_claim import refuse_foreign_run
from obo_bench.programbench.selection import Selector, select


def pass_gates(session: Session, options: PrepareOptions, reporter: Reporter) -> Preparation:
    """Return what the steps work with, everything recorded; raises the typed refusal of the first gate that objects."""
    # No model solves here: the slots of the settings are recorded for the reader, and decide nothing.
    declare(session, options.repo_dir, options.settings_path, named=options.settings_named, solve_model=None)
    instance = _instance(session, options)
    instruction = read_instruction(options.instruction_file)
    refuse_foreign_run(options)
    also = open_ledger_output(options)
    open_manifest_output(session, options)
    engine = connect_engine()
    try:
        nonce = _engine_facts(session, options, engine)
        ledger = Ledger(options.run, session.invocation, session.redactor, also=also)
        notices = ledger.take_over()
        session.gates_passed()
    except BaseException:
        engine.close()
        raise
    preparation = Preparation(session, options, reporter, engine, instance, instruction, ledger, nonce)
    for notice in notices:
        preparation.note(notice)
    return preparation


def _instance(session: Session, options: PrepareOptions) -> Instance:
    installed = programbench_version()
    session.manifest.harness["programbench"] = installed
    session.manifest.dataset = f"programbench {installed}"
    return select(load_instances(), Selector(instance_ids=(options.instance_id,)))[0]


def _engine_facts(session: Session, options: PrepareOptions, engine: Engine) -> str:
    nonce = secrets.token_hex(4)
    facts = {"engine": engine.facts(), "docker": version("docker"), "run_nonce": nonce}
    session.manifest.harness |= facts
    if options.evaluate:
        preflight_evaluator(evaluator_environment(engine, os.environ))
    return nonce
