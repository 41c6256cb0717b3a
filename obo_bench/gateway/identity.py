"""Which server it is: who was admitted, and whether the one that answers now is still the same.

Source: the version of `/api/health`, uptime and commit of `/api/state`, the port in `/api/settings`. A server that
found its port busy moves to another one without a word, so an address alone proves nothing.
"""

import math
import time
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any

from obo_bench.gateway.client import GatewayClient
from obo_bench.gateway.errors import GatewayError, GatewayUnreachable
from obo_bench.gateway.wire import State

OLDER_TOLERANCE_SEC = 60.0
"""By how much a server may seem older than the admitted one: its clock may have been set meanwhile."""
RESTART_TOLERANCE_SEC = 3.0
"""By how much it may seem younger; a real start takes longer, and uptimes are whole seconds."""
_SHOWN = 80


class Change(StrEnum):
    """What became of the admitted server."""

    SAME = "same"
    RESTARTED = "restarted"
    """The same version started again: recorded, not fatal."""
    CHANGED = "changed"
    """Another version or another server."""


@dataclass(frozen=True)
class ServerIdentity:
    """What a server said of itself at one time; None is what it did not say."""

    runtime_version: str | None
    """The version that it runs."""
    uptime_sec: float | None = None
    """Seconds since its start."""
    sha: str | None = None
    """Commit that it runs; servers often leave it empty."""
    bind_port: int | None = None
    """Port that it listens on."""
    monotonic_sec: float = 0.0
    """Our monotonic clock when the uptime was asked for; it stands still while the machine sleeps."""
    wall_sec: float = 0.0
    """Our wall clock at the same time; it can be set."""
    latency_sec: float = 0.0
    """Seconds until the uptime was there."""

    def facts(self) -> dict[str, Any]:
        """Return what a record needs."""
        return asdict(self)


@dataclass(frozen=True)
class Verdict:
    """What became of the server, and why we think so."""

    change: Change
    """The verdict."""
    detail: str = ""
    """One human line; empty when nothing happened."""


def read_identity(client: GatewayClient) -> ServerIdentity:
    """Ask a server who it is; what it does not say of its state and settings stays unknown.

    Raises GatewayUnreachable when it stops answering, GatewayError when it does not tell its health.
    """
    version = client.health().claimed_version
    monotonic, wall = time.monotonic(), time.time()
    state = _state(client)
    return ServerIdentity(
        runtime_version=version,
        uptime_sec=_seconds(state.uptime),
        sha=(state.sha or "").strip() or None,
        bind_port=_bind_port(client),
        monotonic_sec=monotonic,
        wall_sec=wall,
        latency_sec=time.monotonic() - monotonic,
    )


def compare(admitted: ServerIdentity, now: ServerIdentity) -> Verdict:
    """Say whether `now` is the `admitted` server, the same one started again, or another; unknown is not different."""
    for name in ("runtime_version", "sha", "bind_port"):
        was, became = getattr(admitted, name), getattr(now, name)
        if was is not None and became is not None and was != became:
            return Verdict(Change.CHANGED, f"its {name} was {_shown(was)} at admission, now it is {_shown(became)}")
    return _compare_uptimes(admitted, now)


def successor(admitted: ServerIdentity, now: ServerIdentity) -> ServerIdentity:
    """Return whom to expect after a restart: `now`, with what only the admitted one said."""
    known = {name: getattr(admitted, name) for name in ("sha", "bind_port") if getattr(now, name) is None}
    return replace(now, **known)


def _compare_uptimes(admitted: ServerIdentity, now: ServerIdentity) -> Verdict:
    if admitted.uptime_sec is None or now.uptime_sec is None:
        return Verdict(Change.SAME)
    # Either clock may be wrong (a sleeping machine, a clock that was set), so what one of them allows is possible.
    elapsed = (now.monotonic_sec - admitted.monotonic_sec, now.wall_sec - admitted.wall_sec)
    unsure = admitted.latency_sec + now.latency_sec
    oldest = admitted.uptime_sec + max(elapsed) + unsure + OLDER_TOLERANCE_SEC
    youngest = admitted.uptime_sec + min(elapsed) - unsure - RESTART_TOLERANCE_SEC
    told = f"its uptime was {admitted.uptime_sec:.0f} s at admission and is {now.uptime_sec:.0f} s"
    if now.uptime_sec > oldest:
        return Verdict(Change.CHANGED, f"{told}: it was started before the admitted server")
    if now.uptime_sec < youngest:
        return Verdict(Change.RESTARTED, f"{told}: it was started again")
    return Verdict(Change.SAME)


def _state(client: GatewayClient) -> State:
    try:
        return client.state()
    except GatewayUnreachable:
        raise
    except GatewayError:
        return State()


def _bind_port(client: GatewayClient) -> int | None:
    try:
        meta = client.settings().get("_meta")
    except GatewayUnreachable:
        raise
    except GatewayError:
        return None
    port = meta.get("bind_port") if isinstance(meta, dict) else None
    return port if isinstance(port, int) and not isinstance(port, bool) else None


def _seconds(uptime: float | None) -> float | None:
    return uptime if uptime is not None and math.isfinite(uptime) and uptime >= 0 else None


def _shown(value: object) -> str:
    return repr(value)[:_SHOWN]
