"""The server of a recorded run: reached as the run reached it, asked about its tasks, told to end them."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

from obo_bench.core.redact import MASK, process_redactor
from obo_bench.core.refusals import PreflightRefused
from obo_bench.gateway.admission.settings import load_settings
from obo_bench.gateway.client import CALL_DEADLINE_SEC, GatewayClient, password_from_environment
from obo_bench.gateway.errors import GatewayError, GatewayRefused, GatewayUnreachable
from obo_bench.gateway.wire import Health, State, TaskRecord
from obo_bench.programbench.leftovers.run_lookup import RecordedRun

SETTLE_SEC = 60.0
"""A cancelled task is over within seconds; after this it counts as live."""
FINALIZING_SEC = 30.0
"""The server needs a second or two to collect the patch of an agent that has finished."""
_POLL_SEC = 0.5
_LOST_LOOKS = 2
"""A task on its way from the queue to a worker may be in neither for one look."""


class AnotherServer(GatewayError):
    """What answers is not the server that the run was admitted with, so what it does not know proves nothing."""


class StillLive(GatewayError):
    """The task goes on although its end was asked for."""


class TaskEnd(StrEnum):
    """How a task stands once its end was asked for."""

    CANCELLED = "cancelled"
    """It was live, and is over because it was cancelled."""
    LOST = "lost"
    """Waiting for ever in no queue: a crash of the server lost it, nothing can start it any more."""
    UNKNOWN = "unknown_to_the_server"
    """The submission never arrived, or the server has forgotten it."""
    COMPLETED = "completed"
    """The agent had finished: nothing was cancelled."""
    OVER = "over"
    """It had ended by itself in another way."""


@dataclass(frozen=True)
class Ended:
    """A task that is certainly over."""

    how: TaskEnd
    """How it stands."""
    record: TaskRecord | None = None
    """The server's record, where it has one."""


class RunServer:
    """The server that a run's tasks are at; a context manager."""

    def __init__(self, run: RecordedRun, url: str | None = None, *, deadline_sec: float = CALL_DEADLINE_SEC) -> None:
        """Take the address from `url`, else from the manifest; raises GatewayUnreachable when there is none.

        `deadline_sec` bounds each question.
        """
        self.address = url or run.url
        """The server's address."""
        if not _is_address(self.address):
            raise GatewayUnreachable("the manifest holds no usable address of the server: give --ouroboros-url")
        self._client = GatewayClient(self.address, password=_password(run), deadline_sec=deadline_sec)
        self._admitted_version = run.runtime_version

    def __enter__(self) -> Self:
        """Use as a context manager."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Close all connections."""
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._client.close()

    def check(self) -> None:
        """Raise PreflightRefused unless the server answers questions about tasks: then nothing may be claimed."""
        try:
            self._client.queue()
        except GatewayRefused as refused:
            if refused.status == 401:
                raise PreflightRefused(
                    "gateway_auth_required",
                    f"the server at {self.address!r} asks for its network password",
                    evidence={"base_url": self.address, "why": str(refused)},
                ) from refused
            raise _cannot_be_asked(self.address, refused) from refused
        except GatewayError as error:
            raise _cannot_be_asked(self.address, error) from error

    def look(self) -> tuple[Health, State]:
        """Return who answers at the address, and its load; raises GatewayError."""
        return self._client.health(), self._client.state()

    def record(self, task_id: str) -> TaskRecord | None:
        """Return a task's record, or None when the run's own server does not know it; raises GatewayError."""
        record = self._client.task(task_id)
        if record is None and self._admitted_version is not None:
            version = self._client.health().runtime_version
            if version != self._admitted_version:
                raise AnotherServer(
                    f"{self.address} runs {version}, the run was admitted with {self._admitted_version}: "
                    f"that it does not know task {task_id} proves nothing"
                )
        return record

    def end(self, task_id: str, announce: Callable[[], object]) -> Ended:
        """Make sure that a task is over; `announce` is called before it is cancelled.

        Raises StillLive when it is not over in time, any other GatewayError when that cannot be known.
        """
        record = self._settled_or_working(task_id)
        if record is None:
            return Ended(TaskEnd.UNKNOWN)
        if record.final:
            return Ended(TaskEnd.COMPLETED if record.status == "completed" else TaskEnd.OVER, record)
        announce()
        return self._cancel(task_id)

    def _settled_or_working(self, task_id: str) -> TaskRecord | None:
        """Work that is done and only being collected is not thrown away."""
        give_up = time.monotonic() + FINALIZING_SEC
        while True:
            record = self.record(task_id)
            collecting = record is not None and not record.final and record.artifact_status == "finalizing"
            if not collecting or time.monotonic() > give_up:
                return record
            time.sleep(_POLL_SEC)

    def _cancel(self, task_id: str) -> Ended:
        give_up = time.monotonic() + SETTLE_SEC
        live_id, in_no_queue = task_id, 0
        while True:
            active = self._ask_to_cancel(live_id)
            record = self.record(task_id)
            if record is None:
                return Ended(TaskEnd.UNKNOWN)
            if record.final:
                return Ended(TaskEnd.COMPLETED if record.status == "completed" else TaskEnd.CANCELLED, record)
            # The server may have retried the task under an id of its own.
            live_id = record.task_id or task_id
            lost = not active and record.status == "scheduled" and not self._client.queue().holds(live_id)
            in_no_queue = in_no_queue + 1 if lost else 0
            if in_no_queue >= _LOST_LOOKS:
                return Ended(TaskEnd.LOST, record)
            if time.monotonic() > give_up:
                raise StillLive(f"task {live_id} is still {record.status} {SETTLE_SEC:.0f} s after it was cancelled")
            time.sleep(_POLL_SEC)

    def _ask_to_cancel(self, task_id: str) -> bool:
        try:
            return self._client.cancel(task_id)
        except GatewayRefused as refused:
            if refused.status == 503:
                return True  # accepted, but the worker has not let go of it yet
            raise


def _is_address(url: str) -> bool:
    """An address with a password in it was redacted on its way into the manifest."""
    try:
        return MASK not in url and bool(urlsplit(url).hostname)
    except ValueError:
        return False


def _password(run: RecordedRun) -> str | None:
    """The environment's password, else that of the settings file that the run used."""
    named = password_from_environment()
    if named or run.settings_path is None:
        return named
    try:
        settings = load_settings(run.settings_path, named=False)
    except PreflightRefused as refusal:
        # Without it a server that wants a password says so itself.
        refusal.settle()
        return None
    process_redactor().learn(settings.secrets())
    return str(settings.values.get("OUROBOROS_NETWORK_PASSWORD") or "") or None


def _cannot_be_asked(address: str, error: GatewayError) -> PreflightRefused:
    return PreflightRefused(
        "gateway_not_ready",
        f"the server at {address!r} cannot be asked, so nothing was cancelled and nothing is claimed: {error}",
        evidence={"ouroboros_url": address, "why": str(error)},
        remedy="start the server; if it has moved to another port, name its address with --ouroboros-url",
    )
