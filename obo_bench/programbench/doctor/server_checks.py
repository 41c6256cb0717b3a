"""The live server: it answers, is the checkout's version, can take tasks, has workers and money, and its own port."""

from pathlib import Path
from urllib.parse import urlsplit

from obo_bench.core.refusal_reasons import REASONS
from obo_bench.gateway.admission.live_settings import bind_port, shown_settings
from obo_bench.gateway.admission.readiness import not_ready
from obo_bench.gateway.admission.server_budget import budget_of
from obo_bench.gateway.attestation import OVERRIDE_ENV, runtime_attestation
from obo_bench.gateway.client import GatewayClient
from obo_bench.gateway.errors import GatewayError, GatewayUnreachable
from obo_bench.programbench.admission.limits import server_limits
from obo_bench.programbench.doctor.verdict import CannotLook, Verdict, fail, ok, warn
from obo_bench.programbench.doctor.world import World

_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_MOVES = 9
"""A server that finds its port busy takes the next free one of the nine above it."""
_NEIGHBOUR_SEC = 1.0


def server(world: World) -> Verdict:
    """Say whether an Ouroboros server answers at the address."""
    url = world.options.url
    try:
        health = world.health.ask()
    except GatewayUnreachable as error:
        moved = moved_to(url)
        if moved:
            return fail(
                f"no server answers at {url!r}, but one does at {moved!r}: {error}", f"give --ouroboros-url {moved}"
            )
        return fail(f"no server answers at {url!r}: {error}", REASONS["runtime_unreachable"].remedy)
    except GatewayError as error:
        return fail(
            f"what answers at {url!r} is no Ouroboros server: {error}", REASONS["runtime_version_absent"].remedy
        )
    if health.claimed_version is None:
        return fail(
            f"what answers at {url!r} does not say which version it runs", REASONS["runtime_version_absent"].remedy
        )
    return ok(f"{url} runs {health.claimed_version}")


def version(world: World) -> Verdict:
    """Say whether the server runs what the checkout holds, as a run would attest it."""
    world.health.need()
    source = world.seed.need().source
    record = runtime_attestation(
        world.client.need(),
        repo_dir=Path(str(source.repo_dir)),
        repo_head=source.head,
        repo_version=source.version,
        expected_version=world.options.expected_version,
    )
    if record.objection is None:
        return ok(f"the server runs {record.runtime_version}, as expected")
    remedy = record.objection.remedy or REASONS[record.objection.reason].remedy
    if record.ok:
        return warn(f"{record.objection.message}; {OVERRIDE_ENV} waives that", remedy)
    return fail(record.objection.message, remedy)


def ready(world: World) -> Verdict:
    """Say whether the server can take a task now."""
    world.health.need()
    found = world.readiness.need()
    if not found.ready or found.state is None:
        raise not_ready(world.options.url, found)
    state = found.state
    told = f"{state.workers_alive} of {state.workers_total} workers alive, {state.running_count} tasks at work, "
    told += f"{state.pending_count} waiting"
    if state.idle_workers < 1:
        return warn(f"{told}: none is idle", "wait for the other tasks; a run waits for an idle worker")
    return ok(told)


def limits(world: World) -> Verdict:
    """Say what the server would not grant to a run without any options."""
    world.health.need()
    found = world.readiness.need()
    if found.state is None:
        raise CannotLook("the server does not tell its state")
    live = shown_settings(world.live_values())
    notices = server_limits(world.options.as_run(), found.state, live)
    bounds = ", ".join(f"{name} {value}" for name, value in live.items())
    if notices:
        return warn("; ".join(notices), "change the server's settings, or give the run other limits")
    return ok(bounds)


def budget(world: World) -> Verdict:
    """Say what is left of the server's TOTAL_BUDGET."""
    world.health.need()
    state = world.readiness.need().state
    if state is None:
        raise CannotLook("the server does not tell its state")
    found = budget_of(state)
    if found.limit_usd is None:
        return ok("the server tells no TOTAL_BUDGET: only keys and --max-cost-usd bound what is spent")
    if found.left_usd is None:
        return warn(f"TOTAL_BUDGET is {found.limit_usd:g} USD; what is left is not known", "look at the server's costs")
    told = f"{found.left_usd:.2f} of {found.limit_usd:g} USD of the server's TOTAL_BUDGET are left"
    if found.exhausted:
        return fail(f"{told}: it would pause every task", "raise TOTAL_BUDGET in the server's settings (0 means none)")
    return ok(f"{told}; it pauses tasks when they are spent")


def port(world: World) -> Verdict:
    """Say whether the server listens where it was asked: a busy port makes it move silently."""
    asked, stated = urlsplit(world.options.url).port, bind_port(world.live_values())
    if stated is None or asked is None:
        raise CannotLook("the server does not say which port it listens on")
    if stated == asked:
        return ok(f"the server says that it listens on port {stated}, where it was asked")
    return warn(
        f"the server says that it listens on port {stated}, it was asked on {asked}: is it the one you mean?",
        f"find out what listens on port {asked} (a tunnel, another server), or give --ouroboros-url with port {stated}",
    )


def moved_to(url: str) -> str | None:
    """Return the address of an Ouroboros server on one of the ports that a server at `url` would have moved to."""
    parts = urlsplit(url)
    if parts.hostname not in _LOOPBACK or parts.port is None:
        return None
    host = f"[{parts.hostname}]" if ":" in str(parts.hostname) else parts.hostname
    for number in range(parts.port + 1, min(parts.port + _MOVES, 65535) + 1):
        found = f"{parts.scheme}://{host}:{number}"
        if _is_server(found):
            return found
    return None


def _is_server(url: str) -> bool:
    try:
        with GatewayClient(url, deadline_sec=_NEIGHBOUR_SEC) as client:
            return client.health().claimed_version is not None
    except GatewayError:
        return False
