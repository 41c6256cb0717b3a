"""Builds the practice images on the local engine: one common base, one small layer for each task.

An image is labelled with the hash of its recipe and left alone while that matches. A tag appears only when its image
is complete; containers and scratch files go away on every way out.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout

from obo_bench.core.reporter import Reporter
from obo_bench.practice.debian_root import apt_available, write_root_tar
from obo_bench.practice.docker_cli import SLOW, docker, docker_try, remove_images, require_engine
from obo_bench.practice.image_scripts import (
    BASE_SCRIPT,
    DOCKERFILE,
    PACKAGES,
    REGISTRY_BASE,
    TASK_SCRIPT,
    task_input,
)
from obo_bench.practice.setup_error import PracticeSetupError
from obo_bench.practice.tasks import PracticeTask

_LABEL = "obo-bench.practice.recipe"
_BASE = "obo-bench/practice-base"
_TAG = "task_cleanroom_v6"
_LOCK_SECONDS = 600.0


def image_reference(instance_id: str) -> str:
    """Return the name by which the official evaluator asks for an instance's image, with its default tag."""
    organization = os.environ.get("PROGRAMBENCH_DOCKER_ORG", "programbench")
    return f"{organization}/{instance_id.replace('__', '_1776_')}:{_TAG}"


def ensure_images(tasks: Sequence[PracticeTask], reporter: Reporter) -> None:
    """Make sure that the engine has an up-to-date image of each task.

    Raises PreflightRefused (engine_unreachable) or PracticeSetupError; nothing half made is left behind then.
    """
    require_engine()
    if not _outdated(tasks):
        return
    lock = Path(tempfile.gettempdir()) / f"obo-bench-practice-images-{os.getuid()}.lock"
    try:
        with FileLock(lock, timeout=_LOCK_SECONDS):
            _build(_outdated(tasks), reporter)
    except Timeout:
        raise PracticeSetupError(
            f"another process has been building the practice images for {_LOCK_SECONDS:g} s", "wait for it or end it"
        ) from None


def _build(tasks: Sequence[PracticeTask], reporter: Reporter) -> None:
    if not tasks:
        return
    base = _ensure_base(reporter)
    for task in tasks:
        name = image_reference(task.instance_id)
        reporter.event(f"building {name}", task.instance_id)
        _derive(base, name, TASK_SCRIPT, task_input(task), _task_recipe(task))


def _outdated(tasks: Sequence[PracticeTask]) -> list[PracticeTask]:
    recipes = {
        name: recipe
        for image in _inspect([image_reference(task.instance_id) for task in tasks])
        for name, recipe in _recipes(image).items()
    }
    return [task for task in tasks if recipes.get(image_reference(task.instance_id)) != _task_recipe(task)]


def _inspect(names: Sequence[str]) -> list[dict[str, Any]]:
    """Return what the engine knows of those of the images that exist."""
    done = docker_try("image", "inspect", "--format", "{{json .}}", *names)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def _recipes(image: dict[str, Any]) -> dict[str, str]:
    recipe = (image["Config"].get("Labels") or {}).get(_LABEL, "")
    return dict.fromkeys(image["RepoTags"], recipe)


def _ensure_base(reporter: Reporter) -> str:
    recipe = _hash(" ".join(PACKAGES), DOCKERFILE, BASE_SCRIPT)
    name = f"{_BASE}:{recipe[:12]}"
    if _inspect([name]):
        return name
    older = docker("image", "ls", "--format", "{{.Repository}}:{{.Tag}}", _BASE).split()
    raw = _raw_base(reporter)
    reporter.event("trying the tools of the common base image")
    try:
        _derive(raw, name, BASE_SCRIPT, b"", recipe)
    except BaseException:
        remove_images([raw])
        raise
    remove_images(older)
    return name


def _raw_base(reporter: Reporter) -> str:
    """Return the id of an image with the packages in it."""
    if not apt_available():
        reporter.event(f"building the common base image from {REGISTRY_BASE}")
        return docker("build", "--quiet", "--force-rm", "-", timeout=2 * SLOW, stdin=DOCKERFILE.encode()).split()[-1]
    reporter.event("building the common base image from Debian packages")
    with tempfile.TemporaryDirectory(prefix="obo-bench-practice-", dir="/var/tmp") as work:
        root = Path(work) / "root.tar"
        with root.open("wb") as stream:
            write_root_tar(PACKAGES, Path(work), stream)
        with root.open("rb") as stream:
            return docker("import", "-", timeout=SLOW, stdin=stream).split()[-1]


def _derive(parent: str, name: str, script: str, given: bytes, recipe: str) -> None:
    """Run a script in a container of `parent` and keep the result as the image `name`."""
    replaced = [image["Id"] for image in _inspect([name])]
    # The name is fixed, and a lock is held: a container of that name was left by a process that was killed.
    container = f"obo-bench-practice-{hashlib.sha256(name.encode()).hexdigest()[:12]}"
    docker_try("rm", "--force", "--volumes", container)
    run = ("run", "--interactive", "--network", "none", "--name", container, "--user", "0:0", "--workdir", "/")
    changes = ('CMD ["/bin/bash"]', "WORKDIR /workspace", f"LABEL {_LABEL}={recipe}")
    try:
        docker(*run, parent, "bash", "-c", script, timeout=SLOW, stdin=given)
        docker("commit", *(flag for change in changes for flag in ("--change", change)), container, name, timeout=SLOW)
    finally:
        docker_try("rm", "--force", "--volumes", container)
    remove_images(replaced)


def _task_recipe(task: PracticeTask) -> str:
    base = (" ".join(PACKAGES), DOCKERFILE, BASE_SCRIPT)
    return _hash(*base, TASK_SCRIPT, hashlib.sha256(task_input(task)).hexdigest())


def _hash(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()
