"""Images: present or pulled with back-off, always known by id and digest, and removed when nothing needs them."""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from obo_bench.core.reporter import Reporter
from obo_bench.engine.daemon import Engine
from obo_bench.engine.pull_policy import PullPolicy
from obo_bench.engine.pull_progress import PullMeter
from obo_bench.engine.trouble import engine_errors

PLATFORM = "linux/amd64"
"""The official images exist for this platform only."""
PULL_WAITS_SEC = (5.0, 15.0, 45.0, 120.0)
"""Pauses between tries; registries lift a rate limit within minutes or not at all."""
_LONGEST_CAUSE = 200
"""Characters of an engine's complaint that are shown with each failed try; the last one is told whole."""

_NO_SPACE = re.compile(r"(?i)no space left on device|disk quota exceeded")
_RATE_LIMITED = re.compile(r"(?i)toomanyrequests|too many requests|\b429\b|rate limit")
_FOR_GOOD = frozenset({"image_not_found", "engine_disk_low"})
"""What a repetition within minutes does not change."""
_NOT_FOUND = re.compile(r"(?i)not found|manifest unknown|pull access denied|does not exist|no such image")


class ImageUnavailable(RuntimeError):
    """No usable image: `reason` is the row's reason code."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        """image_not_found, image_pull_rate_limited, image_pull_failed or engine_disk_low."""


class PullAbandoned(RuntimeError):
    """The run ended before the image was there and known to be fit."""


@dataclass(frozen=True)
class ImageIdentity:
    """Which image it really was."""

    name: str
    """As asked for."""
    id: str
    """The engine's id, a hash of the configuration."""
    digests: tuple[str, ...]
    """Registry digests; empty for an image that was built here."""
    pulled: bool = False
    """Whether it was pulled just now and was not on the engine before."""

    def facts(self) -> dict[str, Any]:
        """Return what the manifest says of it."""
        return asdict(self) | {"digests": list(self.digests)}


def ensure_image(
    engine: Engine,
    name: str,
    policy: PullPolicy,
    reporter: Reporter,
    *,
    digests: Sequence[str] = (),
    by_tag: bool = True,
    subject: str = "",
    wait: Callable[[float], object] = time.sleep,
    abandoned: Callable[[], bool] = lambda: False,
) -> ImageIdentity:
    """Return the image's identity, pulled where the policy says so; `wait` pauses for so many seconds between tries.

    The progress of a pull is shown of `subject`, the instance that needs it.
    With `digests` the first of them that the registry knows is pulled and gets the name: a tag may have moved since.
    Where it knows none, the tag is pulled if `by_tag`.
    Raises ImageUnavailable with a typed reason, PullAbandoned as soon as `abandoned` says that nobody waits for it.
    """
    present = find_image(engine, name) or _named(engine, name, digests)
    if policy == "never" or (policy == "missing" and present is not None):
        if present is None:
            raise ImageUnavailable(
                "image_not_found", f"image {name!r} is not on the engine and pulling is switched off"
            )
        return present
    if not _pull_first(engine, name, digests, lambda found: _pull(engine, found, reporter, subject, wait, abandoned)):
        if not by_tag:
            raise ImageUnavailable("image_not_found", f"image {name!r} is in its registry under no pinned digest")
        _pull(engine, name, reporter, subject, wait, abandoned)
    pulled = find_image(engine, name)
    if pulled is None:
        raise ImageUnavailable("image_pull_failed", f"image {name!r} was pulled but is not on the engine")
    return replace(pulled, pulled=present is None)


def remove_image(engine: Engine, name: str, image_id: str) -> str:
    """Remove an image by name if it is still the one with `image_id` and nothing else needs it.

    Returns `removed`, `gone`, or `kept: ` and why; an image with a container or another name is never touched.
    """
    from docker.errors import ImageNotFound

    try:
        image = engine.client.images.get(name)
        if image.id != image_id:
            return "kept: the name means another image by now"
        if len(image.tags) > 1:
            return f"kept: it has other names ({len(image.tags)})"
        if engine.client.containers.list(all=True, filters={"ancestor": image_id}, ignore_removed=True):
            return "kept: a container uses it"
        engine.client.images.remove(name)
    except ImageNotFound:
        return "gone"
    except engine_errors() as error:
        return f"kept: {error}"
    return "removed"


def find_image(engine: Engine, name: str) -> ImageIdentity | None:
    """Return the identity of a present image, or None."""
    from docker.errors import ImageNotFound

    try:
        image = engine.client.images.get(name)
    except ImageNotFound:
        return None
    return ImageIdentity(name=name, id=str(image.id), digests=tuple(image.attrs.get("RepoDigests") or ()))


def _end_of(trouble: str) -> str:
    """Return the end of what the engine said, where the cause stands."""
    flat = " ".join(trouble.split())
    return flat if len(flat) <= _LONGEST_CAUSE else f"...{flat[-_LONGEST_CAUSE:]}"


def pull_failure(error: str) -> str:
    """Return the reason code for what the engine said about a failed pull."""
    if _NO_SPACE.search(error):
        return "engine_disk_low"
    if _RATE_LIMITED.search(error):
        return "image_pull_rate_limited"
    return "image_not_found" if _NOT_FOUND.search(error) else "image_pull_failed"


def _pull_first(engine: Engine, name: str, digests: Sequence[str], pull: Callable[[str], None]) -> bool:
    for digest in digests:
        try:
            pull(_by_digest(name, digest))
        except ImageUnavailable as error:
            if error.reason != "image_not_found":
                raise
        else:
            return _named(engine, name, [digest]) is not None
    return False


def _named(engine: Engine, name: str, digests: Sequence[str]) -> ImageIdentity | None:
    """Give `name` to the first image that is on the engine under one of the digests."""
    for digest in digests:
        if find_image(engine, _by_digest(name, digest)) is not None:
            repository, _, tag = name.rpartition(":")
            engine.client.images.get(_by_digest(name, digest)).tag(repository, tag)
            return find_image(engine, name)
    return None


def _by_digest(name: str, digest: str) -> str:
    return f"{name.rpartition(':')[0]}@{digest}"


def _pull(
    engine: Engine,
    name: str,
    reporter: Reporter,
    subject: str,
    wait: Callable[[float], object],
    abandoned: Callable[[], bool],
) -> None:
    for pause in (*PULL_WAITS_SEC, None):
        reporter.event(f"pulling {name}")
        meter = PullMeter(reporter, subject)
        meter.begin()
        try:
            trouble = _pull_once(engine, name, meter, abandoned)
        except engine_errors() as error:
            trouble = str(error)
        if trouble is None:
            return
        reason = pull_failure(trouble)
        if pause is None or reason in _FOR_GOOD:
            raise ImageUnavailable(reason, f"image {name!r} cannot be pulled: {trouble}")
        reporter.event(f"pull of {name} failed ({reason}: {_end_of(trouble)}); again in {pause:.0f} s")
        wait(pause)
        if abandoned():
            raise PullAbandoned(f"the pull of {name!r} was given up")


def _pull_once(engine: Engine, name: str, meter: PullMeter, abandoned: Callable[[], bool]) -> str | None:
    """Pull; return the error that came in the middle of the stream, which the SDK's own `pull` does not look at."""
    repository, _, tag = name.rpartition("@" if "@" in name else ":")
    stream: Iterator[dict[str, Any]] = engine.client.api.pull(
        repository, tag=tag, platform=PLATFORM, stream=True, decode=True
    )
    for event in stream:
        if event.get("error"):
            return str(event["error"])
        meter.see(event)
        if abandoned():
            # The daemon gives up when the connection closes, at the latest with this process.
            raise PullAbandoned(f"the pull of {name!r} was given up")
    return None
