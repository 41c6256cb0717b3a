"""`--pin-digests FILE`: the images that a run may use; any other one is refused before anything is spent.

FILE is one of

* an earlier run's `run_manifest.json` (the images that this invocation used) or `instance_order.json` (those that the
  run's tasks had, over all of its invocations),
* a JSON object: image name, `name:tag` or instance id to a digest, or to a list of those that will do,
* lines `name@sha256:...`, as `docker images --digests` and `docker inspect` name an image; `#` begins a comment.

A digest is `sha256:` and 64 hexadecimal digits: a registry's digest of the image, or the engine's id of it, which is
all that an image built here has.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from obo_bench.core.manifest import RunManifest
from obo_bench.core.peek import peek
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.core.why import why
from obo_bench.engine.images import ImageIdentity
from obo_bench.programbench.admission.order import ORDER_NAME

REFUSED_KEY = "refused"
"""In `harness.images`: why the image was not used; such an entry pins nothing."""
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
_LARGEST_FILE = 64 << 20
"""Bytes; the manifest of a run with all instances is far below."""
_MANIFEST_SCHEMA = RunManifest.model_fields["schema_"].default
_ORDER_SCHEMA = "obo_bench.instance_order.v1"
_SHAPE = "write sha256: and 64 hexadecimal digits in lower case"


@dataclass(frozen=True)
class Pin:
    """What one image must be: any one of these will do."""

    digests: tuple[str, ...] = ()
    """Digests that a registry may know the image by."""
    ids: tuple[str, ...] = ()
    """Ids that an engine may know the image by."""

    def fits(self, image: ImageIdentity) -> bool:
        """Say whether it is this image."""
        known = {image.id, *(digest.rpartition("@")[2] for digest in image.digests)}
        return not known.isdisjoint({*self.digests, *self.ids})

    def __str__(self) -> str:
        """Name what will do."""
        return " or ".join(dict.fromkeys((*self.digests, *self.ids)))


@dataclass(frozen=True)
class ImagePins:
    """The pins of a run."""

    path: Path
    """Where they were read."""
    pins: Mapping[str, Pin] = field(default_factory=dict)
    """By image name, `name:tag` or instance id."""

    def of(self, instance_id: str, image: str) -> dict[str, Pin]:
        """Return what is pinned for an instance whose image is called `image`, by the key it is pinned under."""
        names = (instance_id, image, image.rpartition(":")[0])
        return {name: self.pins[name] for name in names if name in self.pins}

    def pulled_by(self, instance_id: str, image: str) -> tuple[tuple[str, ...], bool]:
        """Return the digests to pull the image by, and whether the one that its tag means may be it, too."""
        pins = tuple(self.of(instance_id, image).values())
        return tuple(dict.fromkeys(digest for pin in pins for digest in pin.digests)), any(pin.ids for pin in pins)

    def missing(self, instance_id: str, image: str) -> str | None:
        """Return why the instance may not use any image, None when it is pinned; nothing need be pulled for it."""
        if self.of(instance_id, image):
            return None
        return f"{str(self.path)!r} (--pin-digests) pins neither {instance_id!r} nor {image!r}"

    def trouble(self, instance_id: str, identity: ImageIdentity) -> str | None:
        """Return why the instance may not use this image, None when it is the pinned one."""
        for key, pin in self.of(instance_id, identity.name).items():
            if not pin.fits(identity):
                found = ", ".join([*identity.digests, identity.id])
                return f"image {identity.name!r} is {found}; --pin-digests has {pin} for {key!r}"
        return self.missing(instance_id, identity.name)

    def facts(self) -> dict[str, Any]:
        """Return what the manifest says of them."""
        return {"path": str(self.path), "pins": {key: str(pin) for key, pin in self.pins.items()}}


def read_pins(path: Path) -> ImagePins:
    """Return the pins in a file; raises PreflightRefused `pins_unreadable` naming line or key."""
    try:
        data = peek(path, _LARGEST_FILE + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        _refuse(path, f"cannot be read: {why(error)}", error)
    if len(data) > _LARGEST_FILE:
        _refuse(path, f"has more than {_LARGEST_FILE} bytes")
    pins = _of_json(path, text) if text.lstrip().startswith(("{", "[")) else _of_lines(path, text)
    if not pins:
        _refuse(path, "pins no image")
    return ImagePins(path, pins)


def _of_lines(path: Path, text: str) -> dict[str, Pin]:
    pins: dict[str, Pin] = {}
    for number, line in enumerate(text.splitlines(), 1):
        entry = line.partition("#")[0].strip()
        name, _, digest = entry.rpartition("@")
        if entry and not (name and _DIGEST.fullmatch(digest)):
            _refuse(path, f"line {number}: {entry[:200]!r} is not name@sha256:...: {_SHAPE}")
        if name in pins:
            _refuse(path, f"line {number}: {name[:200]!r} is pinned twice: keep one line")
        if entry:
            pins[name] = Pin(digests=(digest,))
    return pins


def _of_json(path: Path, text: str) -> dict[str, Pin]:
    try:
        document = json.loads(text, object_pairs_hook=_without_repetition(path, text))
    except (ValueError, RecursionError) as error:
        _refuse(path, f"is no JSON document: {why(error)}", error)
    if not isinstance(document, dict):
        _refuse(path, "holds a JSON list: an object is needed, of image names or instance ids and their digests")
    if "schema" in document:
        return _of_record(path, document)
    return {key: _pin(path, _where(text, key), key, value) for key, value in document.items()}


def _without_repetition(path: Path, text: str) -> Callable[[list[tuple[str, Any]]], dict[str, Any]]:
    """A repeated key would silently win over the first."""

    def build(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        built: dict[str, Any] = {}
        for key, value in pairs:
            if key in built:
                _refuse(path, f"{_where(text, key, last=True)}{key[:200]!r} is there twice: keep one")
            built[key] = value
        return built

    return build


def _where(text: str, key: str, *, last: bool = False) -> str:
    """Return the line that a key is on, where it is written as JSON usually is."""
    quoted = json.dumps(key, ensure_ascii=False)
    place = text.rfind(quoted) if last else text.find(quoted)
    return "" if place < 0 else f"line {text.count(chr(10), 0, place) + 1}: "


def _pin(path: Path, where: str, key: str, value: object) -> Pin:
    values = value if isinstance(value, list) else [value]
    hashes = tuple(str(item).rpartition("@")[2] for item in values)
    if not values or not all(map(_DIGEST.fullmatch, hashes)):
        _refuse(path, f"{where}{key[:200]!r} is pinned to {value!r:.200}: {_SHAPE}, or a list of such")
    if len(set(hashes)) < len(hashes):
        _refuse(path, f"{where}{key[:200]!r} names one digest twice: keep one")
    # Whether it is a registry's digest or an engine's id cannot be seen, unless it comes with the repository.
    ids = tuple(found for item, found in zip(values, hashes, strict=True) if "@" not in str(item))
    return Pin(digests=hashes, ids=ids)


def _of_record(path: Path, document: Mapping[str, Any]) -> dict[str, Pin]:
    holder = document.get("harness") if document["schema"] == _MANIFEST_SCHEMA else document
    if document["schema"] not in (_MANIFEST_SCHEMA, _ORDER_SCHEMA):
        _refuse(path, f"has the format {document['schema']!r:.100}: name a {MANIFEST_NAME} or {ORDER_NAME}")
    images = holder.get("images") if isinstance(holder, dict) else None
    if not isinstance(images, dict):
        _refuse(path, "is the record of an invocation that used no image")
    return {key: _of_used(path, key, facts) for key, facts in images.items() if not _was_refused(facts)}


def _was_refused(facts: object) -> bool:
    return isinstance(facts, dict) and REFUSED_KEY in facts


def _of_used(path: Path, key: str, facts: object) -> Pin:
    found = facts if isinstance(facts, dict) else {}
    digests = found.get("digests") or []
    if not isinstance(digests, list):
        _refuse(path, f"images.{key[:200]}.digests is {digests!r:.200}, no list")
    ids = _pin(path, "images: ", key, found.get("id")).ids
    return Pin(digests=_pin(path, "images: ", key, digests).digests if digests else (), ids=ids)


def _refuse(path: Path, problem: str, cause: Exception | None = None) -> NoReturn:
    raise PreflightRefused(
        "pins_unreadable",
        f"--pin-digests {str(path)!r}: {problem}",
        evidence={"pin_digests": str(path), "problem": problem},
    ) from cause
