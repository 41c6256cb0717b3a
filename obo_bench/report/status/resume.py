"""What a resume of a run would do: the decisions that the run itself would make, made without acting on them."""

import shlex
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from obo_bench.core.redact import MASK
from obo_bench.gateway.errors import GatewayError
from obo_bench.programbench.leftovers.resuming import is_practice, needed_variables, recorded_resume
from obo_bench.programbench.paths import InstancePaths
from obo_bench.programbench.solving.decision import Decision, Step, Wishes, decide_by
from obo_bench.report.status.document import InstanceStatus, MoneyStatus, NextStep, ResumeStatus
from obo_bench.report.status.live import LiveServer, LookingTasks, held_by
from obo_bench.report.status.record import Record

ASK = "ask"
"""Step of an instance whose server has to be asked first, and does not answer."""


@dataclass(frozen=True)
class Foretelling:
    """Foretells a resume."""

    record: Record
    """The run, whose process is gone."""
    server: LiveServer
    """Its server."""
    money: MoneyStatus
    """What it has cost."""

    def foretell(self, instances: Sequence[InstanceStatus]) -> ResumeStatus:
        """Give every instance its next step, and return what they come to."""
        retry = self.record.harness.get("retry")
        wishes = Wishes(retry=tuple(map(str, retry)) if isinstance(retry, list) else ())
        tasks = LookingTasks(self.server, self.money)
        for instance in instances:
            instance.next_step = _next_step(InstancePaths(self.record.root, instance.instance_id), wishes, tasks)
        steps = Counter(instance.next_step.step for instance in instances if instance.next_step is not None)
        return self._command(dict(steps))

    def _command(self, steps: dict[str, int]) -> ResumeStatus:
        answers = bool(self.server.status.reachable) and self.server.status.same is not False
        command = recorded_resume(self.record.manifest, self.record.root, server_answers=answers)
        return ResumeStatus(command=command, shell=shlex.join(command), steps=steps, notes=self._notes(command, steps))

    def _notes(self, command: Sequence[str], steps: dict[str, int]) -> list[str]:
        notes, server = [], self.server.status
        if any(MASK in word for word in command):
            notes.append(f"{MASK} stands for a secret that was not recorded: put it back in")
        if variables := needed_variables(self.record.manifest):
            notes.append(f"set what came from the environment as it was: {', '.join(variables)}")
        if command[1:2] != ["practice"]:
            if is_practice(self.record.manifest):
                notes.append("its programs are known only after the `export` line that `practice gateway` shows")
            if not server.reachable:
                notes.append(f"the server cannot be asked, so a resume would be refused: {server.detail}")
            elif server.same is False:
                notes.append(
                    f"the server runs {server.version}, the run was admitted with {server.admitted_version}: "
                    "a resume would be refused"
                )
        held = held_by(self.money, server)
        if held and steps.get(Step.SOLVE):
            notes.append(f"no new attempt would be begun: {held}")
        return notes


def _next_step(paths: InstancePaths, wishes: Wishes, tasks: LookingTasks) -> NextStep:
    try:
        decision = decide_by(paths, wishes, tasks)
    except GatewayError:
        return NextStep(step=ASK, why="only its server can tell what became of its task")
    except OSError as error:
        return NextStep(step=ASK, why=f"its files cannot be read: {error}")
    return NextStep(step=decision.step.value, attempt=decision.attempt, why=_why(decision))


def _why(decision: Decision) -> str:
    """Return a decision in words."""
    task = decision.checkpoint.task_id if decision.checkpoint is not None else ""
    live = decision.record is not None and not decision.record.final
    fetched = decision.checkpoint is not None and decision.checkpoint.status == "completed"
    reason = decision.row.reason_code if decision.row is not None else "REASON"
    told = {
        Step.SKIP: "it is done",
        Step.KEEP: f"it stays as it is; --retry {reason} solves it again",
        Step.ATTACH: f"the work of task {task} is fetched" if fetched else f"goes on with task {task}",
        Step.REPOST: f"task {task} never arrived: it is submitted again, under the same id",
        Step.CANCELLED: "its cancellation is finished and put on record",
        Step.SOLVE: f"attempt {decision.attempt} begins{', once the earlier task is cancelled' if live else ''}",
        Step.HELD: "no further task may be paid for",
    }
    return told.get(decision.step, decision.why)
