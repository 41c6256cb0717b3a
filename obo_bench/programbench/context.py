"""What all instances of a run share."""

import os
import re
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from obo_bench.core.reporter import Reporter
from obo_bench.core.session import Session
from obo_bench.engine.cleanroom import INSTANCE_LABEL, NONCE_LABEL, RUN_LABEL, CleanroomSpec, operator_user
from obo_bench.engine.daemon import Engine
from obo_bench.gateway.admitted import AdmittedServer
from obo_bench.gateway.client import GatewayClient
from obo_bench.gateway.errors import GatewayError
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.options import RunOptions
from obo_bench.programbench.paths import InstancePaths
from obo_bench.programbench.sizes import parse_size

_TELL_SEC = 60.0
IMAGE_TAG = "task_cleanroom_v6"
GRACE_SEC = 900.0
"""What a task may take beyond its deadline: last answer, patch collection, acceptance review, in seconds."""


@dataclass
class RunContext:
    """One admitted run."""

    session: Session
    """The seam."""
    options: RunOptions
    """What was asked for."""
    engine: Engine
    """The daemon."""
    server: AdmittedServer | None
    """The server that was admitted; None in a dry run."""
    reporter: Reporter
    """Where progress goes."""
    nonce: str
    """Part of every task id, container name and label of the run."""
    cpus: float
    """Cores of a cleanroom, lowered to what the engine has."""
    memory_bytes: int
    """Memory of a cleanroom, lowered likewise."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set when nothing more may be started."""
    halted_by: str = ""
    """Why, where it was not the end of the run."""
    _halting: threading.Lock = field(default_factory=threading.Lock)
    workspaces_seen: bool = False
    """Whether the server has taken a task of this run, so that it is known to see our workspaces."""
    submitting: threading.Lock = field(default_factory=threading.Lock)
    """Held from the wait for an idle worker until the task has been taken."""
    images: dict[str, dict[str, object]] = field(default_factory=dict)
    """Identity of every image used."""

    @property
    def gateway(self) -> GatewayClient:
        """The server's client."""
        return self.admitted.client

    @property
    def admitted(self) -> AdmittedServer:
        """The server, where there must be one."""
        if self.server is None:
            raise AssertionError("a dry run has no server")
        return self.server

    def close(self) -> None:
        """Close the connections to server and daemon."""
        if self.server is not None:
            self.server.client.close()
        self.engine.client.close()

    def paths(self, instance_id: str) -> InstancePaths:
        """Return the files of an instance."""
        return InstancePaths(self.session.run_root, instance_id)

    def task_id(self, instance_id: str, attempt: int) -> str:
        """Return our id for a task: unique to run, instance and attempt."""
        return f"obo-{self.nonce}-{instance_id}-{attempt}"[:128]

    def labels(self, instance_id: str) -> dict[str, str]:
        """Return the labels without which nothing is ever touched."""
        return {RUN_LABEL: self.session.run_root.name, INSTANCE_LABEL: instance_id, NONCE_LABEL: self.nonce}

    def room_spec(self, instance: Instance, attempt: int, *, protected: bool) -> CleanroomSpec:
        """Return the cleanroom of an attempt; `protected` says whether the reference lies in a volume."""
        name = f"obo-{self.nonce}-{re.sub('[^A-Za-z0-9_.-]', '-', instance.instance_id)}-{attempt}"
        return CleanroomSpec(
            name=name,
            image=f"{instance.image_name}:{IMAGE_TAG}",
            workspace=self.paths(instance.instance_id).workspace,
            user=operator_user(self.engine, os.getuid(), os.getgid()),
            cpus=self.cpus,
            memory_bytes=self.memory_bytes,
            ttl_sec=int(self.options.timeout_sec + 2 * GRACE_SEC),
            labels=self.labels(instance.instance_id),
            reference_volume=f"{name}-reference" if protected else None,
        )

    def halt(self, reason: str) -> None:
        """Start nothing more; what is not started yet is `not_attempted` for this reason, the first one given."""
        with self._halting:
            self.halted_by = self.halted_by or reason
            self.stop.set()

    def wait_for_idle_worker(self) -> float:
        """Wait until the server has a worker without a task; returns the seconds waited (a deadline counts them)."""
        started = time.monotonic()
        told = started
        while not self.stop.is_set():
            try:
                state = self.gateway.state()
                if state.ready and state.idle_workers > 0:
                    break
            except GatewayError as error:
                self.reporter.event(f"the server's load is unknown: {error}")
                self.admitted.confirm(self.stop)
            if time.monotonic() - told > _TELL_SEC:
                told = time.monotonic()
                self.reporter.event("still waiting for an idle worker of the server")
            self.stop.wait(0.5)
        return time.monotonic() - started


def limits(engine: Engine, options: RunOptions) -> tuple[float, int, list[str]]:
    """Return cores and memory of a cleanroom within what the engine has, and a notice for each that was lowered."""
    notices = []
    cpus, memory = options.cpus, parse_size(options.memory)
    if cpus > engine.cpus:
        notices.append(f"--cpus {cpus:g} is lowered to the engine's {engine.cpus}")
        cpus = float(engine.cpus)
    if engine.memory_bytes and memory > engine.memory_bytes:
        notices.append(f"--memory {options.memory} is lowered to the engine's {engine.memory_bytes >> 20} MiB")
        memory = engine.memory_bytes
    return cpus, memory, notices


def evaluator_environment(engine: Engine, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the official evaluator: ours, pointed at the same daemon as the solve."""
    return {**environ, "DOCKER_HOST": engine.endpoint}
