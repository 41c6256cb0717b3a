"""A registry on loopback that serves one small image, or breaks off in the middle of it.

Source: the distribution specification (manifest, configuration and layer by digest).
"""

import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler

from tests.conftest import answering

MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _layer(text: bytes) -> bytes:
    with io.BytesIO() as stream:
        with tarfile.open(fileobj=stream, mode="w") as archive:
            entry = tarfile.TarInfo("hello")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
        return stream.getvalue()


def _image(text: bytes) -> tuple[bytes, dict[str, bytes]]:
    plain = _layer(text)
    packed = gzip.compress(plain, mtime=0)
    config = json.dumps(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": [_digest(plain)]},
        }
    ).encode()
    manifest = {
        "schemaVersion": 2,
        "mediaType": MANIFEST,
        "config": {
            "mediaType": "application/vnd.docker.container.image.v1+json",
            "size": len(config),
            "digest": _digest(config),
        },
        "layers": [
            {
                "mediaType": "application/vnd.docker.image.rootfs.diff.tar.gzip",
                "size": len(packed),
                "digest": _digest(packed),
            }
        ],
    }
    return json.dumps(manifest).encode(), {_digest(config): config, _digest(packed): packed}


def _answer(manifest: bytes) -> tuple[int, bytes, str]:
    if manifest:
        return 200, manifest, MANIFEST
    return 404, b'{"errors": [{"code": "MANIFEST_UNKNOWN", "message": "manifest unknown"}]}', "application/json"


def digest_of(text: bytes) -> str:
    """Return what a registry knows the image by that holds `text`."""
    return _digest(_image(text)[0])


@contextmanager
def serving(
    text: bytes, *, older: bytes = b"", broken: bool = False, held: threading.Event | None = None
) -> Iterator[str]:
    """Serve an image that holds `text` under every tag; gives host:port.

    One that holds `older` has lost its tag. `broken` damages the layer, `held` delays layers until set.
    """
    manifest, blobs = _image(text)
    untagged, more = _image(older)
    by_digest, blobs = {_digest(found): found for found in (manifest, untagged)}, blobs | more

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if "/manifests/" in self.path:
                self._manifest(self.path.rpartition("/")[2])
            elif "/blobs/" in self.path:
                self._blob(blobs[self.path.rpartition("/")[2]])
            else:
                self._give(200, b"{}", "application/json")

        do_HEAD = do_GET  # noqa: N815

        def _manifest(self, reference: str) -> None:
            self._give(*_answer(by_digest.get(reference, b"" if ":" in reference else manifest)))

        def _blob(self, data: bytes) -> None:
            layer = data[:2] == b"\x1f\x8b"
            if layer and held is not None:
                held.wait(60)
            # Damaged, not missing: what is missing the daemon asks for again and again by itself.
            self._give(200, data[::-1] if layer and broken else data, "application/octet-stream")

        def _give(self, status: int, data: bytes, kind: str) -> None:
            self.send_response(status)
            self.send_header("Docker-Distribution-Api-Version", "registry/2.0")
            self.send_header("Docker-Content-Digest", _digest(data))
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            if self.command == "GET":
                self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with answering(Answer) as host:
        yield host
