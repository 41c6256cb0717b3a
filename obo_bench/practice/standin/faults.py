"""Faults on demand: what the stand-in does wrong, to which request or task, how often.

One line names one fault: `WHERE:WHAT[=VALUE][*TIMES][@PROBABILITY]`, as in `submit:drop-answer*1`.
"""

import json
import math
import random
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from obo_bench.core.refusals import UsageError
from obo_bench.practice.standin.scenarios import SCENARIOS

WORK = "work"
"""Where a fault stands that gives a task another scenario; its value is a part of the instance's id."""

ANY = "any"
"""Every exchange."""

EXCHANGES: Mapping[str, str] = MappingProxyType(
    {
        "health": "GET /api/health",
        "state": "GET /api/state",
        "settings": "GET /api/settings",
        "submit": "POST /api/tasks",
        "list": "GET /api/tasks",
        "task": "GET /api/tasks/ID",
        "events": "GET /api/tasks/ID/events",
        "artifact": "GET /api/tasks/ID/artifacts/NAME",
        "cancel": "POST /api/tasks/ID/cancel",
        "resume": "POST /api/tasks/ID/resume",
    }
)
"""Where a fault may strike, beside `any` and `work`: each exchange by its short name."""


def _nothing(text: str) -> None:
    if text:
        raise ValueError("it takes no value")


def _seconds(text: str) -> None:
    if not (math.isfinite(float(text)) and float(text) >= 0):
        raise ValueError("its value is a number of seconds")


def _count(text: str) -> None:
    if int(text) < 0:
        raise ValueError("its value is a number of bytes")


def _http_status(text: str) -> None:
    if not 400 <= int(text) <= 599:
        raise ValueError("its value is an HTTP status of an error")


def _json_object(text: str) -> None:
    if not isinstance(json.loads(text), dict):
        raise ValueError("its value is a JSON object")


@dataclass(frozen=True)
class Action:
    """One way to treat an exchange badly."""

    meaning: str
    """One line for people."""
    check: Callable[[str], None] = _nothing
    """Raises ValueError for a value that means nothing to it."""
    before: bool = False
    """It happens instead of the work that was asked for, or ahead of it."""


ACTIONS: Mapping[str, Action] = MappingProxyType(
    {
        "delay": Action("wait VALUE seconds, then look at the request", _seconds, before=True),
        "drop": Action("hang up without looking at the request", before=True),
        "status": Action("answer with the HTTP status VALUE without acting", _http_status, before=True),
        "delay-answer": Action("act, wait VALUE seconds, then answer", _seconds),
        "drop-answer": Action("act, then hang up instead of an answer"),
        "cut": Action("act, then hang up in the middle of the answer"),
        "not-json": Action("act, then answer JSON that breaks off"),
        "html": Action("act, then answer a web page"),
        "wrong-types": Action("act, then answer values of other types under the same names"),
        "patch": Action(
            "act, then put the members of the JSON object VALUE into the answer; {task_id} in it is the task's id",
            _json_object,
        ),
        "pad": Action("act, then add VALUE bytes to the answer's object", _count),
    }
)
"""What can go wrong with an exchange."""

_LINE = re.compile(
    r"(?P<where>[a-z]+):(?P<what>[a-z-]+)(?:=(?P<value>.*?))?(?:\*(?P<times>\d+))?(?:@(?P<probability>[0-9.]+))?",
    re.DOTALL,
)
_TRANSPORT = ("delay=0.5", "drop", "drop-answer", "status=503", "cut", "not-json")
_WORKING = ("worker-crash", "infra", "budget-paused")


@dataclass(frozen=True)
class Fault:
    """One line, understood."""

    text: str
    """As it was written."""
    where: str
    """An exchange, `any` or `work`."""
    what: str
    """An action, or a scenario for `work`."""
    value: str = ""
    """What the action needs to know; for `work` a part of the instance's id."""
    times: int | None = None
    """How often it strikes; None for ever."""
    probability: float = 1.0
    """How likely it is to strike each time it could."""

    @property
    def action(self) -> Action:
        """What it does to an exchange."""
        return ACTIONS[self.what]

    def falls_on(self, task_id: str, seed: int) -> bool:
        """Say whether a task of this id is struck; the same for ever, so that a test can know it beforehand."""
        return random.Random(f"{seed} {self.where}:{self.what} {task_id}").random() < self.probability


def parse_fault(text: str) -> Fault:
    """Return the fault that a line names; raises UsageError that says what is wrong with it."""
    found = _LINE.fullmatch(text.strip())
    if found is None:
        raise _meaningless(text, "write WHERE:WHAT[=VALUE][*TIMES][@PROBABILITY]")
    fault = Fault(
        text=text.strip(),
        where=found["where"],
        what=found["what"],
        value=found["value"] or "",
        times=int(found["times"]) if found["times"] else None,
        probability=_probability(text, found["probability"]),
    )
    _check(fault)
    return fault


def chaos(probability: float) -> tuple[Fault, ...]:
    """Return faults of which one strikes with `probability` at each request, and with the same at each task."""
    if not 0 <= probability <= 1:
        raise UsageError(f"the probability of faults is {probability!r}; give one from 0 to 1")
    lines = [f"{ANY}:{what}@{probability / len(_TRANSPORT):.6f}" for what in _TRANSPORT]
    return tuple(map(parse_fault, [*lines, *(f"{WORK}:{what}@{probability / len(_WORKING):.6f}" for what in _WORKING)]))


def _check(fault: Fault) -> None:
    if fault.where == WORK:
        if fault.what not in SCENARIOS:
            raise _meaningless(fault.text, f"after {WORK}: comes a scenario, one of: {', '.join(SCENARIOS)}")
        return
    if fault.where != ANY and fault.where not in EXCHANGES:
        raise _meaningless(fault.text, f"it begins with one of: {', '.join([WORK, ANY, *EXCHANGES])}")
    if fault.what not in ACTIONS:
        raise _meaningless(fault.text, f"the stand-in can do one of: {', '.join(ACTIONS)}")
    try:
        fault.action.check(fault.value)
    except ValueError as error:
        raise _meaningless(fault.text, f"{fault.what}: {fault.action.meaning} ({error})") from None


def _probability(text: str, written: str | None) -> float:
    try:
        value = float(written) if written else 1.0
    except ValueError:
        value = math.nan
    if not 0 <= value <= 1:
        raise _meaningless(text, "the probability after @ is from 0 to 1")
    return value


def _meaningless(text: str, why: str) -> UsageError:
    return UsageError(f"fault {text[:200]!r} means nothing to the stand-in server: {why}")
