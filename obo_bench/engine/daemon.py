"""One Docker daemon: found, reached, and described for the record."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from obo_bench.core.refusals import PreflightRefused
from obo_bench.engine.container_events import ContainerEvents
from obo_bench.engine.endpoint import candidate_endpoints

if TYPE_CHECKING:
    from docker import DockerClient

CALL_TIMEOUT_SEC = 120


@dataclass(frozen=True)
class Engine:
    """A reachable daemon."""

    client: "DockerClient"
    """The SDK's client."""
    endpoint: str
    """Its address, as the evaluator's DOCKER_HOST."""
    server_id: str
    """The daemon's own id."""
    version: str
    """Its version."""
    cpus: int
    """Cores it has."""
    memory_bytes: int
    """Memory it has."""
    rootless: bool
    """Whether the container's root is the daemon's user."""

    @cached_property
    def events(self) -> ContainerEvents:
        """What happens to our containers, followed from the first of them on."""
        return ContainerEvents(self.client)

    def close(self) -> None:
        """End all connections to the daemon."""
        self.events.close()
        self.client.close()

    def facts(self) -> dict[str, Any]:
        """Return what the manifest says of it."""
        return {
            "endpoint": self.endpoint,
            "server_id": self.server_id,
            "version": self.version,
            "cpus": self.cpus,
            "memory_bytes": self.memory_bytes,
            "rootless": self.rootless,
        }


def connect_engine(environ: Mapping[str, str] = os.environ) -> Engine:
    """Return the daemon a docker user would get; raises PreflightRefused `engine_unreachable` naming what was tried."""
    from docker import DockerClient
    from docker.errors import DockerException

    tried = {}
    for endpoint in candidate_endpoints(environ, Path.home()):
        try:
            client = DockerClient.from_env(
                timeout=CALL_TIMEOUT_SEC, environment={**environ, "DOCKER_HOST": endpoint}, use_ssh_client=True
            )
            return _describe(client, endpoint, client.info())
        except (DockerException, OSError, ValueError) as error:
            tried[endpoint] = str(error)
    found = "; ".join(f"{endpoint}: {error}" for endpoint, error in tried.items())
    raise PreflightRefused(
        "engine_unreachable",
        f"no Docker engine answers ({found or 'DOCKER_HOST is not set, no context is chosen, no usual socket exists'})",
        evidence={"tried": tried},
        remedy=remedy_of(found),
    )


def remedy_of(complaint: str) -> str | None:
    """Return what helps where an engine runs that this user may not use; None where nothing more is known."""
    denied = "permission denied" in complaint.lower()
    return "join the docker group (`sudo usermod -aG docker $USER`) and log in again" if denied else None


def _describe(client: "DockerClient", endpoint: str, info: dict[str, Any]) -> Engine:
    return Engine(
        client=client,
        endpoint=endpoint,
        server_id=str(info.get("ID", "")),
        version=str(info.get("ServerVersion", "")),
        cpus=int(info.get("NCPU") or 1),
        memory_bytes=int(info.get("MemTotal") or 0),
        rootless=any("rootless" in str(option) for option in info.get("SecurityOptions") or []),
    )
