"""Tell trouble of the engine itself from trouble with one container: a daemon that is gone, a disk that is full."""

import errno
import time
from collections.abc import Callable, Iterator

from obo_bench.engine.bounded import EngineSilent, bounded
from obo_bench.engine.daemon import Engine

PATIENCE_SEC = 30.0
"""A daemon that is restarted is back within seconds."""
_ANSWER_SEC = 10.0
_PAUSE_SEC = 1.0
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
_NO_SPACE = "no space left on device"
"""What the daemon says; it has no code of its own for it."""


def engine_errors(*more: type[Exception]) -> tuple[type[Exception], ...]:
    """Return what the Docker SDK raises when the daemon refuses or goes away (it wraps only a part of it), and `more`.

    For an `except` clause: the SDK is imported only where it is used anyway.
    """
    from docker.errors import DockerException
    from requests import RequestException
    from urllib3.exceptions import HTTPError

    return (DockerException, RequestException, HTTPError, ConnectionError, EngineSilent, *more)


def engine_silence(engine: Engine, wait: Callable[[float], object] = time.sleep) -> str | None:
    """Return why the daemon cannot be reached, or None when it answers within `PATIENCE_SEC`.

    `wait` pauses for so many seconds; one that returns something true ends the patience.
    """
    give_up = time.monotonic() + PATIENCE_SEC
    while True:
        try:
            bounded(_ANSWER_SEC, engine.client.ping, "ping")
        except engine_errors() as error:
            if time.monotonic() > give_up or wait(_PAUSE_SEC):
                return str(error)
        else:
            return None


def is_disk_full(error: BaseException) -> bool:
    """Say whether an error, or what it came from, is a full disk or a spent quota; ours or the daemon's."""
    return any(_says_full(link) for link in _chain(error))


def _says_full(error: BaseException) -> bool:
    from docker.errors import DockerException

    if isinstance(error, OSError) and error.errno in _FULL:
        return True
    return isinstance(error, DockerException) and _NO_SPACE in str(error).lower()


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    link: BaseException | None = error
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__
