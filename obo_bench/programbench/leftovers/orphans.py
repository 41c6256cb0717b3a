"""Say of one object on the engine whether anybody can still need it.

An orphan belongs to a run whose process is dead, and to a task that is over, unknown to its server or was never
submitted. What cannot be known is kept: a container may be where paid work goes on.
"""

from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.documents import UnreadableDocument
from obo_bench.engine.leftovers import EVALUATOR, Leftover
from obo_bench.gateway.checkpoint import CHECKPOINT_NAME, CheckpointFile, TaskCheckpoint
from obo_bench.gateway.errors import GatewayError, GatewayUnreachable
from obo_bench.gateway.wire import TaskRecord
from obo_bench.programbench.leftovers.run_lookup import RecordedRun
from obo_bench.programbench.leftovers.run_server import RunServer, TaskEnd
from obo_bench.programbench.leftovers.run_tasks import is_settled, known_end
from obo_bench.programbench.paths import InstancePaths

_VOLUME_SUFFIX = "-reference"


@dataclass(frozen=True)
class Verdict:
    """What is known of one object."""

    orphan: bool
    """Whether it may go."""
    why: str
    """The reason, for people."""
    task_id: str = ""
    """The task it was made for, where there is one."""


class Judge:
    """Decides for the objects of one run whose process is dead; to be closed."""

    def __init__(self, run: RecordedRun, url: str | None = None) -> None:
        self._run = run
        self._url = url
        self._server: RunServer | None = None
        self._silent: GatewayUnreachable | None = None

    def close(self) -> None:
        """Close the connection to the server, if one was needed."""
        if self._server is not None:
            self._server.close()

    def verdict(self, item: Leftover) -> Verdict:
        """Return whether an object is an orphan; asks the server only where the run's own files do not tell."""
        if item.role == EVALUATOR:
            return Verdict(True, "the evaluation that made it is dead")
        if not item.instance_id or Path(item.instance_id).name != item.instance_id:
            return Verdict(False, f"its label names no instance: {item.instance_id!r}")
        paths = InstancePaths(self._run.root, item.instance_id)
        for path in [paths.checkpoint, *sorted(paths.directory.glob(f"attempts/*/{CHECKPOINT_NAME}"))]:
            try:
                task = CheckpointFile(path).read()
            except UnreadableDocument:
                return Verdict(False, f"the checkpoint {str(path)!r} cannot be read")
            if task is not None and _made_for(item, task):
                return self._of_task(paths, task, current=path == paths.checkpoint)
        return Verdict(True, "no task was submitted for it")

    def _of_task(self, paths: InstancePaths, task: TaskCheckpoint, *, current: bool) -> Verdict:
        if is_settled(paths, task):
            return Verdict(True, f"task {task.task_id} is over and on record", task.task_id)
        end = known_end(task)
        if end is None:
            try:
                record = self._record(task.task_id)
            except GatewayError as error:
                return Verdict(False, f"whether task {task.task_id} still runs is unknown: {error}", task.task_id)
            if record is None:
                return Verdict(True, f"the server does not know task {task.task_id}", task.task_id)
            if not record.final:
                return Verdict(False, f"task {task.task_id} is {record.status} at {self._address}", task.task_id)
            end = TaskEnd.COMPLETED if record.status == "completed" else TaskEnd.OVER
        if end is TaskEnd.COMPLETED and current:
            return Verdict(False, f"task {task.task_id} has finished and is not packaged: resume the run", task.task_id)
        return Verdict(True, f"task {task.task_id} is over", task.task_id)

    def _record(self, task_id: str) -> TaskRecord | None:
        """Ask the server; one that does not answer is asked once, not for every object."""
        if self._silent is not None:
            raise self._silent
        try:
            if self._server is None:
                self._server = RunServer(self._run, self._url)
            return self._server.record(task_id)
        except GatewayUnreachable as error:
            self._silent = error
            raise

    @property
    def _address(self) -> str:
        return self._server.address if self._server is not None else ""


def _made_for(item: Leftover, task: TaskCheckpoint) -> bool:
    """A checkpoint that names no container may mean any of the instance's."""
    return not task.container or item.name.removesuffix(_VOLUME_SUFFIX) == task.container
