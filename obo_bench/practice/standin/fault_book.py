"""The faults that are in force at a stand-in, and how often each has struck; safe to use from several threads."""

import random
import threading
from collections.abc import Iterable
from typing import Any

from obo_bench.practice.standin.faults import ANY, WORK, Fault


class FaultBook:
    """Decides, request by request and task by task, what goes wrong."""

    def __init__(self, faults: Iterable[Fault], seed: int) -> None:
        """`seed` makes two stand-ins that see the same requests in the same order go wrong in the same way."""
        self.seed = seed
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self._faults: list[Fault] = list(faults)
        self._struck: dict[int, int] = {}

    def add(self, faults: Iterable[Fault]) -> None:
        """Put further faults in force."""
        with self._lock:
            self._faults.extend(faults)

    def clear(self) -> None:
        """Let nothing go wrong any more."""
        with self._lock:
            self._faults, self._struck = [], {}

    def strike(self, exchange: str) -> list[Fault]:
        """Return what goes wrong with one request, in the order in which it was asked for."""
        with self._lock:
            due = [
                number
                for number, fault in enumerate(self._faults)
                if fault.where in (ANY, exchange) and self._left(number) and self._random.random() < fault.probability
            ]
            return [self._count(number) for number in due]

    def scenario(self, task_id: str, instance_id: str, default: str) -> str:
        """Return how a new task goes: the first fault that falls on it, else `default`."""
        with self._lock:
            for number, fault in enumerate(self._faults):
                meant = fault.where == WORK and fault.value in instance_id
                if meant and self._left(number) and fault.falls_on(task_id, self.seed):
                    return self._count(number).what
        return default

    def document(self) -> dict[str, Any]:
        """Return what is in force, for people and tests."""
        with self._lock:
            rows = [
                {"fault": fault.text, "struck": self._struck.get(number, 0), "left": self._remaining(number)}
                for number, fault in enumerate(self._faults)
            ]
        return {"seed": self.seed, "faults": rows}

    def _count(self, number: int) -> Fault:
        self._struck[number] = self._struck.get(number, 0) + 1
        return self._faults[number]

    def _left(self, number: int) -> bool:
        return self._remaining(number) != 0

    def _remaining(self, number: int) -> int | None:
        times = self._faults[number].times
        return None if times is None else max(0, times - self._struck.get(number, 0))
