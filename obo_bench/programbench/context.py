"""What all instances of a run share."""

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from obo_bench.core.ledger import Row
from obo_bench.core.reporter import Reporter
from obo_bench.core.run_changes import InstanceChange, InstanceEnded, Phase, RunChange
from obo_bench.core.session import Session
from obo_bench.engine.cleanroom import operator_user
from obo_bench.engine.cleanroom_spec import INSTANCE_LABEL, NONCE_LABEL, RUN_LABEL, CleanroomSpec
from obo_bench.engine.daemon import Engine
from obo_bench.gateway.admitted import AdmittedServer
from obo_bench.gateway.client import GatewayClient
from obo_bench.programbench.admission.admitted_config import AdmittedConfiguration
from obo_bench.programbench.admission.disk_room import DiskRoom
from obo_bench.programbench.image_pins import ImagePins
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.options import RunOptions
from obo_bench.programbench.paths import InstancePaths
from obo_bench.programbench.solving.idle_workers import IdleWorkers
from obo_bench.programbench.solving.pulled_images import PulledImages
from obo_bench.programbench.solving.spending import Spending
from obo_bench.programbench.solving.task_name import task_name

if TYPE_CHECKING:
    from obo_bench.programbench.solving.attempt import Attempt

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
    disk: DiskRoom | None = None
    """The disks to look at before each instance; None where nobody asked."""
    spending: Spending = field(default_factory=Spending)
    """What the run has cost, and whether it may spend more."""
    pins: ImagePins | None = None
    """The only images that may be used; None where any will do."""
    configuration: AdmittedConfiguration | None = None
    """What the run was admitted with; None where nobody compares."""
    rows: dict[str, Row] = field(default_factory=dict)
    """The last row of each instance that this invocation has written."""
    closed: threading.Event = field(default_factory=threading.Event)
    """Set when nothing more may be started; what runs goes on."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Set when what runs is not waited for any more, either; never without `closed`."""
    cancelling: bool = False
    """Whether running tasks are cancelled when `stop` is set, not left to the server."""
    halted_by: str = ""
    """Why, where it was not the end of the run."""
    _halting: threading.Lock = field(default_factory=threading.Lock)
    workspaces_seen: bool = False
    """Whether the server has taken a task of this run, so that it is known to see our workspaces."""
    idle_workers: IdleWorkers = field(default_factory=IdleWorkers)
    """Hands out the server's workers."""
    attempts: dict[str, "Attempt"] = field(default_factory=dict)
    """The attempt of each instance that this invocation has come to."""
    images: dict[str, dict[str, object]] = field(default_factory=dict)
    """Identity of every image used."""

    @cached_property
    def pulled(self) -> PulledImages:
        """What the run has pulled, earlier invocations included."""
        return PulledImages(self.session.run_root)

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

    def note(self, row: Row) -> None:
        """Take note of a row that was written."""
        self.rows[row.instance_id] = row
        self.spending.note(row)
        self.reporter.update(InstanceEnded(row.instance_id, row.status, worked=bool(row.durations)))
        self.show_spending()

    def at(self, instance_id: str, phase: Phase, task_id: str | None = None) -> None:
        """Show what an instance is at."""
        self.reporter.update(InstanceChange(instance_id, phase=phase, task_id=task_id))

    def show_spending(self) -> None:
        """Show what the run has cost so far."""
        spent_usd, unknown = self.spending.sums()
        self.reporter.update(RunChange(spent_usd=spent_usd, unknown_costs=unknown))

    def close(self) -> None:
        """Close the connections to server and daemon."""
        if self.server is not None:
            self.server.client.close()
        self.engine.close()

    def paths(self, instance_id: str) -> InstancePaths:
        """Return the files of an instance."""
        return InstancePaths(self.session.run_root, instance_id)

    def task_id(self, instance_id: str, attempt: int) -> str:
        """Return our id for a task: unique to run, instance and attempt."""
        return task_name(self.nonce, instance_id, attempt)

    def labels(self, instance_id: str) -> dict[str, str]:
        """Return the labels without which nothing is ever touched."""
        return {RUN_LABEL: self.session.run_root.name, INSTANCE_LABEL: instance_id, NONCE_LABEL: self.nonce}

    def room_spec(self, instance: Instance, attempt: int, *, protected: bool) -> CleanroomSpec:
        """Return the cleanroom of an attempt; `protected` says whether the reference lies in a volume."""
        name = task_name(self.nonce, instance.instance_id, attempt)
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

    def close_admission(self, reason: str) -> None:
        """Start nothing more; what is not started yet is `not_attempted` for this reason, the first one given."""
        with self._halting:
            self.halted_by = self.halted_by or reason
            self.closed.set()

    def halt(self, reason: str) -> None:
        """Start nothing more, and wait for no running task any more."""
        self.close_admission(reason)
        self.stop.set()


def evaluator_environment(engine: Engine, environ: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the official evaluator: ours, pointed at the same daemon as the solve."""
    return {**environ, "DOCKER_HOST": engine.endpoint}
