"""Drive a campaign: one step after the other, each asked for, paid for and recorded before the next one begins."""

import shlex
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from obo_bench.core.ending import refusal_record
from obo_bench.core.manifest import RefusalRecord
from obo_bench.core.refusals import ExitCode, PreflightRefused, Refusal, RuntimeAttestationRefused
from obo_bench.core.reporter import Reporter
from obo_bench.core.session import Session
from obo_bench.core.signals import Interrupted
from obo_bench.gateway.admission.budget import require_budget
from obo_bench.gateway.admission.settings import SettingsFile
from obo_bench.gateway.admitted import AdmittedServer
from obo_bench.launch.campaign import step_states
from obo_bench.launch.campaign.money import RAISE, Spent, allowance, spent_by, total_usd, unknown_steps
from obo_bench.launch.campaign.opening import Opened
from obo_bench.launch.campaign.reactions import (
    FATAL,
    PAUSE,
    Reaction,
    Then,
    conclusion,
    exit_code_of,
    reaction_to,
)
from obo_bench.launch.campaign.resolving import Step
from obo_bench.launch.campaign.retrying import is_done, is_retried
from obo_bench.launch.campaign.step_child import StepChild, wait_for_survivor
from obo_bench.launch.campaign.step_end import (
    StepEnd,
    end_of_child,
    left_running,
    recorded_end,
    recorded_invocation,
)

_LOCKED = "run_locked"


@dataclass(frozen=True)
class Stop:
    """Why a campaign does not go on."""

    reaction: Reaction
    """What it ends as."""
    exit_code: int
    """Its exit status."""
    detail: str
    """One human line."""
    refusal: RefusalRecord | None = None
    """The refusal behind it."""
    needed_usd: float | None = None
    """The campaign's ceiling with which it would go on, in USD, where it is known."""


class _Halt(Exception):
    """Leaves the step that cannot be started."""

    def __init__(self, stop: Stop) -> None:
        super().__init__(stop.detail)
        self.stop = stop


class Driver:
    """Goes through the steps of one invocation."""

    def __init__(
        self,
        session: Session,
        opened: Opened,
        server: AdmittedServer,
        settings: SettingsFile,
        reporter: Reporter,
        *,
        quiet: bool,
    ) -> None:
        self._session, self._opened, self._server = session, opened, server
        self._settings, self._reporter, self._quiet = settings, reporter, quiet
        self._ends = step_states.last_ends(session.run_root)
        self._starts = step_states.starts(session.run_root)
        self._outcomes: dict[str, str] = {}
        self._skipped = 0

    def run(self) -> None:
        """Go through all steps, and conclude the invocation; raises Interrupted for a signal."""
        try:
            stop = self._go_through(self._opened.steps)
        finally:
            self._count()
        if stop is None:
            self._session.conclude(*conclusion(self._outcomes.values()))
            return
        self._tell(f"{stop.reaction.then}: {stop.detail}")
        self._session.manifest.harness |= {"stopped": stop.detail, "needed_usd": stop.needed_usd}
        self._session.manifest.extra.refusal = stop.refusal
        self._session.conclude(stop.reaction.outcome, stop.exit_code)

    def _go_through(self, steps: Sequence[Step]) -> Stop | None:
        for number, step in enumerate(steps):
            if self._is_over(step):
                continue
            if why := self._unmet(step):
                self._tell(f"not started: {why}", step)
                self._leave_out(step, step_states.NEEDS, why)
                continue
            stop = self._take(step)
            if stop is not None:
                for left in steps[number + 1 :]:
                    self._leave_out(left, stop.reaction.outcome, stop.detail)
                return stop
        return None

    def _is_over(self, step: Step) -> bool:
        """Whether an earlier invocation has done with a step."""
        end = self._ends.get(step.id)
        row = step_states.states(self._session.run_root).get(step.id)
        if end is None or step_states.end_of_row(row) is None or not is_done(step, end):
            return False
        self._outcomes[step.id] = end.outcome
        self._skipped += 1
        self._tell(f"done already: {end.outcome}", step)
        return True

    def _unmet(self, step: Step) -> str:
        for need in step.table.needs:
            outcome = self._outcomes.get(need)
            if outcome is None:
                return f"{need} has no outcome"
            if outcome not in step.table.on:
                return f"{need} ended as {outcome}, it starts on {', '.join(step.table.on)}"
        return ""

    def _take(self, step: Step) -> Stop | None:
        """Run a step, again where the infrastructure broke it; returns why the campaign does not go on after it."""
        try:
            end = self._run_with_retries(step)
        except _Halt as halt:
            self._leave_out(step, halt.stop.reaction.outcome, halt.stop.detail.removeprefix(_of(step)))
            return halt.stop
        self._outcomes[step.id] = end.outcome
        reaction = reaction_to(end)
        if reaction.exit_code != ExitCode.OK:
            self._session.manifest.harness["failed_step"] = {
                "id": step.id,
                "kind": step.table.kind,
                "run_root": str(step.root),
            }
        if reaction.then is Then.GOES_ON:
            return None
        refusal = RefusalRecord.model_validate({"remedy": "", **end.refusal}) if "stage" in end.refusal else None
        code = exit_code_of(reaction, end)
        told = f"step {step.id} ended as {end.outcome}{f' ({end.reason})' if end.reason else ''}"
        if reaction.then is Then.PAUSES:
            told += "; " + (RAISE if step.table.max_cost_usd is None else "raise its max_cost_usd in the file")
        return Stop(reaction, code, told, _with_code(refusal, code))

    def _run_with_retries(self, step: Step) -> StepEnd:
        end: StepEnd | None = self._survivor(step)
        for left in range(step.retries, -1, -1):
            end = end or self._start(step)
            if not left or not is_retried(step, end):
                break
            pause = self._opened.plan.campaign.retry_pause_sec
            self._tell(f"{end.code()}: again in {pause:g} s, {left} time(s) at most", step)
            self._pause(step, end, pause)
            end = None
        assert end is not None
        return end

    def _pause(self, step: Step, end: StepEnd, seconds: float) -> None:
        if end.reason == _LOCKED:
            wait_for_survivor(step, self._session.run_root, self._reporter)
        time.sleep(seconds)

    def _survivor(self, step: Step) -> StepEnd | None:
        """Return the ending of a step that an earlier invocation had started and nobody took down."""
        row = step_states.states(self._session.run_root).get(step.id)
        if row is None or row.reason_code != step_states.STARTED:
            return None
        began = time.monotonic()
        wait_for_survivor(step, self._session.run_root, self._reporter)
        end = recorded_end(step, str(row.details.get("previous_invocation") or ""))
        if end is not None:
            self._tell(f"has ended meanwhile: {end.outcome}", step)
            self._conclude(step, end, time.monotonic() - began)
        return end

    def _start(self, step: Step) -> StepEnd:
        """Start a step and wait for its end; raises _Halt when it must not start, Interrupted for a signal."""
        self._confirm_server()
        ceiling = self._allowed_usd(step)
        number = self._starts.get(step.id, 0) + 1
        self._starts[step.id] = number
        before = recorded_invocation(step)
        step_states.intend(self._session.ledger, step, number, before, ceiling)
        arguments = step.arguments(ceiling, quiet=self._quiet)
        self._tell(f"starts: obo-bench {shlex.join(arguments)}", step)
        began = time.monotonic()
        child = StepChild(step, self._session.run_root, number)
        status = child.run(arguments, self._opened.frame.directory)
        end = end_of_child(step, before, status, child.answer)
        self._conclude(step, end, time.monotonic() - began)
        if self._session.signals.arrived is not None:
            raise Interrupted(self._session.signals.arrived)
        return end

    def _conclude(self, step: Step, end: StepEnd, seconds: float) -> None:
        self._ends[step.id] = end
        step_states.conclude(self._session.ledger, step, self._starts.get(step.id, 1), end, seconds)
        self._tell(f"ended: {end.code()} ({'status unknown' if end.exit_code is None else end.exit_code})", step)
        self._count()
        self._session.checkpoint()

    def _confirm_server(self) -> None:
        try:
            self._server.confirm(threading.Event())
        except RuntimeAttestationRefused as refusal:
            refusal.settle()
            raise _halted(FATAL, refusal) from refusal

    def _allowed_usd(self, step: Step) -> float | None:
        """Return the ceiling of a step; raises _Halt when there is not enough money for it."""
        allowed = allowance(step, self._spent(), self._opened.ceiling_usd)
        if allowed.why_not:
            told = f"{_of(step)}{allowed.why_not}; {allowed.remedy}"
            raise _Halt(Stop(PAUSE, int(PAUSE.exit_code or 0), told, needed_usd=allowed.needed_usd))
        required = self._opened.plan.campaign.min_budget_usd
        if required is not None and step.kind.spends:
            try:
                require_budget(self._session, required, self._settings, self._reporter)
            except PreflightRefused as refusal:
                refusal.settle()
                raise _halted(PAUSE, refusal) from refusal
        return allowed.ceiling_usd

    def _leave_out(self, step: Step, reason: str, why: str) -> None:
        """Record that a step is not started now; what was started may still live, and what is done stays done."""
        row, end = step_states.states(self._session.run_root).get(step.id), self._ends.get(step.id)
        was_started = row is not None and row.reason_code == step_states.STARTED
        if not was_started and (end is None or not is_done(step, end)):
            step_states.leave_out(self._session.ledger, step.id, reason, why)

    def _count(self) -> None:
        extra, ends = self._session.manifest.extra, self._ends
        completed = sum(end.outcome in ("completed", "dry_run") for end in ends.values())
        extra.completed_count, extra.failed_count = completed, len(ends) - completed
        extra.skipped_count = self._skipped
        extra.not_attempted_count = len(self._opened.steps) - len(ends)
        extra.cost = _costs(self._spent(), self._opened.ceiling_usd)
        started = [step for step in self._opened.steps if step.kind.spends and step.id in self._starts]
        extra.still_running = [task for step in started for task in left_running(step)]

    def _spent(self) -> dict[str, Spent]:
        """Return what each step that was ever started has cost, as the ledger tells."""
        ended = step_states.endings(self._session.run_root)
        return {step.id: spent_by(step, ended[step.id]) for step in self._opened.steps if ended.get(step.id)}

    def _tell(self, text: str, step: Step | None = None) -> None:
        self._reporter.event(text, step.id if step else "")


def _halted(reaction: Reaction, refusal: Refusal) -> _Halt:
    code = int(reaction.exit_code or 0)
    return _Halt(Stop(reaction, code, refusal.message, _with_code(refusal_record(refusal), code)))


def _with_code(refusal: RefusalRecord | None, code: int) -> RefusalRecord | None:
    return refusal.model_copy(update={"exit_code": code}) if refusal is not None else None


def _of(step: Step) -> str:
    return f"step {step.id}: "


def _costs(spent: Mapping[str, Spent], ceiling_usd: float | None) -> dict[str, Any]:
    unknown = unknown_steps(spent.values())
    return {
        "known_usd": total_usd(spent.values()),
        "lower_bound": unknown > 0,
        "unknown": unknown,
        "by_step": {name: each.known_usd for name, each in spent.items() if each.known_usd is not None},
        "ceiling_usd": ceiling_usd,
    }
