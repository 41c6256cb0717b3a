"""Trees to be packed, and ways to compare what came of them; used by the tests of packaging."""

import contextlib
import hashlib
import os
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path

from obo_bench.practice.images import image_reference
from obo_bench.practice.tasks import PRACTICE_TASKS
from obo_bench.programbench.packaging.record import SubmissionRecord

Tree = dict[bytes, tuple[object, ...]]

OTHER_USER = 65534


def make_workspace(parent: Path) -> Path:
    """Make a small workspace whose build script builds."""
    root = parent / "workspace"
    root.mkdir()
    script = root / "compile.sh"
    script.write_text("#!/bin/sh\nmake -C src\ncp src/main executable\n")
    script.chmod(0o755)
    (root / "src").mkdir()
    (root / "src" / "main.sh").write_text("#!/bin/sh\necho hello\n")
    return root


def make_destination(parent: Path) -> Path:
    path = parent / "instance"
    path.mkdir()
    return path


@contextlib.contextmanager
def idle_container() -> Iterator[str]:
    """Run a container of a practice image that does nothing; gives its id."""
    image = image_reference(PRACTICE_TASKS[0].instance_id)
    command = ["docker", "run", "-d", "--rm", "--init", "--network", "none", "--user", "0", image, "sleep", "900"]
    name = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()
    try:
        yield name
    finally:
        subprocess.run(["docker", "rm", "-f", name], check=True, capture_output=True, timeout=60)


def unpack(destination: Path) -> Path:
    """Unpack as the evaluator does."""
    target = destination / "unpacked"
    target.mkdir()
    command = ["tar", "-xzf", str(destination / "submission.tar.gz"), "-C", str(target)]
    subprocess.run(command, check=True, timeout=60, capture_output=True)
    return target


def listing(root: Path) -> Tree:
    """Describe a tree: kind, mode, mtime and content of everything in it."""
    found: Tree = {}
    for directory, directories, files in os.walk(os.fsencode(root)):
        for name in [*directories, *files]:
            path = os.path.join(directory, name)  # noqa: PTH118 - pathlib has no byte paths
            status = os.lstat(path)
            content: object = None
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)  # noqa: PTH115
            elif stat.S_ISREG(status.st_mode):
                content = hashlib.sha256(Path(os.fsdecode(path)).read_bytes()).hexdigest()
            found[os.path.relpath(path, os.fsencode(root))] = (status.st_mode, status.st_mtime_ns, content)
    return found


def without(tree: Tree, record: SubmissionRecord) -> Tree:
    gone = [os.fsencode(note.path) for note in record.excluded]
    return {path: what for path, what in tree.items() if not any(path == g or path.startswith(g + b"/") for g in gone)}


def reasons(record: SubmissionRecord) -> dict[str, str]:
    return {note.path: str(note.reason) for note in record.excluded}


def flags(record: SubmissionRecord) -> dict[str, str]:
    return {note.path: str(note.reason) for note in record.flagged}


@contextlib.contextmanager
def as_ordinary_user() -> Iterator[None]:
    """Give up root's rights for a while, so that file modes count."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(OTHER_USER)
    try:
        yield
    finally:
        os.seteuid(0)
