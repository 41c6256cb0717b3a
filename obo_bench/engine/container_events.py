"""Follows the engine's events of our containers: what happened between two looks, which inspection cannot tell.

One connection serves all containers of a process. Events that were missed make a trace incomplete, never wrong.
"""

import contextlib
import threading
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.types.daemon import CancellableStream

_FILTERS = {"type": ["container", "network"], "event": ["exec_start", "oom", "connect"]}
# A filter by container or label would leave out the events of networks, which carry only the container's id.
_OPEN_SEC = 5.0
_AGAIN_SEC = 2.0
_END_SEC = 5.0
_NANO = 1_000_000_000


@dataclass
class ContainerTrace:
    """What was seen of one container since it is followed."""

    networks: list[str] = field(default_factory=list)
    """One line for each network that it was connected to."""
    commands: int = 0
    """Commands that others started in it."""
    out_of_memory: int = 0
    """How often the kernel ended something in it for want of memory."""
    complete: bool = True
    """Whether the events were followed without a gap."""
    _own: set[str] = field(default_factory=set)
    _own_seen: set[str] = field(default_factory=set)

    def expect(self, exec_id: str) -> None:
        """Take a command that is about to be started for one of ours."""
        self._own.add(exec_id)

    def has_seen(self, exec_id: str) -> bool:
        """Say whether the engine has told that our command was started."""
        return exec_id in self._own_seen

    def note(self, action: str, attributes: dict[str, Any], moment: str) -> None:
        """Take one event."""
        if action == "connect" and attributes.get("name") != "none":
            self.networks.append(f"network {str(attributes.get('name'))[:100]!r} was connected at {moment}")
        elif action == "oom":
            self.out_of_memory += 1
        elif action.startswith("exec_start"):
            exec_id = str(attributes.get("execID"))
            if exec_id in self._own:
                self._own_seen.add(exec_id)
            else:
                self.commands += 1


class ContainerEvents:
    """The follower; its thread starts with the first container."""

    def __init__(self, client: "DockerClient") -> None:
        self._client = client
        self._traces: dict[str, ContainerTrace] = {}
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None
        self._open = threading.Event()
        self._closing = threading.Event()
        self._stream: CancellableStream[dict[str, Any]] | None = None
        self._last = 0

    def follow(self, container_id: str) -> ContainerTrace:
        """Return the trace of a container, from now on; it is incomplete where the engine tells no events."""
        trace = self._traces[container_id] = ContainerTrace()
        with self._starting:
            first = self._thread is None
            if first:
                self._thread = threading.Thread(target=self._run, name="container-events", daemon=True)
                self._thread.start()
            # An engine that did not let us follow at first is not waited for at every container.
            trace.complete = self._open.wait(_OPEN_SEC if first else 0)
        return trace

    def forget(self, container_id: str) -> None:
        """Follow a container no more."""
        self._traces.pop(container_id, None)

    def close(self) -> None:
        """End the connection."""
        self._closing.set()
        self._hang_up()
        if self._thread is not None:
            self._thread.join(_END_SEC)

    def _run(self) -> None:
        while not self._closing.is_set():
            self._read()
            self._open.clear()
            for trace in list(self._traces.values()):
                trace.complete = False
            self._closing.wait(_AGAIN_SEC)

    def _read(self) -> None:
        from docker.errors import DockerException
        from urllib3.exceptions import HTTPError

        # AttributeError: the SDK's answer to a stream that was closed while it was read
        with contextlib.suppress(DockerException, HTTPError, OSError, ValueError, AttributeError):
            self._stream = self._client.api.events(since=self._last // _NANO or None, filters=_FILTERS, decode=True)
            if self._closing.is_set():
                self._hang_up()
            self._open.set()
            for event in self._stream:
                self._note(event)

    def _hang_up(self) -> None:
        from docker.errors import DockerException

        if self._stream is not None:
            with contextlib.suppress(DockerException, OSError, AttributeError):
                self._stream.close()

    def _note(self, event: Any) -> None:
        try:
            moment, actor = int(event["timeNano"]), event["Actor"]
            attributes = dict(actor["Attributes"])
            container = attributes["container"] if event["Type"] == "network" else actor["ID"]
            action = str(event["Action"])
        except (KeyError, TypeError, ValueError):
            return
        trace = self._traces.get(str(container))
        # After a reconnection, those of the last second come again.
        if trace is not None and moment > self._last:
            trace.note(action, attributes, datetime.fromtimestamp(moment // _NANO, UTC).isoformat())
        self._last = max(self._last, moment)
