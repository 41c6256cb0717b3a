"""Whether the live server lets us in and can take a task: asked once, or waited for."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import Reporter
from obo_bench.gateway.admission.live_settings import LiveSettings
from obo_bench.gateway.client import GatewayClient
from obo_bench.gateway.errors import GatewayError, GatewayRefused
from obo_bench.gateway.wire import State

READY_WAIT_SEC = 60.0
"""A server needs some ten seconds to bring its workers up."""
_LONGEST_WHY = 500
"""Characters of the server's own text."""


@dataclass(frozen=True)
class Readiness:
    """The answer to one question for the server's state."""

    ready: bool
    """Whether a task can be submitted."""
    why: str
    """Why not; empty when it is ready."""
    state: State | None
    """The state; None when it could not be read."""
    auth_required: bool = False
    """Whether the server asked for its network password."""


def read_readiness(client: GatewayClient) -> Readiness:
    """Ask the server once whether it can take a task; never waits and never raises a refusal."""
    try:
        state = client.state()
    except GatewayRefused as refused:
        return Readiness(False, str(refused), None, auth_required=refused.status == 401)
    except GatewayError as error:
        return Readiness(False, str(error), None)
    if state.ready:
        return Readiness(True, "", state)
    if state.supervisor_error:
        return Readiness(False, f"its supervisor failed: {state.supervisor_error[:_LONGEST_WHY]}", state)
    if not state.supervisor_ready:
        return Readiness(False, "its supervisor is still starting", state)
    return Readiness(False, "none of its workers is alive; is a model provider configured?", state)


def wait_until_ready(client: GatewayClient, reporter: Reporter, wait_sec: float = READY_WAIT_SEC) -> State:
    """Return the server's state once it can take a task.

    Raises PreflightRefused `gateway_not_ready` after `wait_sec` seconds, or at once when its start failed, and
    `gateway_auth_required` for a missing or wrong password.
    """
    give_up = time.monotonic() + wait_sec
    told = False
    while True:
        found = read_readiness(client)
        if found.ready and found.state is not None:
            return found.state
        if found.auth_required or time.monotonic() > give_up or (found.state and found.state.supervisor_error):
            raise not_ready(client.base_url, found)
        if not told:
            reporter.event(f"waiting for the server: {found.why}")
            told = True
        time.sleep(0.5)


def not_ready(url: str, found: Readiness) -> PreflightRefused:
    """Return the refusal for a server that cannot take tasks, or wants its password first."""
    if found.auth_required:
        return _auth_required(url, found.why)
    state = found.state.model_dump(include=set(State.model_fields)) if found.state else None
    return PreflightRefused(
        "gateway_not_ready",
        f"the server at {url!r} cannot take tasks: {found.why}",
        evidence={"state": state, "why": found.why},
    )


def require_settings(url: str, found: LiveSettings) -> Mapping[str, Any]:
    """Return the live settings; raises PreflightRefused when they could not be read."""
    if found.values is not None:
        return found.values
    if found.auth_required:
        raise _auth_required(url, found.why)
    raise PreflightRefused(
        "target_settings_unavailable",
        f"the server at {url!r} does not show its settings: {found.why}",
        evidence={"why": found.why},
    )


def _auth_required(url: str, why: str) -> PreflightRefused:
    return PreflightRefused(
        "gateway_auth_required",
        f"the server at {url!r} asks for its network password: {why}",
        evidence={"base_url": url, "why": why},
    )
