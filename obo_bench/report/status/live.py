"""What the server and the engine of a run say now: asked in bounded time, and never told to do anything."""

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from obo_bench.gateway.admission.server_budget import budget_of
from obo_bench.gateway.checkpoint import TaskCheckpoint
from obo_bench.gateway.cost import running_cost
from obo_bench.gateway.errors import GatewayError
from obo_bench.gateway.wire import State, TaskRecord
from obo_bench.programbench.leftovers.run_lookup import RecordedRun
from obo_bench.programbench.leftovers.run_server import RunServer
from obo_bench.report.status.document import ContainerStatus, InstanceStatus, MoneyStatus, ServerStatus

CALL_SEC = 3.0
"""Deadline of one question to the server; the first that is not answered is the last."""
_AT_A_TIME = 8
_LOOKING_SEC = 10.0
"""After this no further task is asked about."""


@dataclass
class LiveServer:
    """The server of a run, as far as it answers; to be closed."""

    status: ServerStatus
    """What it is."""
    _server: RunServer | None = None
    _silent: GatewayError | None = None
    _give_up: float = field(default_factory=lambda: time.monotonic() + _LOOKING_SEC)

    @classmethod
    def of_run(cls, run: RecordedRun, url: str | None) -> "LiveServer":
        """Ask who answers at the run's address, or at `url`."""
        status = ServerStatus(url=url or run.url, admitted_version=run.runtime_version)
        try:
            server = RunServer(run, url, deadline_sec=CALL_SEC)
        except GatewayError as error:
            return cls(status.model_copy(update={"detail": str(error)}), _silent=error)
        try:
            health, state = server.look()
        except GatewayError as error:
            server.close()
            return cls(status.model_copy(update={"reachable": False, "detail": str(error)}), _silent=error)
        version = health.claimed_version
        same = None if run.runtime_version is None else version == run.runtime_version
        told = {"reachable": True, "version": version, "same": same, **_load(state)}
        return cls(status.model_copy(update=told), server)

    def close(self) -> None:
        """Close the connection."""
        if self._server is not None:
            self._server.close()

    def record(self, task_id: str) -> TaskRecord | None:
        """Return a task's record, None when the run's own server does not know it; raises GatewayError."""
        if self._silent is None and time.monotonic() > self._give_up:
            self._silent = GatewayError(f"the server takes too long: not asked after {_LOOKING_SEC:g} s")
        if self._silent is not None or self._server is None:
            raise self._silent or GatewayError("the server was not asked")
        try:
            return self._server.record(task_id)
        except GatewayError as error:
            self._silent = error
            raise

    def look_at(self, instances: Iterable[InstanceStatus]) -> None:
        """Add what the server says of the tasks of these instances."""
        chosen = [instance for instance in instances if instance.task_id]
        if self._server is None or not chosen:
            return
        with ThreadPoolExecutor(_AT_A_TIME) as threads:
            list(threads.map(self._add, chosen))

    def _add(self, instance: InstanceStatus) -> None:
        try:
            record = self.record(instance.task_id)
        except GatewayError as error:
            self.status.detail = self.status.detail or str(error)
            return
        if record is None:
            instance.task_status = "unknown to the server"
            return
        instance.task_status = record.status or instance.task_status
        instance.rounds = record.total_rounds if record.total_rounds is not None else instance.rounds
        cost = running_cost(record)
        if cost is not None and cost["usd"] is not None:
            instance.cost_usd, instance.cost_is_final = cost["usd"], not cost["lower_bound"]


@dataclass(frozen=True)
class LookingTasks:
    """Answers a decision without acting on it: where a run would end a task, its present record is given."""

    server: LiveServer
    """The server."""
    money: MoneyStatus
    """What the run has cost."""

    def record(self, task: TaskCheckpoint) -> TaskRecord | None:
        """Return what the server says of a task, or said at its end before it forgot it; raises GatewayError."""
        return self.server.record(task.task_id) or task.final_record()

    def retire(self, task: TaskCheckpoint) -> TaskRecord | None:
        """Return the task's present record: a resume would cancel a live one first; raises GatewayError."""
        return self.server.record(task.task_id)

    def are_held(self) -> bool:
        """Say whether ceiling or the server's budget leave nothing for another task."""
        return bool(held_by(self.money, self.server.status))


def held_by(money: MoneyStatus, server: ServerStatus) -> str:
    """Return why no further task would be paid for, empty when nothing stands against one."""
    if money.ceiling_usd is not None and money.known_usd >= money.ceiling_usd:
        return f"the run has cost {money.known_usd:.4f} USD, its ceiling is {money.ceiling_usd:g}"
    if server.budget_usd is not None and server.spent_usd is not None and server.spent_usd >= server.budget_usd:
        return f"the server's TOTAL_BUDGET of {server.budget_usd:g} USD is spent"
    return ""


def look_at_containers(run: RecordedRun, instances: Iterable[InstanceStatus]) -> str:
    """Add how the cleanrooms of these instances are; returns why the engine did not tell, empty when it did."""
    chosen = [instance for instance in instances if instance.container is not None]
    if not run.nonce or not chosen:
        return ""
    from obo_bench.engine.room_states import room_states

    try:
        found = room_states(run.nonce, run.engine_id)
    except OSError as error:
        return str(error)
    for instance in chosen:
        name = instance.container.name if instance.container is not None else ""
        room = found.get(name)
        instance.container = (
            ContainerStatus(name=name, state=room.state, detail=room.detail)
            if room is not None
            else ContainerStatus(name=name, state="gone")
        )
    return ""


def _load(state: State) -> dict[str, object]:
    budget = budget_of(state)
    return {
        "ready": state.ready,
        "running": state.running_count,
        "pending": state.pending_count,
        "spent_usd": budget.spent_usd,
        "budget_usd": budget.limit_usd,
    }
