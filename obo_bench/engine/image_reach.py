"""What the agent could read of an image's files, told from owners and permissions alone."""

import tarfile

_READ, _SEARCH = 0o4, 0o1


class Reach:
    """How far one user gets: without the right to override permissions, but free to change those of what it owns.

    Directories must be entered before what is in them, as archives have them.
    """

    def __init__(self, user: str) -> None:
        """Take the user as uid:gid; it is in no other group."""
        uid, _, gid = user.partition(":")
        self._uid, self._gid = int(uid), int(gid)
        self._barred: set[bytes] = set()

    def enter(self, path: bytes, entry: tarfile.TarInfo) -> None:
        """Take note of a directory."""
        if not self._may(entry, _SEARCH):
            self._barred.add(path)

    def can_read(self, path: bytes, entry: tarfile.TarInfo) -> bool:
        """Say whether the user can read the file, or can make it so."""
        return self._may(entry, _READ) and self._barred.isdisjoint(_above(path))

    def _may(self, entry: tarfile.TarInfo, bit: int) -> bool:
        if entry.uid == self._uid:
            return True
        return bool(entry.mode & (bit << 3 if entry.gid == self._gid else bit))


def path_of(name: str) -> bytes:
    """Return an archive member's absolute path in the container; any bytes may be in it."""
    return b"/" + name.encode("utf-8", "surrogateescape").removeprefix(b"./").strip(b"/")


def _above(path: bytes) -> set[bytes]:
    parts = path.split(b"/")
    return {b"/".join(parts[:length]) or b"/" for length in range(1, len(parts))}
