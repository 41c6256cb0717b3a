"""How the containers of one run are, asked of the daemon in one question and in bounded time."""

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass

from obo_bench.core.refusals import PreflightRefused
from obo_bench.engine.bounded import bounded
from obo_bench.engine.cleanroom_spec import NONCE_LABEL, RUN_LABEL
from obo_bench.engine.daemon import connect_engine

ANSWER_SEC = 5.0
"""A healthy daemon answers in some ten milliseconds."""


@dataclass(frozen=True)
class RoomState:
    """One container as the daemon lists it."""

    state: str
    """running, paused, exited, dead, ..."""
    detail: str
    """The daemon's own text, such as `Exited (137) 2 minutes ago`."""


def room_states(nonce: str, engine_id: str) -> Mapping[str, RoomState]:
    """Return the containers of the run with this nonce, by name; changes nothing.

    Raises OSError, with the reason in words, when the engine that the run used (`engine_id`, where known) does not
    tell.
    """
    from docker.errors import DockerException

    try:
        return bounded(ANSWER_SEC, lambda: _ask(nonce, engine_id), "containers")
    except DockerException as error:
        raise OSError(f"the engine does not list its containers: {error}") from error


def _ask(nonce: str, engine_id: str) -> Mapping[str, RoomState]:
    try:
        engine = connect_engine()
    except PreflightRefused as refusal:
        refusal.settle()
        raise OSError(refusal.message) from refusal
    with closing(engine):
        if engine_id and engine.server_id != engine_id:
            raise OSError(f"the engine at {engine.endpoint} is not the one that the run used")
        chosen = {"label": [RUN_LABEL, f"{NONCE_LABEL}={nonce}"]}
        listed = engine.client.api.containers(all=True, filters=chosen)
        return {_name(found): RoomState(str(found.get("State", "")), str(found.get("Status", ""))) for found in listed}


def _name(found: Mapping[str, object]) -> str:
    names = found.get("Names")
    return str(names[0]).lstrip("/") if isinstance(names, list) and names else str(found.get("Id", ""))[:12]
