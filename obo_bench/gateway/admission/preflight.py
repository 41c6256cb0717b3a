"""Everything about the server that must be true before it is given work, asked in the order of the exit codes."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from obo_bench.core.reporter import Reporter
from obo_bench.core.session import Session
from obo_bench.gateway.admission.declared import Declared, enforce, record_live, weigh_declared, weigh_live
from obo_bench.gateway.admission.live_settings import bind_port, model_slots, read_live_settings, shown_settings
from obo_bench.gateway.admission.model_slots import MODEL_SLOT
from obo_bench.gateway.admission.readiness import require_settings, wait_until_ready
from obo_bench.gateway.admission.settings import SettingsFile
from obo_bench.gateway.attestation import Attestation, require_attested, runtime_attestation
from obo_bench.gateway.client import GatewayClient, password_from_environment
from obo_bench.gateway.wire import State


@dataclass(frozen=True)
class WantedServer:
    """Which server is to be admitted."""

    url: str
    """Its address."""
    repo_dir: Path
    """The checkout that it runs from."""
    expected_version: str | None = None
    """The version it must run, where that is not the checkout's."""


@dataclass(frozen=True)
class Server:
    """The live server, attested and ready."""

    client: GatewayClient
    """Its client."""
    attestation: Attestation
    """Who it is."""
    state: State
    """How it stood once it was ready: workers and budget."""


def open_server(session: Session, wanted: WantedServer, declared: Declared, reporter: Reporter) -> Server:
    """Attest the server, wait until it is ready, and compare its settings with what was declared.

    Raises RuntimeAttestationRefused, or PreflightRefused for model slots, readiness, password, settings and model.
    """
    client = GatewayClient(wanted.url, password=network_password(declared.settings))
    try:
        return _admit_server(session, wanted, declared, client, reporter)
    except BaseException:
        client.close()
        raise


def network_password(settings: SettingsFile) -> str | None:
    """Return the server's network password: the environment's, else the file's."""
    return password_from_environment() or str(settings.values.get("OUROBOROS_NETWORK_PASSWORD") or "") or None


def attest_runtime(
    session: Session, client: GatewayClient, repo_dir: Path, expected_version: str | None
) -> Attestation:
    """Attest the live server, and record that before anything follows from it; raises RuntimeAttestationRefused."""
    source = session.manifest.source
    attestation = runtime_attestation(
        client,
        repo_dir=repo_dir,
        repo_head=source.head,
        repo_version=source.version,
        expected_version=expected_version,
    )
    session.manifest.extra.runtime_attestation = attestation.document()
    session.checkpoint()
    require_attested(attestation)
    return attestation


def _admit_server(
    session: Session, wanted: WantedServer, declared: Declared, client: GatewayClient, reporter: Reporter
) -> Server:
    attestation = attest_runtime(session, client, wanted.repo_dir, wanted.expected_version)
    enforce(weigh_declared(session, declared))
    state = wait_until_ready(client, reporter)
    live = require_settings(client.base_url, read_live_settings(client))
    record_live(session, declared, live)
    _tell(wanted.url, live, reporter)
    enforce(weigh_live(session, declared, live))
    return Server(client, attestation, state)


def _tell(url: str, live: Mapping[str, Any], reporter: Reporter) -> None:
    bounds = ", ".join(f"{name} {value}" for name, value in shown_settings(live).items())
    reporter.event(f"the server solves with {model_slots(live).get(MODEL_SLOT)}; {bounds}")
    asked, port = urlsplit(url).port, bind_port(live)
    if asked is not None and port is not None and port != asked:
        reporter.event(f"the server says that it listens on port {port}, not {asked}: is it the one you mean?")
