"""Something that several checks need and that is asked for only once, by whichever comes first."""

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from obo_bench.core.refusals import Refusal
from obo_bench.programbench.doctor.verdict import CannotLook

T = TypeVar("T")


class Once(Generic[T]):
    """Asks once and remembers the answer, or what asking raised."""

    def __init__(self, absent: str, ask: Callable[[], T], patience_sec: float) -> None:
        """`absent` tells others that there is no answer; they wait for one for `patience_sec` seconds."""
        self._absent = absent
        self._ask = ask
        self._patience_sec = patience_sec
        self._asking = threading.Lock()
        self._answers: list[T] = []
        self._error: Exception | None = None

    def ask(self) -> T:
        """Return the answer, or raise what asking has raised (a refusal is settled: here it decides nothing)."""
        if not self._asking.acquire(timeout=self._patience_sec):
            raise CannotLook(f"{self._absent}: no answer within {self._patience_sec:g} s")
        try:
            if not self._answers and self._error is None:
                self._try()
        finally:
            self._asking.release()
        if self._error is not None:
            raise self._error
        return self._answers[0]

    def need(self) -> T:
        """Return the answer for a check that is about something else; raises CannotLook when there is none."""
        try:
            return self.ask()
        except CannotLook:
            raise
        except Exception as error:
            raise CannotLook(self._absent) from error

    def answer(self) -> T | None:
        """Return the answer if there is one already; asks nobody."""
        return self._answers[0] if self._answers else None

    def _try(self) -> None:
        try:
            self._answers.append(self._ask())
        except Exception as error:  # noqa: BLE001  # each check that asks gets it
            self._error = error
            if isinstance(error, Refusal):
                error.settle()
