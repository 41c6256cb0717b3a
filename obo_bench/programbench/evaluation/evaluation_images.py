"""Which image an evaluation uses, and whether it is the one that the solve used.

The evaluator runs an image by its name, hours after the solve; the name may mean another image by then.
"""

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from obo_bench.core.process import ask
from obo_bench.engine.images import ImageIdentity

Sameness = Literal["same", "different", "unknown"]
_ASK_SEC = 60.0
_SHOWN = 200


@dataclass(frozen=True)
class ImageComparison:
    """Whether solve and evaluation used one image."""

    verdict: Sameness
    """`unknown` where one of the two was not recorded or could not be asked for."""
    text: str
    """Names both, for people."""


def image_of(docker: str, environ: Mapping[str, str], image_name: str) -> ImageIdentity | None:
    """Return what the evaluator's client `docker` (a path) knows by a name, None when it knows none or fails.

    Source: the Docker CLI reference, `docker image inspect`; podman answers alike, with ids that lack `sha256:`.
    """
    try:
        done = ask([docker, "image", "inspect", image_name], environ, _ASK_SEC)
        found = json.loads(done.stdout)[0] if done.returncode == 0 else {}
        image_id, digests = found.get("Id"), found.get("RepoDigests") or []
    except (OSError, subprocess.TimeoutExpired, ValueError, LookupError, AttributeError, RecursionError):
        return None
    if not image_id or not isinstance(image_id, str):
        return None
    return ImageIdentity(name=image_name, id=_full(image_id), digests=_texts(digests))


def compare(solved: Mapping[str, Any], evaluated: ImageIdentity | None) -> ImageComparison:
    """Compare the image that a solve recorded (as in `harness.images`) with the one of the evaluation.

    A digest or id that both have makes them one: each is a hash of the whole image, and engines name one differently.
    """
    before, now = _hashes(solved.get("id"), solved.get("digests")), set[str]()
    if evaluated is not None:
        now = _hashes(evaluated.id, evaluated.digests)
    if not before or not now:
        missing = "the image of the solve is not recorded" if not before else "the engine does not tell it"
        return ImageComparison("unknown", f"whether the evaluation used the solve's image is not known: {missing}")
    if before & now:
        return ImageComparison("same", f"solve and evaluation used {_shown(before & now)}")
    return ImageComparison(
        "different", f"the solve used the image {_shown(before)}, the evaluation {_shown(now)}: scores may differ by it"
    )


def _hashes(image_id: object, digests: object) -> set[str]:
    named = {_full(image_id)} if isinstance(image_id, str) and image_id else set()
    return named | {digest.rpartition("@")[2] for digest in _texts(digests)}


def _texts(values: object) -> tuple[str, ...]:
    return tuple(value for value in values if isinstance(value, str)) if isinstance(values, list | tuple) else ()


def _full(image_id: str) -> str:
    return image_id if image_id.startswith("sha256:") else f"sha256:{image_id}"


def _shown(hashes: set[str]) -> str:
    return " = ".join(sorted(hashes))[:_SHOWN]
