"""The questions of `attest` to the live server and the settings file, each answer recorded as it comes.

They are a run's own questions in a run's own order, so that both refuse for the same reason.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import Reporter
from obo_bench.core.session import Session
from obo_bench.gateway.admission.declared import (
    Declared,
    declare,
    enforce,
    record_live,
    weigh_declared,
    weigh_live,
)
from obo_bench.gateway.admission.live_settings import describe_settings, model_slots, read_live_settings
from obo_bench.gateway.admission.model_slots import MODEL_SLOT
from obo_bench.gateway.admission.preflight import attest_runtime, network_password
from obo_bench.gateway.admission.readiness import (
    Readiness,
    not_ready,
    read_readiness,
    require_settings,
    wait_until_ready,
)
from obo_bench.gateway.admission.runtime_migration import ModelNames
from obo_bench.gateway.admission.settings import SettingsFile
from obo_bench.gateway.client import GatewayClient
from obo_bench.programbench.attest import AttestOptions
from obo_bench.programbench.attest_record import Finding


def examine_server(session: Session, options: AttestOptions, reporter: Reporter) -> None:
    """Attest the server, then report on its readiness and its settings.

    Raises RuntimeAttestationRefused, and PreflightRefused for readiness or settings where the options ask for it.
    """
    session.manifest.harness["findings"] = {"readiness": [], "settings": []}
    declared, unreadable = _declared(session, options)
    with GatewayClient(options.url, password=network_password(declared.settings)) as client:
        attest_runtime(session, client, options.repo_dir, options.expected_version)
        with _reported(session, "settings", refuse=options.solve_model is not None):
            if unreadable is not None:
                raise unreadable
            enforce(weigh_declared(session, declared))
        _judge_readiness(session, options, client, reporter)
        _judge_live_settings(session, options, client, declared)


def _declared(session: Session, options: AttestOptions) -> tuple[Declared, PreflightRefused | None]:
    """Return what is declared, and the refusal of a settings file that cannot be read: the server comes first."""
    unreadable: PreflightRefused | None = None
    try:
        declared = declare(
            session,
            options.repo_dir,
            options.settings_path,
            named=options.settings_named,
            solve_model=options.solve_model,
        )
    except PreflightRefused as refusal:
        refusal.settle()
        nothing = SettingsFile(options.settings_path, present=False)
        names = ModelNames(options.repo_dir, session.manifest.source.version)
        declared, unreadable = Declared(nothing, options.settings_named, options.solve_model, names), refusal
        session.manifest.harness["settings"] = describe_settings(nothing, options.settings_named, None)
    session.manifest.harness["settings"]["file_model"] = declared.settings.text(MODEL_SLOT)
    return declared, unreadable


def _judge_readiness(session: Session, options: AttestOptions, client: GatewayClient, reporter: Reporter) -> None:
    """Ask once; a server that is not ready is waited for only where it is required."""
    found = read_readiness(client)
    _record_readiness(session, found)
    with _reported(session, "readiness", refuse=options.require_ready):
        if found.ready:
            return
        if not options.require_ready:
            raise not_ready(client.base_url, found)
        _record_readiness(session, Readiness(True, "", wait_until_ready(client, reporter)))


def _record_readiness(session: Session, found: Readiness) -> None:
    session.manifest.harness["readiness"] = {
        "ready": found.ready if found.state else None,
        "workers_alive": found.state.workers_alive if found.state else None,
        "workers_total": found.state.workers_total if found.state else None,
    }


def _judge_live_settings(session: Session, options: AttestOptions, client: GatewayClient, declared: Declared) -> None:
    found = read_live_settings(client)
    if found.values is not None:
        record_live(session, declared, found.values)
        session.manifest.harness["settings"] |= {
            "file_model": declared.settings.text(MODEL_SLOT),
            "live_model": model_slots(found.values).get(MODEL_SLOT),
        }
    with _reported(session, "settings", refuse=options.solve_model is not None):
        enforce(weigh_live(session, declared, require_settings(client.base_url, found)))


@contextmanager
def _reported(session: Session, check: str, *, refuse: bool) -> Iterator[None]:
    """Record what is raised as a finding; it refuses only where the options ask for that."""
    try:
        yield
    except PreflightRefused as refusal:
        finding = Finding(reason=refusal.reason, message=refusal.message, remedy=refusal.remedy)
        session.manifest.harness["findings"][check].append(finding.document())
        if refuse:
            raise
        refusal.settle()
