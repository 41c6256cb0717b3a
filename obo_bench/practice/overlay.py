"""Shows only the practice tasks to the unpatched official package: a copy of its code with other task data.

The copy lies in a directory named by its content and appears by one rename, so that two processes may ask at once.
"""

import contextlib
import hashlib
import importlib.util
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from obo_bench.core.refusals import PreflightRefused
from obo_bench.practice.branch_files import archive_files, task_yaml, tests_json
from obo_bench.practice.tarball import tar_gz_bytes
from obo_bench.practice.tasks import PracticeTask


def write_overlay(destination: Path, tasks: Sequence[PracticeTask]) -> dict[str, str]:
    """Make the overlay below `destination`, unless it is there, and return the environment that activates it.

    The variables are PYTHONPATH (an earlier value is kept behind it) and PROGRAMBENCH_BLOB_DIR. Raises OSError, and
    PreflightRefused when the official package is not installed.
    """
    content = dict(_package_files()) | dict(_task_files(tasks))
    final = destination.absolute() / f"overlay-{_digest(content)[:16]}"
    if not final.is_dir():
        _publish(content, final)
    earlier = [part for part in os.environ.get("PYTHONPATH", "").split(os.pathsep) if part]
    search = [str(final / "pythonpath"), *(part for part in earlier if part != str(final / "pythonpath"))]
    return {"PYTHONPATH": os.pathsep.join(search), "PROGRAMBENCH_BLOB_DIR": str(final / "blobs")}


def _package_files() -> Iterator[tuple[str, bytes]]:
    spec = importlib.util.find_spec("programbench")
    if spec is None or spec.origin is None:
        raise PreflightRefused(
            "dataset_unavailable",
            "the programbench package is not installed in this Python",
            evidence={"python": sys.executable},
        )
    top = Path(spec.origin).parent
    for directory, names, entries in os.walk(top):
        here = Path(directory)
        names[:] = [name for name in names if name != "__pycache__" and here / name != top / "data" / "tasks"]
        for entry in entries:
            yield f"pythonpath/programbench/{(here / entry).relative_to(top).as_posix()}", (here / entry).read_bytes()


def _task_files(tasks: Sequence[PracticeTask]) -> Iterator[tuple[str, bytes]]:
    for task in tasks:
        folder = f"pythonpath/programbench/data/tasks/{task.instance_id}"
        yield f"{folder}/task.yaml", task_yaml(task)
        yield f"{folder}/tests.json", tests_json(task)
        for branch in task.branches:
            yield f"blobs/{task.instance_id}/tests/{branch.name}.tar.gz", tar_gz_bytes(archive_files(branch))


def _digest(content: dict[str, bytes]) -> str:
    total = hashlib.sha256()
    for path in sorted(content):
        total.update(f"{path} {hashlib.sha256(content[path]).hexdigest()}\n".encode())
    return total.hexdigest()


def _publish(content: dict[str, bytes], final: Path) -> None:
    final.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".overlay-", dir=final.parent))
    try:
        temporary.chmod(0o755)
        for path, data in content.items():
            target = temporary / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)
        # Another process may have published the same content meanwhile: then the name is taken, by equal bytes.
        with contextlib.suppress(OSError):
            temporary.rename(final)
        if not final.is_dir():
            raise FileNotFoundError(f"the overlay could not be published as {final}")
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
