"""Images: present or pulled with back-off, and always known by id and digest."""

import re
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal

from obo_bench.core.reporter import Reporter
from obo_bench.engine.daemon import Engine

PLATFORM = "linux/amd64"
"""The official images exist for this platform only."""
PULL_WAITS_SEC = (5.0, 15.0, 45.0, 120.0)
"""Pauses between tries; registries lift a rate limit within minutes or not at all."""
PullPolicy = Literal["missing", "always", "never"]

_RATE_LIMITED = re.compile(r"(?i)toomanyrequests|too many requests|\b429\b|rate limit")
_NOT_FOUND = re.compile(r"(?i)not found|manifest unknown|pull access denied|does not exist|no such image")


class ImageUnavailable(RuntimeError):
    """No usable image: `reason` is the row's reason code."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        """image_not_found, image_pull_rate_limited or image_pull_failed."""


@dataclass(frozen=True)
class ImageIdentity:
    """Which image it really was."""

    name: str
    """As asked for."""
    id: str
    """The engine's id, a hash of the configuration."""
    digests: tuple[str, ...]
    """Registry digests; empty for an image that was built here."""

    def facts(self) -> dict[str, Any]:
        """Return what the manifest says of it."""
        return asdict(self) | {"digests": list(self.digests)}


def ensure_image(
    engine: Engine,
    name: str,
    policy: PullPolicy,
    reporter: Reporter,
    *,
    wait: Callable[[float], object] = time.sleep,
) -> ImageIdentity:
    """Return the image's identity, pulled where the policy says so; raises ImageUnavailable with a typed reason."""
    present = find_image(engine, name)
    if policy == "never" or (policy == "missing" and present is not None):
        if present is None:
            raise ImageUnavailable(
                "image_not_found", f"image {name!r} is not on the engine and pulling is switched off"
            )
        return present
    _pull(engine, name, reporter, wait)
    pulled = find_image(engine, name)
    if pulled is None:
        raise ImageUnavailable("image_pull_failed", f"image {name!r} was pulled but is not on the engine")
    return pulled


def find_image(engine: Engine, name: str) -> ImageIdentity | None:
    """Return the identity of a present image, or None."""
    from docker.errors import ImageNotFound

    try:
        image = engine.client.images.get(name)
    except ImageNotFound:
        return None
    return ImageIdentity(name=name, id=str(image.id), digests=tuple(image.attrs.get("RepoDigests") or ()))


def pull_failure(error: str) -> str:
    """Return the reason code for what the engine said about a failed pull."""
    if _RATE_LIMITED.search(error):
        return "image_pull_rate_limited"
    return "image_not_found" if _NOT_FOUND.search(error) else "image_pull_failed"


def _pull(engine: Engine, name: str, reporter: Reporter, wait: Callable[[float], object]) -> None:
    from docker.errors import APIError

    repository, _, tag = name.rpartition(":")
    for pause in (*PULL_WAITS_SEC, None):
        reporter.event(f"pulling {name}")
        try:
            engine.client.images.pull(repository, tag=tag, platform=PLATFORM)
        except (APIError, OSError) as error:
            reason = pull_failure(str(error))
            if pause is None or reason == "image_not_found":
                raise ImageUnavailable(reason, f"image {name!r} cannot be pulled: {error}") from error
            reporter.event(f"pull of {name} failed ({reason}); again in {pause:.0f} s")
            wait(pause)
        else:
            return
