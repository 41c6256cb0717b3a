"""Refusals that were built and neither left their session nor were settled: none of them may look like a success."""

from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from obo_bench.core.refusals import Refusal


class RefusalWatch:
    """Remembers, for one session, every refusal that was built since it opened and has not been settled.

    A refusal belongs to the session in whose context it was built, and to those around that. A worker thread has no
    context of its own: what it builds belongs to every open session, so that doubt never ends in a success.
    """

    def __init__(self) -> None:
        self._around: list[RefusalWatch] = []
        self._seen: dict[int, Refusal] = {}

    def open(self) -> None:
        """Begin to watch."""
        self._around = _context.get()
        _open.append(self)
        _context.set([self, *self._around])

    def unsettled(self) -> list["Refusal"]:
        """Return what was not settled, oldest first."""
        return list(self._seen.values())

    def close(self, leaving: BaseException | None) -> None:
        """End watching: all that was seen has been recorded, and only `leaving` still matters to sessions around."""
        if self in _open:
            _open.remove(self)
            _context.set(self._around)
        for refusal in self.unsettled():
            for other in _open.copy():
                if refusal is not leaving or other not in self._around:
                    other.forget(refusal)
        self._seen.clear()

    def remember(self, refusal: "Refusal") -> None:
        """Remember a refusal."""
        self._seen[id(refusal)] = refusal

    def forget(self, refusal: "Refusal") -> None:
        """Forget a refusal."""
        self._seen.pop(id(refusal), None)


_open: list[RefusalWatch] = []
_context: ContextVar[list[RefusalWatch]] = ContextVar("refusal_watches", default=[])  # noqa: B039  # never mutated


def note(refusal: "Refusal") -> None:
    """A refusal was built: every session that it may belong to remembers it."""
    for watch in _context.get() or _open.copy():
        watch.remember(refusal)


def settle(refusal: "Refusal") -> None:
    """A refusal has been dealt with: no session may end because of it."""
    for watch in _open.copy():
        watch.forget(refusal)
