"""Where Docker answers, in the order a docker user expects: DOCKER_HOST, the docker context, the usual sockets.

Source: the docker CLI's context store, and the socket places of Colima, Docker Desktop, OrbStack, Rancher Desktop
and rootless Docker.
"""

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from obo_bench.core.files import read_json_object


def candidate_endpoints(environ: Mapping[str, str], home: Path) -> list[str]:
    """Return the addresses to try; an address that the user named is the only one."""
    named = environ.get("DOCKER_HOST")
    if named:
        return [named]
    context = _context_endpoint(environ, home)
    if context:
        return [context]
    return [f"unix://{path}" for path in _usual_sockets(environ, home) if path.exists()]


def _context_endpoint(environ: Mapping[str, str], home: Path) -> str | None:
    config_dir = Path(environ.get("DOCKER_CONFIG") or home / ".docker")
    name = environ.get("DOCKER_CONTEXT") or (read_json_object(config_dir / "config.json") or {}).get("currentContext")
    if not name or name == "default":
        return None
    store = config_dir / "contexts" / "meta" / hashlib.sha256(str(name).encode()).hexdigest() / "meta.json"
    endpoints = (read_json_object(store) or {}).get("Endpoints") or {}
    host = (endpoints.get("docker") or {}).get("Host")
    return str(host) if host else None


def _usual_sockets(environ: Mapping[str, str], home: Path) -> list[Path]:
    runtime = Path(environ.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}")
    return [
        Path("/var/run/docker.sock"),
        home / ".colima" / "default" / "docker.sock",
        home / ".colima" / "docker.sock",
        home / ".docker" / "run" / "docker.sock",
        home / ".orbstack" / "run" / "docker.sock",
        home / ".rd" / "docker.sock",
        runtime / "docker.sock",
    ]
