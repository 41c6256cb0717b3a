"""How many commands a task's agent has had run, as the server's own event stream tells."""

from obo_bench.gateway.client import GatewayClient
from obo_bench.gateway.errors import GatewayError

_TOOL = "run_command"
_WAS_RUN = frozenset({"ok", "non_zero_exit", "shell_error"})
"""Statuses of a call that was meant for the container; one that the server's own policy refused never was."""
_REPEATED = 64
"""Numbers of events are not stable, so that many of those seen are asked for again."""


class CommandCalls:
    """Counts the command calls of one task; each look asks only for what is new."""

    def __init__(self, client: GatewayClient, task_id: str, *, begun: bool) -> None:
        """`begun` says that the task may have run commands before, which do not count."""
        self._client = client
        self._task_id = task_id
        self._seen: set[tuple[str, str]] = set()
        self._earlier: int | None = None if begun else 0
        self._cursor = 0

    def count(self) -> int | None:
        """Return the number of calls; None when the server does not tell."""
        try:
            events = self._client.events(self._task_id, cursor=max(0, self._cursor - _REPEATED))
        except GatewayError:
            return None
        for event in events:
            number, data = event.get("seq"), event.get("data")
            if isinstance(number, int):
                self._cursor = max(self._cursor, number)
            if event.get("type") == "tool_call" and isinstance(data, dict) and _ran(data):
                # Two logs of the server hold each call; both entries have the same time.
                self._seen.add((str(event.get("ts")), str(data.get("tool_call_id") or data.get("args_ref"))))
        if self._earlier is None:
            self._earlier = len(self._seen)
        return len(self._seen) - self._earlier


def _ran(data: dict[str, object]) -> bool:
    return data.get("tool") == _TOOL and data.get("status") in _WAS_RUN
