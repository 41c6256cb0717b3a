"""The cleanroom: the one container that a task's commands run in, without network and without a way to look inside
the reference. Its properties are read back from the engine, never assumed."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from obo_bench.engine.cleanroom_spec import (
    NONCE_LABEL,
    RUN_LABEL,
    WORKSPACE,
    WORKSPACE_LABEL,
    CleanroomSpec,
    creation,
    directory_identity,
)
from obo_bench.engine.daemon import Engine
from obo_bench.engine.inspection import differences, exit_facts, is_paused

if TYPE_CHECKING:
    from docker.models.containers import Container

TOO_LONG = 124
"""The status of a command that did not end in time, as `timeout` has it."""
_SLACK_SEC = 5.0
_FIRST_POLL_SEC = 0.005
_POLL_SEC = 0.05
_SEEN_SEC = 10.0


class CleanroomUnfit(RuntimeError):
    """The engine did not give us the container that was asked for; the message names every difference."""


@dataclass(frozen=True)
class Condition:
    """How a container was found."""

    trouble: str = ""
    """What is certainly wrong with it; empty where it is as it must be."""
    paused: bool = False
    """Whether its processes are frozen, which somebody may yet undo."""
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Exit detail and networks, for the record."""

    @property
    def reason(self) -> str | None:
        """Why it is of no use at this moment."""
        return self.trouble or ("it is paused" if self.paused else None)


class Cleanroom:
    """A running cleanroom."""

    def __init__(self, engine: Engine, spec: CleanroomSpec, container: "Container") -> None:
        self._engine = engine
        self.spec = spec
        self._container = container
        self._started_at = container.attrs["State"]["StartedAt"]
        self.trace = engine.events.follow(str(container.id))
        """What the engine tells of it between two looks."""

    @classmethod
    def start(cls, engine: Engine, spec: CleanroomSpec) -> "Cleanroom":
        """Create and start the container and check it; removes what it made when anything fails."""
        container = engine.client.containers.create(spec.image_id or spec.image, **creation(spec))
        try:
            room = cls(engine, spec, container)
            container.start()
            room.preflight()
        except BaseException:
            container.remove(force=True)
            raise
        return room

    @classmethod
    def find(cls, engine: Engine, spec: CleanroomSpec) -> "Cleanroom | None":
        """Return the container of an earlier invocation if it is there and still as it must be.

        Its user is the one it was started with: who resumes must not cost the task its container.
        """
        from docker.errors import NotFound

        try:
            container = engine.client.containers.get(spec.name)
        except NotFound:
            return None
        room = cls(engine, replace(spec, user=str(container.attrs["Config"]["User"])), container)
        condition = room.examine()
        return room if condition is None or not condition.trouble else None

    def preflight(self) -> None:
        """Raise CleanroomUnfit unless inspection shows the container that the specification describes."""
        self._container.reload()
        self._started_at = self._container.attrs["State"]["StartedAt"]
        found = differences(self._container.attrs, self.spec)
        if found:
            raise CleanroomUnfit(f"container {self.spec.name!r}: {'; '.join(found)}")

    def examine(self) -> Condition | None:
        """Return how the container is now; None while the engine cannot be asked."""
        from docker.errors import DockerException, NotFound

        try:
            self._container.reload()
            attrs = self._container.attrs
            found = differences(attrs, self.spec) or [*self._restart(attrs), *self._other_workspace(attrs)]
        except NotFound:
            return Condition("it does not exist any more", facts={"status": "removed"})
        except (DockerException, OSError):
            # A moment of silence of the engine must not end a paid task.
            return None
        return Condition("; ".join([*found, *self.trace.networks]), is_paused(attrs), exit_facts(attrs))

    def trouble(self) -> str | None:
        """Return what is wrong with the container now; None also while the engine cannot be asked."""
        condition = self.examine()
        return condition.reason if condition is not None else None

    def renew(self) -> None:
        """Let the time to live begin anew, before anything was run in it."""
        self._container.restart(timeout=1)
        self.preflight()

    def run(self, script: str, timeout_sec: int = 20) -> int:
        """Run a shell script in the container and return its exit status, TOO_LONG after `timeout_sec` seconds.

        Nobody reads what it prints, so it may print any amount.
        """
        return self._run(script, timeout_sec)[1]

    def tells_of_commands(self) -> bool:
        """Run a command of ours and say whether the engine told of it: only then the lack of others' is a finding."""
        from docker.errors import DockerException

        try:
            exec_id, _ = self._run("true", 5)
        except (DockerException, OSError):
            return False
        give_up = time.monotonic() + _SEEN_SEC
        while not self.trace.has_seen(exec_id) and time.monotonic() < give_up:
            time.sleep(_POLL_SEC)
        return self.trace.has_seen(exec_id) and self.trace.complete

    def _run(self, script: str, timeout_sec: int) -> tuple[str, int]:
        api = self._engine.client.api
        command = ["timeout", "-k", "2", str(timeout_sec), "sh", "-c", script]
        exec_id = str(api.exec_create(self._container.id, command, workdir=WORKSPACE)["Id"])
        self.trace.expect(exec_id)
        api.exec_start(exec_id, detach=True)
        give_up, pause = time.monotonic() + timeout_sec + _SLACK_SEC, _FIRST_POLL_SEC
        while time.monotonic() < give_up:
            found = api.exec_inspect(exec_id)
            if not found["Running"] and found["ExitCode"] is not None:
                return exec_id, int(found["ExitCode"])
            time.sleep(pause)
            pause = min(2 * pause, _POLL_SEC)
        return exec_id, TOO_LONG

    def _restart(self, attrs: Mapping[str, Any]) -> list[str]:
        started = attrs["State"]["StartedAt"]
        return [] if started == self._started_at else [f"it was started anew at {started}, so that its commands ended"]

    def _other_workspace(self, attrs: Mapping[str, Any]) -> list[str]:
        mounted = (attrs["Config"].get("Labels") or {}).get(WORKSPACE_LABEL)
        present = directory_identity(self.spec.workspace)
        if not mounted or mounted == present:
            return []
        if not present:
            return [f"its workspace {str(self.spec.workspace)!r} does not exist any more"]
        # Some network file systems give a directory another number now and then; then the container sees that too.
        if self.run(f'[ "$(stat -c %i .)" = {present.partition(":")[2]} ]') == 0:
            return []
        return [f"its workspace {str(self.spec.workspace)!r} is another directory than the one that was mounted"]


def remove_cleanroom(engine: Engine, name: str, volume: str | None, labels: Mapping[str, str]) -> None:
    """Remove container and volume by name if they carry our labels; absent ones are fine."""
    from docker.errors import NotFound

    try:
        container = engine.client.containers.get(name)
        if container.labels.get(RUN_LABEL) == labels[RUN_LABEL]:
            engine.events.forget(str(container.id))
            container.remove(force=True)
    except NotFound:
        pass
    if volume:
        try:
            found = engine.client.volumes.get(volume)
            if (found.attrs.get("Labels") or {}).get(RUN_LABEL) == labels[RUN_LABEL]:
                found.remove(force=True)
        except NotFound:
            pass


def remove_all_of_run(engine: Engine, nonce: str) -> None:
    """Remove every container and volume that carries the nonce of a run whose tasks are known to be over."""
    chosen: dict[str, Any] = {"label": f"{NONCE_LABEL}={nonce}"}
    for container in engine.client.containers.list(all=True, filters=chosen):
        container.remove(force=True)
    for volume in engine.client.volumes.list(filters=chosen):
        volume.remove(force=True)


def operator_user(engine: Engine, uid: int, gid: int) -> str:
    """Return the container user whose files on the host belong to the operator."""
    return "0:0" if engine.rootless else f"{uid}:{gid}"
