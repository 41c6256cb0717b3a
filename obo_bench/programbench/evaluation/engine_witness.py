"""Watches how the evaluator's containers end, because the evaluator does not.

A container that is killed from outside in the middle of a build looks to the evaluator like a build that failed. The
engine's own event stream tells the two apart: the evaluator never stops a container while a command runs in it.
"""

import json
import subprocess
import threading
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from obo_bench.engine.cleanroom_spec import INSTANCE_LABEL

_LINE_LIMIT = 1024 * 1024
_END_TIMEOUT_SEC = 10.0
_SIGKILL = "9"
_KILLED_EXIT = "137"
_EVENTS = ("start", "kill", "exec_start", "exec_die")


@dataclass
class _Container:
    """What was seen of one container."""

    running: set[object] = field(default_factory=set)
    command_was_killed: bool = False
    was_signalled: bool = False

    def killed_from_outside(self, signal: object) -> bool:
        """Say whether a signal cannot be the evaluator's own `docker stop`, which is polite and comes between commands.

        The engine may report the end of the killed command before the signal that killed it.
        """
        return bool(self.running) or self.command_was_killed or (signal == _SIGKILL and not self.was_signalled)


class EngineWitness:
    """Follows the events of the containers that carry `labels`, from entry to exit of the context.

    Which instance a container belongs to is read from its label.
    """

    def __init__(self, docker: str, environ: Mapping[str, str], labels: Mapping[str, str]) -> None:
        pairs = [("type", "container"), *(("event", name) for name in _EVENTS)]
        pairs += [("label", f"{key}={value}") for key, value in labels.items()]
        filters = [word for name, value in pairs for word in ("--filter", f"{name}={value}")]
        self._argv = [docker, "events", "--format", "{{json .}}", *filters]
        self._environ = dict(environ)
        self._containers: dict[str, _Container] = defaultdict(_Container)
        self._seen = False
        self._ending = False
        self._killed: set[str] = set()
        self._engine_lost = False

    def __enter__(self) -> Self:
        """Start to follow; a client that cannot is no error, it just tells nothing. Raises OSError without a client."""
        self._process = subprocess.Popen(
            self._argv,
            env=self._environ,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Stop to follow."""
        self._ending = True
        self._process.kill()
        self._process.wait(_END_TIMEOUT_SEC)
        self._thread.join(_END_TIMEOUT_SEC)

    def lost(self, instance_id: str) -> bool:
        """Say whether the instance's container was killed from outside, or the engine itself went away."""
        return self._engine_lost or instance_id in self._killed

    def _follow(self) -> None:
        stream = self._process.stdout
        if stream is None:
            return
        with stream:
            while line := stream.readline(_LINE_LIMIT):
                self._note(line)
        # A client that never reported anything may just not know these filters.
        self._engine_lost = self._seen and not self._ending

    def _note(self, line: bytes) -> None:
        try:
            event: Any = json.loads(line)
            action, actor = str(event["Action"]), event["Actor"]
            container, attributes = self._containers[str(actor["ID"])], actor["Attributes"]
            instance_id = str(attributes[INSTANCE_LABEL])
        except (ValueError, KeyError, TypeError, AttributeError):
            return
        self._seen = True
        if action.startswith("exec_start"):
            container.running.add(attributes.get("execID"))
            container.command_was_killed = False
        elif action == "exec_die":
            container.running.discard(attributes.get("execID"))
            container.command_was_killed = attributes.get("exitCode") == _KILLED_EXIT
        elif action == "kill":
            if container.killed_from_outside(attributes.get("signal")):
                self._killed.add(instance_id)
            container.was_signalled = True
