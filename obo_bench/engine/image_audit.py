"""Look for the reference's bytes, and for programs left behind, in all of an image before a task is worked on in it.

The engine hands out all files of a container that is never started: nothing of the image is run, so neither its tools
nor its names can mislead the audit. What a later layer deletes is not visible in a container and not looked at. Access
control lists are not in the engine's archive: a file that only such a list opens counts as closed.
"""

import tarfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from obo_bench.engine.daemon import Engine
from obo_bench.engine.image_search import Found, ImageSearch, reference_of
from obo_bench.engine.images import PullAbandoned
from obo_bench.engine.seed_source import unstarted_container
from obo_bench.engine.tar_stream import BrokenOff

DEADLINE_SEC = 900.0
"""For one image; each GB needs some 5 s."""
MOST_LISTED = 50
"""How many of a kind are listed; all are counted."""
_WHAT = {"copy_of_reference": "a copy of the reference", "stray_program": "a program that was left behind"}


class ImageAuditIncomplete(OSError):
    """The audit came to no result; the message says what stopped it."""


@dataclass(frozen=True)
class ImageAudit:
    """What an audit found."""

    reference_sha256: str
    """Hash of the reference whose copies were looked for."""
    findings: tuple[Found, ...]
    """What the agent could read; the first `MOST_LISTED`."""
    findings_count: int
    """How many there are."""
    closed: tuple[Found, ...]
    """The like that the agent cannot read, for the record only; as many at most."""
    files: int
    """Regular files looked at, each name of a hard-linked one counted."""
    seconds: float
    """What it took."""

    @property
    def objection(self) -> str | None:
        """Why no task may be worked on in the image."""
        if not self.findings:
            return None
        first = self.findings[0]
        more = f", and {self.findings_count - 1} more" if self.findings_count > 1 else ""
        return (
            f"the agent can read {_WHAT[first.kind]} at {first.path!r} (mode {first.mode}, owner {first.owner}){more}"
        )

    def facts(self) -> dict[str, Any]:
        """Return what the manifest says of it."""
        return asdict(self)


def audit_image(
    engine: Engine,
    image: str,
    reference: str,
    user: str,
    labels: Mapping[str, str],
    *,
    deadline_sec: float = DEADLINE_SEC,
    abandoned: Callable[[], bool] = lambda: False,
) -> ImageAudit | None:
    """Return what was found, None for an image that has no regular file at `reference`, an absolute path.

    `user` is the agent's uid:gid; `labels` are for the container that is made and removed. Raises ImageAuditIncomplete,
    the SDK's errors, and PullAbandoned as soon as `abandoned` says that nobody waits for it.
    """
    started = time.monotonic()

    def passing(chunks: Iterator[bytes]) -> Iterator[bytes]:
        for chunk in chunks:
            if abandoned():
                raise PullAbandoned(f"the audit of {image!r} was given up")
            if time.monotonic() - started > deadline_sec:
                raise ImageAuditIncomplete(f"image {image!r} could not be audited within {deadline_sec:.0f} s")
            yield chunk

    with unstarted_container(engine, image, dict(labels), None) as container:
        try:
            wanted = reference_of(container, reference, passing)
            if wanted is None:
                return None
            search = ImageSearch(container, wanted, user, passing)
            search.run()
        except (tarfile.TarError, BrokenOff) as error:
            raise ImageAuditIncomplete(f"image {image!r} could not be audited: {error}") from error
    return ImageAudit(
        reference_sha256=wanted.sha256,
        findings=tuple(search.open[:MOST_LISTED]),
        findings_count=len(search.open),
        closed=tuple(search.closed[:MOST_LISTED]),
        files=search.files,
        seconds=round(time.monotonic() - started, 3),
    )
