"""The agent's workspace on the host: the image's own /workspace, less its history, with the reference moved away.

Never touches an existing workspace; a failed seeding leaves nothing behind.
"""

import os
import shutil
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from obo_bench.core.git import GitUnavailable, git
from obo_bench.engine.cleanroom_spec import WORKSPACE
from obo_bench.engine.daemon import Engine
from obo_bench.engine.seed_source import REFERENCE_MOUNT, store_reference, unstarted_container, workspace_archive
from obo_bench.programbench.packaging.reference_traces import ReferenceTraces

PROVIDED = "executable"
"""Name under which the image ships the reference."""
REFERENCE = "reference_executable"
"""Name under which the agent finds it."""
_IDENTITY = ("-c", "user.name=obo-bench", "-c", "user.email=obo-bench@localhost")


class WorkspacePrepareFailed(RuntimeError):
    """The workspace could not be made; the message says what is missing or refused."""


@dataclass(frozen=True)
class SeededWorkspace:
    """What the seeding found."""

    reference: ReferenceTraces
    """Hash of the reference's bytes, and what copies of it are recognised by."""
    protection: str
    """`os`: the bytes lie in a volume of the daemon, unreadable inside. `policy`: they lie in the workspace."""


def seed_workspace(
    engine: Engine, image: str, workspace: Path, scratch: Path, labels: dict[str, str], volume: str | None
) -> SeededWorkspace:
    """Fill the new directory `workspace` from `image`; `volume` names the daemon's volume for the reference.

    Without a volume, or for a reference that is a script (which must be readable to run), the level is `policy`.
    Raises WorkspacePrepareFailed.
    """
    reference = scratch / "reference"
    try:
        workspace.mkdir(parents=True)
        with unstarted_container(engine, image, labels, volume) as container:
            with workspace_archive(container, WORKSPACE) as archive:
                _unpack(archive, workspace, reference)
            if not reference.exists():
                raise WorkspacePrepareFailed(f"image {image!r} has no {WORKSPACE}/{PROVIDED}: it is no cleanroom image")
            level = "os" if volume and not _is_script(reference) else "policy"
            if level == "os":
                store_reference(container, reference, REFERENCE)
        place_reference(workspace, reference, level)
        start_history(workspace)
        seeded = SeededWorkspace(reference=_traces(reference), protection=level)
    except (OSError, tarfile.TarError, GitUnavailable) as error:
        shutil.rmtree(workspace, ignore_errors=True)
        raise WorkspacePrepareFailed(f"workspace {str(workspace)!r} cannot be made from {image!r}: {error}") from error
    except BaseException:
        shutil.rmtree(workspace, ignore_errors=True)
        raise
    return seeded


def place_reference(workspace: Path, reference: Path, level: str) -> None:
    """Put the reference where the agent runs it: a link into the volume (`os`), or the file itself (`policy`)."""
    place = workspace / REFERENCE
    place.unlink(missing_ok=True)
    if level == "os":
        place.symlink_to(f"{REFERENCE_MOUNT}/{REFERENCE}")
    else:
        shutil.copyfile(reference, place)
        place.chmod(0o555 if _is_script(reference) else 0o111)


def start_history(workspace: Path) -> None:
    """Make the workspace a git repository whose only commit is the seeded tree, with both binaries ignored."""
    git(workspace, "init", "-q", "-b", "main")
    git(workspace, "config", "user.name", "agent")
    git(workspace, "config", "user.email", "agent@localhost")
    (workspace / ".git" / "info").mkdir(exist_ok=True)
    (workspace / ".git" / "info" / "exclude").write_text(f"/{REFERENCE}\n/{PROVIDED}\n", "utf-8")
    git(workspace, "add", "--all")
    git(workspace, *_IDENTITY, "commit", "-q", "--allow-empty", "-m", "Task as given")


@contextmanager
def private_scratch(parent: Path) -> Iterator[Path]:
    """Yield a directory that only the operator can enter, removed afterwards."""
    scratch = parent / ".scratch"
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir(mode=0o700, parents=True)
    try:
        yield scratch
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _unpack(archive: tarfile.TarFile, workspace: Path, reference: Path) -> None:
    """Write directories and files first and links last, so that no file is ever written through a link."""
    links = []
    for member in archive:
        relative = _inside(member.name)
        if relative is None:
            continue
        target = workspace / relative
        if member.isdir():
            target.mkdir(parents=True, exist_ok=True)
        elif member.isreg():
            _write_file(archive, member, reference if str(relative) == PROVIDED else target)
        elif member.issym() or member.islnk():
            links.append((member, target))
    for member, target in links:
        is_reference = member.islnk() and target == workspace / PROVIDED
        _link(member, workspace, reference if is_reference else target)


def _inside(name: str) -> PurePosixPath | None:
    """Return a member's path below the workspace, or None for what is not seeded (the top, the image's history)."""
    parts = PurePosixPath(name).parts[1:]
    if not parts or ".." in parts or parts[0] == ".git":
        return None
    return PurePosixPath(*parts)


def _write_file(archive: tarfile.TarFile, member: tarfile.TarInfo, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    stream = archive.extractfile(member)
    if stream is None:
        return
    with stream, target.open("xb") as out:
        shutil.copyfileobj(stream, out)
    # The operator must be able to work with what belongs to him.
    target.chmod((member.mode & 0o777) | 0o600)
    os.utime(target, (member.mtime, member.mtime))


def _link(member: tarfile.TarInfo, workspace: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if member.issym():
        target.symlink_to(member.linkname)
        return
    source = _inside(member.linkname)
    if source is not None and (workspace / source).is_file():
        shutil.copy2(workspace / source, target)


def _traces(reference: Path) -> ReferenceTraces:
    traces = ReferenceTraces.of_file(reference)
    if traces is None:
        raise WorkspacePrepareFailed(f"the reference {str(reference)!r} cannot be read: its copies could not be told")
    return traces


def _is_script(path: Path) -> bool:
    with path.open("rb") as stream:
        return stream.read(2) == b"#!"
