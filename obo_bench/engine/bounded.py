"""A deadline for calls of the Docker SDK that have none.

The SDK's time-out bounds the silence on a plain answer, but not an exec, whose output comes over a raw socket.
"""

import threading
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


class EngineSilent(OSError):
    """The daemon did not answer in time."""


def bounded(seconds: float, call: Callable[[], T], what: str) -> T:
    """Return what `call` returns, or raise what it raises; raises EngineSilent after `seconds`.

    A call that hangs is left behind in a thread that does not keep the process alive.
    """
    results: list[T] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(call())
        except BaseException as error:  # noqa: BLE001  # raised again where the caller waits
            errors.append(error)

    thread = threading.Thread(target=run, name=f"bounded {what}", daemon=True)
    thread.start()
    thread.join(seconds)
    if errors:
        raise errors[0]
    if not results:
        raise EngineSilent(f"{what}: the engine did not answer within {seconds:.0f} s")
    return results[0]
