"""What an instance asks the engine for, done with Docker's SDK and nothing else: the least that its phases can take."""

import io
import tarfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import uuid4

import docker

_WORKSPACE = "/workspace"
_PLATFORM = "linux/amd64"


class DockerAlone:
    """The engine's part of one instance, phase by phase under the names of the run's log."""

    def __init__(self, client: "docker.DockerClient", image: str, workspace: Path) -> None:
        self._client = client
        self._image = image
        self._workspace = workspace
        self._name = f"obo-bench-benchmark-{uuid4().hex[:12]}"
        self._container: Any = None

    def run(self) -> dict[str, float]:
        """Do all of it and return the seconds of each phase; removes what it made in any case."""
        phases: dict[str, Callable[[], None]] = {
            "waiting": self._look_for_leftovers,
            "image audit": self._audit,
            "seeding": self._seed,
            "cleanroom": self._cleanroom,
            "settling": self._inspect,
            "clearing away": self._clear,
        }
        try:
            return {name: _seconds(phase) for name, phase in phases.items()}
        finally:
            self._remove_everything()

    def _look_for_leftovers(self) -> None:
        chosen = {"label": f"obo-bench.benchmark={self._name}"}
        self._client.api.containers(all=True, filters=chosen)
        self._client.api.volumes(filters=chosen)
        self._client.api.images(filters=chosen)

    def _audit(self) -> None:
        container = self._unstarted()
        for chunk in container.get_archive(f"{_WORKSPACE}/executable")[0]:
            del chunk
        for chunk in container.export():
            del chunk
        container.remove(force=True)

    def _seed(self) -> None:
        self._client.volumes.create(self._name)
        container = self._unstarted(mounts=[self._volume(read_only=False)])
        size = sum(len(chunk) for chunk in container.get_archive(_WORKSPACE)[0])
        container.put_archive("/reference", _archive(size))
        container.remove(force=True)

    def _cleanroom(self) -> None:
        workspace = docker.types.Mount(_WORKSPACE, str(self._workspace), type="bind")
        self._container = self._client.containers.create(
            self._image,
            name=self._name,
            entrypoint=["sleep"],
            command=["600"],
            init=True,
            network_mode="none",
            mounts=[workspace, self._volume(read_only=True)],
            mem_limit=1 << 28,
            platform=_PLATFORM,
        )
        self._container.start()
        self._container.reload()
        for _ in range(2):
            self._container.exec_run(["timeout", "10", "sh", "-c", "true"])

    def _inspect(self) -> None:
        self._container.reload()

    def _clear(self) -> None:
        self._look_for_leftovers()
        self._container.remove(force=True)
        self._client.volumes.get(self._name).remove(force=True)

    def _unstarted(self, **more: Any) -> Any:
        return self._client.containers.create(
            self._image, entrypoint=["true"], network_mode="none", platform=_PLATFORM, labels=self._labels, **more
        )

    def _volume(self, *, read_only: bool) -> Any:
        return docker.types.Mount("/reference", self._name, type="volume", read_only=read_only)

    @property
    def _labels(self) -> dict[str, str]:
        return {"obo-bench.benchmark": self._name}

    def _remove_everything(self) -> None:
        """Remove what a phase that was broken off has left; by then there is nothing, as a rule."""
        for left in self._client.containers.list(all=True, filters={"label": f"obo-bench.benchmark={self._name}"}):
            left.remove(force=True)
        for named in self._client.containers.list(all=True, filters={"name": self._name}):
            named.remove(force=True)
        for volume in self._client.volumes.list(filters={"name": self._name}):
            volume.remove(force=True)


def _seconds(work: Callable[[], None]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _archive(size: int) -> bytes:
    """Return an archive with one file of so many bytes, as large as a reference is at most."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo("reference_executable")
        entry.size = size
        archive.addfile(entry, io.BytesIO(bytes(size)))
    return packed.getvalue()
