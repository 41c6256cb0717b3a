"""Everything that must be true before a run spends money, asked in the order of the exit codes."""

import time
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import Reporter
from obo_bench.core.session import Session
from obo_bench.gateway.attestation import Attestation, require_attested, runtime_attestation
from obo_bench.gateway.client import GatewayClient, password_from_environment
from obo_bench.gateway.errors import GatewayError, GatewayRefused
from obo_bench.gateway.wire import State
from obo_bench.programbench.options import RunOptions
from obo_bench.programbench.settings import (
    SettingsFile,
    check_solve_model,
    credentials,
    load_settings,
    model_slots,
    shown_settings,
)

READY_WAIT_SEC = 60.0
"""A server needs some ten seconds to bring its workers up."""


@dataclass(frozen=True)
class Server:
    """The live server, attested and ready."""

    client: GatewayClient
    """Its client."""
    attestation: Attestation
    """Who it is."""


def open_server(session: Session, options: RunOptions, reporter: Reporter) -> Server:
    """Attest the server, wait until it is ready, and compare its settings with what was declared.

    Raises RuntimeAttestationRefused, or PreflightRefused for readiness, password, settings and model.
    """
    settings = load_settings(options.settings_path, named=options.settings_named)
    session.redactor.learn(settings.secrets())
    password = password_from_environment() or str(settings.values.get("OUROBOROS_NETWORK_PASSWORD") or "") or None
    client = GatewayClient(options.url, password=password)
    try:
        return _admit_server(session, options, settings, client, reporter)
    except BaseException:
        client.close()
        raise


def _admit_server(
    session: Session, options: RunOptions, settings: SettingsFile, client: GatewayClient, reporter: Reporter
) -> Server:
    source = session.manifest.source
    attestation = runtime_attestation(
        client,
        repo_dir=options.repo_dir,
        repo_head=source.head,
        repo_version=source.version,
        expected_version=options.expected_version,
    )
    session.manifest.extra.runtime_attestation = attestation.model_dump(by_alias=True)
    session.checkpoint()
    require_attested(attestation)
    wait_until_ready(client, reporter)
    live = _live_settings(client)
    record_settings(session, options, settings, live)
    _tell_if_moved(options.url, session.manifest.harness["settings"]["bind_port"], reporter)
    session.manifest.harness["solve_model"] = check_solve_model(options.solve_model, settings, live)
    return Server(client, attestation)


def wait_until_ready(client: GatewayClient, reporter: Reporter, wait_sec: float = READY_WAIT_SEC) -> State:
    """Return the server's state once it can take a task; raises PreflightRefused `gateway_not_ready`."""
    give_up = time.monotonic() + wait_sec
    told = False
    while True:
        state, why = _state(client)
        if state is not None and state.ready:
            return state
        if time.monotonic() > give_up or (state is not None and state.supervisor_error):
            raise PreflightRefused(
                "gateway_not_ready",
                f"the server at {client.base_url!r} cannot take tasks: {why}",
                evidence={"state": state.model_dump() if state else None, "why": why},
            )
        if not told:
            reporter.event(f"waiting for the server: {why}")
            told = True
        time.sleep(0.5)


def record_settings(session: Session, options: RunOptions, settings: SettingsFile, live: dict[str, Any]) -> None:
    """Record what the live server says of itself: models and bounds in clear, keys as present or absent."""
    session.manifest.model_slots = model_slots(live)
    session.manifest.provider_credentials = credentials(live)
    session.manifest.harness["settings"] = {
        "path": str(settings.path),
        "present": settings.present,
        "named": options.settings_named,
        "live": shown_settings(live),
        "bind_port": (live.get("_meta") or {}).get("bind_port"),
    }


def _tell_if_moved(url: str, bind_port: object, reporter: Reporter) -> None:
    asked = urlsplit(url).port
    if isinstance(bind_port, int) and asked is not None and bind_port != asked:
        reporter.event(f"the server says that it listens on port {bind_port}, not {asked}: is it the one you mean?")


def _state(client: GatewayClient) -> tuple[State | None, str]:
    try:
        state = client.state()
    except GatewayRefused as refused:
        if refused.status == 401:
            raise _auth_required(client, refused) from refused
        return None, str(refused)
    except GatewayError as error:
        return None, str(error)
    if state.supervisor_error:
        return state, f"its supervisor failed: {state.supervisor_error}"
    if not state.supervisor_ready:
        return state, "its supervisor is still starting"
    return state, f"{state.workers_alive} of its workers are alive"


def _live_settings(client: GatewayClient) -> dict[str, Any]:
    try:
        return client.settings()
    except GatewayRefused as refused:
        if refused.status == 401:
            raise _auth_required(client, refused) from refused
        raise _settings_unavailable(client, refused) from refused
    except GatewayError as error:
        raise _settings_unavailable(client, error) from error


def _auth_required(client: GatewayClient, refused: GatewayRefused) -> PreflightRefused:
    return PreflightRefused(
        "gateway_auth_required", f"the server at {client.base_url!r} asks for its network password: {refused.text}"
    )


def _settings_unavailable(client: GatewayClient, error: GatewayError) -> PreflightRefused:
    return PreflightRefused(
        "target_settings_unavailable", f"the server at {client.base_url!r} does not show its settings: {error}"
    )
