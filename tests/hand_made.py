"""A container and a workspace as an operator makes them by hand, and `prepare` run on them as a process."""

import hashlib
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from obo_bench.core.ledger import LEDGER_NAME, read_rows
from obo_bench.practice.tasks import PRACTICE_TASKS
from tests.conftest import Done, obo

TASK = PRACTICE_TASKS[0]
IID = TASK.instance_id
IMAGE = f"programbench/{IID.replace('__', '_1776_')}:task_cleanroom_v6"
AGENTS = b"#!/bin/sh\necho built by the agent\n"
FIT = ("--network", "none", "--cap-drop", "SYS_PTRACE")


def docker(*arguments: str) -> str:
    return subprocess.run(["docker", *arguments], capture_output=True, check=True, text=True, timeout=60).stdout.strip()


@cache
def image_files() -> dict[str, tuple[bytes, int]]:
    """What the image ships in its workspace: path -> content and mode, without its history."""
    container = docker("create", IMAGE, "true")
    try:
        data = subprocess.run(["docker", "cp", f"{container}:/workspace", "-"], capture_output=True, check=True).stdout
    finally:
        docker("rm", container)
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        files = [(member.name.partition("/")[2], member) for member in archive if member.isreg()]
        return {
            name: (stream.read(), member.mode)
            for name, member in files
            if not name.startswith(".git/") and (stream := archive.extractfile(member)) is not None
        }


def reference() -> bytes:
    return image_files()["executable"][0]


def put(directory: Path, files: dict[str, tuple[bytes, int]]) -> None:
    for name, (content, mode) in files.items():
        path = directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(mode)


class Hand:
    """One workspace, and the containers that were started for it."""

    def __init__(self, base: Path, checkout: Path, env: dict[str, str]) -> None:
        self.base, self.checkout, self.env = base, checkout, env
        self.workspace = base / "made by hand"
        self.instruction = base / "task.md"
        self.instruction.write_text("Schreibe das Programm noch einmal: äöü.\n")
        self.run = base / "runs" / "programbench" / "r"
        self.directory = self.run / IID
        self.name = f"obo-hand-{os.getpid()}-{time.monotonic_ns()}"
        self.started: list[str] = []

    def fresh(self) -> None:
        """Fill the workspace as `docker cp` from the image does."""
        self.workspace.mkdir()
        self.fill()

    def fill(self) -> None:
        """Put what the image ships into the workspace."""
        put(self.workspace, image_files())

    def empty(self) -> None:
        """Empty the workspace; the directory stays the one that is mounted."""
        for path in self.workspace.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()

    def solve(self, variant: str = "solved") -> None:
        put(self.workspace, dict(TASK.solution(variant)))
        put(self.workspace, {"executable": (AGENTS, 0o755)})

    def start(self, *flags: str, name: str = "", image: str = IMAGE, mounted: Path | None = None) -> None:
        name = name or self.name
        self.started.append(name)
        where = f"{mounted or self.workspace}:/workspace"
        docker("run", "--detach", "--name", name, "--volume", where, *(flags or FIT), image, "sleep", "600")

    def arguments(self, *more: str | Path, instance: str = IID) -> list[str]:
        return [
            "prepare", "--repo-dir", str(self.checkout), "--runs-root", str(self.base / "runs"), "--run-id", "r",
            "--workspace", str(self.workspace), "--instruction-file", str(self.instruction),
            "--container-name", self.name, "--instance-id", instance, "--json", *map(str, more),
        ]  # fmt: skip

    def prepare(self, *more: str | Path, instance: str = IID) -> Done:
        return obo(*self.arguments(*more, instance=instance), env=self.env)

    def begin(self, *more: str | Path) -> "subprocess.Popen[bytes]":
        """Start it and return the process."""
        command = [sys.executable, "-m", "obo_bench", *self.arguments(*more)]
        return subprocess.Popen(
            command, env={**os.environ, **self.env}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )

    def rows(self) -> list[Any]:
        return list(read_rows(self.run / LEDGER_NAME))

    def archived(self) -> set[str]:
        with tarfile.open(self.directory / "submission.tar.gz") as archive:
            return {name for name in archive.getnames() if not name.startswith("./docs")}

    def document(self, name: str) -> dict[str, Any]:
        value = json.loads((self.directory / name).read_text())
        assert isinstance(value, dict)
        return value


def picture(directory: Path) -> dict[str, tuple[str, ...]]:
    """Everything of a tree that a careless tool could change, history aside."""
    found: dict[str, tuple[str, ...]] = {}
    for path in sorted(directory.rglob("*")):
        relative = path.relative_to(directory)
        if ".git" in relative.parts:
            continue
        status = path.lstat()
        content = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() and not path.is_symlink() else ""
        target = str(path.readlink()) if path.is_symlink() else ""
        found[str(relative)] = (oct(status.st_mode), str(status.st_mtime_ns), content, target)
    return found


@contextmanager
def by_hand(base: Path, checkout: Path, env: dict[str, str]) -> Iterator[Hand]:
    hand = Hand(base, checkout, dict(env))
    try:
        yield hand
    finally:
        for name in hand.started:
            subprocess.run(["docker", "rm", "--force", "--volumes", name], capture_output=True, check=False, timeout=60)
