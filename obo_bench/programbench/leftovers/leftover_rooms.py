"""Remove what a recorded run's instance has left on the engine that the run worked on."""

from contextlib import closing

from obo_bench.core.refusals import PreflightRefused
from obo_bench.engine.daemon import Engine, connect_engine
from obo_bench.engine.leftovers import find_leftovers, remove_leftover
from obo_bench.programbench.leftovers.run_lookup import RecordedRun


def remove_rooms(run: RecordedRun, instance_id: str) -> list[str]:
    """Remove cleanrooms and volumes of an instance whose tasks are over; return what could not be done, in words."""
    try:
        engine = connect_engine()
    except PreflightRefused as refusal:
        # That the task is over stands; what is left can be removed later.
        refusal.settle()
        return [f"its container is left: {refusal.message}"]
    with closing(engine.client):
        if run.engine_id and engine.server_id != run.engine_id:
            return [f"its container is left: the engine at {engine.endpoint} is not the one that the run used"]
        return _remove(engine, run.nonce, instance_id)


def _remove(engine: Engine, nonce: str, instance_id: str) -> list[str]:
    from docker.errors import DockerException

    problems = []
    try:
        mine = [item for item in find_leftovers(engine, nonce) if item.instance_id == instance_id]
    except (DockerException, OSError) as error:
        return [f"its container is left: {error}"]
    for item in mine:
        try:
            remove_leftover(engine, item)
        except (DockerException, OSError) as error:
            problems.append(f"{item.kind} {item.name} is left: {error}")
    return problems
