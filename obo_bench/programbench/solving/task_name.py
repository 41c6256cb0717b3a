"""The one name of an attempt's task, container and volume: unique to run, instance and attempt, whatever the length.

Source of the alphabet and the length: the server's rule for task ids; Docker allows the same characters.
"""

import hashlib
import re

LONGEST = 128
_STRANGE = re.compile(r"[^A-Za-z0-9_.-]")
_DIGEST = 16
"""Hexadecimal digits that keep shortened ids apart: 64 bits, for some hundred instances of one run."""


def task_name(nonce: str, instance_id: str, attempt: int) -> str:
    """Return `obo-<nonce>-<instance>-<attempt>`.

    An instance id that is too long or holds other characters is cut and made unique by its hash; the attempt's number
    is never lost, or a new attempt would get the id of an earlier one's task.
    """
    head, tail = f"obo-{nonce}-", f"-{attempt}"
    room = LONGEST - len(head) - len(tail)
    name = _STRANGE.sub("-", instance_id)
    if name != instance_id or len(name) > room:
        digest = hashlib.sha256(instance_id.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGEST]
        name = f"{name[: room - len(digest) - 1]}-{digest}"
    return f"{head}{name}{tail}"
