"""Random trees to be packed: every kind of entry, names that mean something to the rules, and names that are odd."""

import contextlib
import gzip
import os
import random
import socket
from dataclasses import dataclass
from pathlib import Path

from hypothesis import strategies as st

REFERENCE = random.Random("reference").randbytes(1500)
PROTECTED = ("reference_executable", "/workspace/secret")
_PLAIN_NAMES = [b"a", b"b.c", b"src", b"-dash", b"back\\slash", b"build", b"dist", b"run.log", b"x.tmp", b"compile.sh"]
_ODD_NAMES = [b"\xff\xfe", "ünï ☃\n".encode(), b"n" * 255, b"secret", b"json.py", b"pyproject.toml"]
_RULED_NAMES = [b".git", b"eval", b"conftest.py", b"executable", b"reference_executable", b"__pycache__", b".ouroboros"]
_TARGETS = [b"a", b"src/a", b"../a", b"..", b"../..", b"/workspace/a", b"/workspace/../etc", b"/etc/passwd", b"."]
_TARGETS += [b"reference_executable", b"absent/" + b"t" * 120, b"\xff", b"eval/x"]
_CONTENTS = [
    REFERENCE,
    REFERENCE + b"\n",
    gzip.compress(REFERENCE, mtime=0),
    b"",
    b"#!/bin/sh\nmake\n",
    b"\x7fELF" + bytes(600),
]
_SECONDS = st.integers(-(2**31), 2**33)


@dataclass(frozen=True)
class Node:
    """One entry that is to be made."""

    path: bytes
    """Relative to the root."""
    kind: str
    """file, link, hard link, directory, FIFO or socket."""
    content: bytes
    """Of a file; the target of a link; for a hard link a byte that chooses among the files so far."""
    mode: int
    """Permission bits; the owner can always read."""
    mtime_ns: int
    """Its time of modification."""


def _nodes() -> st.SearchStrategy[Node]:
    name = st.sampled_from(_PLAIN_NAMES) | st.sampled_from(_PLAIN_NAMES + _ODD_NAMES + _RULED_NAMES)
    path = st.lists(name, min_size=1, max_size=4).map(b"/".join)
    content = st.sampled_from(_CONTENTS) | st.sampled_from(_CONTENTS[:3]) | st.binary(max_size=300)
    time = st.tuples(_SECONDS, st.sampled_from([0, 1, 999_999_999])).map(lambda parts: parts[0] * 10**9 + parts[1])

    def of(kind: str, content: st.SearchStrategy[bytes]) -> st.SearchStrategy[Node]:
        return st.builds(Node, path, st.just(kind), content, st.integers(0, 0o7777), time)

    nothing = st.just(b"")
    files = of("file", content)
    return st.one_of(
        files,
        files,
        files,
        of("directory", nothing),
        of("link", st.sampled_from(_TARGETS)),
        of("hard link", st.binary(min_size=1, max_size=1)),
        of("fifo", nothing) | of("socket", nothing),
    )


def trees() -> st.SearchStrategy[list[Node]]:
    """Return what draws a tree, as a list of entries; those that contradict earlier ones are left out."""
    return st.lists(_nodes(), max_size=25)


def grow(root: Path, nodes: list[Node]) -> None:
    """Make the tree; what can't be made in the place of something else is not."""
    made: list[tuple[bytes, Node]] = []
    for node in nodes:
        files = [path for path, earlier in made if earlier.kind == "file"]
        with contextlib.suppress(FileExistsError, NotADirectoryError, IsADirectoryError, FileNotFoundError):
            path = os.path.join(os.fsencode(root), node.path)  # noqa: PTH118 - pathlib has no byte paths
            _make_parents(os.fsencode(root), node.path)
            _make(path, node, files)
            made.append((path, node))
    for path, node in reversed(made):
        if node.kind not in ("link", "socket"):
            os.chmod(path, node.mode | (0o700 if node.kind == "directory" else 0o400))  # noqa: PTH101
        os.utime(path, ns=(0, node.mtime_ns), follow_symlinks=False)


def _make_parents(root: bytes, path: bytes) -> None:
    """Make directories only: the way must not lead through a link."""
    for part in path.split(b"/")[:-1]:
        root = os.path.join(root, part)  # noqa: PTH118
        if os.path.islink(root):  # noqa: PTH114
            raise NotADirectoryError
        if not os.path.isdir(root):  # noqa: PTH112
            os.mkdir(root)  # noqa: PTH102


def _make(path: bytes, node: Node, files: list[bytes]) -> None:
    match node.kind:
        case "file":
            with open(path, "xb") as stream:  # noqa: PTH123
                stream.write(node.content)
        case "directory":
            os.mkdir(path)  # noqa: PTH102
        case "link":
            os.symlink(node.content, path)  # noqa: PTH211
        case "hard link":
            if not files:
                raise FileNotFoundError
            os.link(files[node.content[0] % len(files)], path)
        case "fifo":
            os.mkfifo(path)
        case _:
            _make_socket(path)


def _make_socket(path: bytes) -> None:
    """Bind from within the directory: an address has room for 107 bytes only."""
    if os.path.lexists(path):
        raise FileExistsError
    here = os.open(".", os.O_RDONLY)
    try:
        os.chdir(os.path.dirname(path))  # noqa: PTH120
        with socket.socket(socket.AF_UNIX) as listener, contextlib.suppress(OSError):
            listener.bind(os.path.basename(path))  # noqa: PTH119
    finally:
        os.fchdir(here)
        os.close(here)
    if not os.path.lexists(path):
        raise FileNotFoundError
