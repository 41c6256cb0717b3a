"""Where the reference of a workspace is, and its move out of the way of the agent's own program.

`reference_executable` is never touched once it is there. `executable` is moved there only on proof: its bytes are
those of `/workspace/executable` in the container's own image. Both are read through the engine, because the reference
may be run but not read.
"""

import hashlib
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING

from obo_bench.engine.cleanroom_spec import WORKSPACE
from obo_bench.engine.seed_source import unstarted_container, workspace_archive
from obo_bench.programbench.packaging.reference_traces import ReferenceTraces
from obo_bench.programbench.preparing.container import NO_ANSWER, FoundContainer
from obo_bench.programbench.preparing.preparation import Blocked, Preparation
from obo_bench.programbench.solving.workspace import PROVIDED, REFERENCE, private_scratch

if TYPE_CHECKING:
    from docker.models.containers import Container

FAILED = "workspace_prepare_failed"
_NOT_FOUND = 404
_CHUNK = 1 << 20
_KINDS = {
    stat.S_IFDIR: "a directory",
    stat.S_IFLNK: "a symbolic link",
    stat.S_IFIFO: "a FIFO",
    stat.S_IFSOCK: "a socket",
}


def settle_reference(preparation: Preparation, found: FoundContainer) -> ReferenceTraces | None:
    """Make sure that the reference is `reference_executable`; returns the traces of the image's, None if it has none.

    Raises Blocked `workspace_prepare_failed`, OSError, and what `engine_errors` lists.
    """
    workspace = preparation.options.workspace
    original = image_program(preparation, found)
    preparation.details["reference_sha256"] = original.sha256 if original else None
    present = _kind(workspace / REFERENCE)
    if present is None:
        _move(workspace, original, found)
        preparation.details["reference"] = "moved"
    else:
        preparation.details["reference"] = _examine(preparation, present, original, found)
    if found.answers(f"[ -f ./{REFERENCE} ] && [ -x ./{REFERENCE} ]") not in NO_ANSWER | {0}:
        raise Blocked(FAILED, f"{REFERENCE!r} is no program that can be run in the container")
    return original


def image_program(preparation: Preparation, found: FoundContainer) -> ReferenceTraces | None:
    """Return what tells the reference that the container's image ships from other files; None when it has none."""
    labels, image = preparation.labels, found.image.id
    with (
        private_scratch(preparation.paths.directory) as scratch,
        unstarted_container(preparation.engine, image, labels, None) as container,
        _program_of(container, PROVIDED) as stream,
    ):
        if stream is None:
            return None
        with (scratch / PROVIDED).open("xb") as copy:
            shutil.copyfileobj(stream, copy)
        return ReferenceTraces.of_file(scratch / PROVIDED)


def _is_program(container: "Container", name: str, original: ReferenceTraces | None) -> bool:
    """Say whether a regular file of a container's workspace has the bytes of the original."""
    with _program_of(container, name) as stream:
        if stream is None or original is None:
            return False
        digest = hashlib.sha256()
        while chunk := stream.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest() == original.sha256


@contextmanager
def _program_of(container: "Container", name: str) -> Iterator[IO[bytes] | None]:
    """Yield the bytes of a regular file of a container's workspace; None for anything else."""
    from requests import HTTPError

    with ExitStack() as stack:
        try:
            archive = stack.enter_context(workspace_archive(container, f"{WORKSPACE}/{name}"))
        except HTTPError as error:
            if error.response is None or error.response.status_code != _NOT_FOUND:
                raise
            yield None
            return
        member = archive.next()
        yield archive.extractfile(member) if member is not None and member.isreg() else None


def _move(workspace: Path, original: ReferenceTraces | None, found: FoundContainer) -> None:
    provided = workspace / PROVIDED
    kind = _kind(provided)
    if kind is None:
        raise Blocked(FAILED, f"{str(workspace)!r} has neither {REFERENCE!r} nor {PROVIDED!r}: {_remedy(found)}")
    if kind != stat.S_IFREG:
        raise Blocked(FAILED, f"{REFERENCE!r} is missing, and {PROVIDED!r} is {_named(kind)}: {_remedy(found)}")
    with _held(provided) as descriptor:
        before = os.fstat(descriptor)
        original = _proven(original, found)
        mode = 0o555 if bytes.fromhex(original.beginning).startswith(b"#!") else 0o111
        make_reference(workspace, descriptor, before, mode)


@contextmanager
def _held(path: Path) -> Iterator[int]:
    """Yield a descriptor of what has the name now, be it a link: it need not be readable for us."""
    descriptor = os.open(path, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _proven(original: ReferenceTraces | None, found: FoundContainer) -> ReferenceTraces:
    if original is not None and _is_program(found.container, PROVIDED, original):
        return original
    why = "the image has none to compare with" if original is None else "its bytes are not those of the image's"
    raise Blocked(
        FAILED, f"{REFERENCE!r} is missing, and {PROVIDED!r} is not proven to be it ({why}): {_remedy(found)}"
    )


def make_reference(workspace: Path, descriptor: int, before: os.stat_result, mode: int) -> None:
    """Give the file that was looked at, and no other that has come into its place, the reference's mode and name.

    Raises Blocked, and OSError.
    """
    provided, reference = workspace / PROVIDED, workspace / REFERENCE
    if not stat.S_ISREG(before.st_mode):
        raise _changed()
    # The mode first: a kill in between leaves what the next invocation recognises again.
    if stat.S_IMODE(before.st_mode) != mode:
        Path(f"/proc/self/fd/{descriptor}").chmod(mode)
    if not _is_same(provided, before):
        raise _changed()
    provided.rename(reference)
    if not _is_same(reference, before):
        # It was exchanged between the look and the move; a link, unlike a rename, replaces nothing.
        os.link(reference, provided, follow_symlinks=False)
        reference.unlink()
        raise _changed()


def _is_same(path: Path, before: os.stat_result) -> bool:
    now = path.lstat()
    return os.path.samestat(now, before) and now.st_mtime_ns == before.st_mtime_ns


def _changed() -> Blocked:
    return Blocked(FAILED, f"{PROVIDED!r} was changed while it was looked at: end what works there, then try again")


def _examine(preparation: Preparation, kind: int, original: ReferenceTraces | None, found: FoundContainer) -> str:
    """Return what is known of a reference that is there already."""
    if kind == stat.S_IFLNK:
        return "linked"
    if kind != stat.S_IFREG:
        raise Blocked(FAILED, f"{REFERENCE!r} is {_named(kind)}, not the reference program: {_remedy(found)}")
    if original is None or _is_program(found.container, REFERENCE, original):
        return "in_place" if original else "unknown"
    text = f"{REFERENCE!r} is not the program that the image ships as {PROVIDED!r}"
    if preparation.options.strict:
        raise Blocked(FAILED, f"{text} (--strict): {_remedy(found)}")
    preparation.note(f"{text}: is it the workspace of this instance?")
    return "differs_from_image"


def _remedy(found: FoundContainer) -> str:
    return f"copy {WORKSPACE}/{PROVIDED} of the image {found.image.name!r} there as {REFERENCE!r}"


def _kind(path: Path) -> int | None:
    try:
        return stat.S_IFMT(path.lstat().st_mode)
    except FileNotFoundError:
        return None


def _named(kind: int) -> str:
    return _KINDS.get(kind, "a device")
