"""Runs in a container as root: unpacks each archive that it is given, as the evaluator does, and describes the tree.

Reads a length (8 bytes, big end first) and an archive, again and again; answers each with one line of JSON.
"""

import hashlib
import json
import os
import stat
import subprocess
import sys
from typing import Any

PLACE = b"/unpacked"


def describe(root: bytes) -> dict[str, list[Any]]:
    """Return path (hexadecimal) -> [type and mode, mtime in ns, content, owner, other names of the same file]."""
    found: dict[str, list[Any]] = {}
    names: dict[tuple[int, int], list[str]] = {}
    for directory, directories, files in os.walk(root):
        for name in directories + files:
            path = os.path.join(directory, name)  # noqa: PTH118 - pathlib has no byte paths
            status = os.lstat(path)
            content = None
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path).hex()  # noqa: PTH115
            elif stat.S_ISREG(status.st_mode):
                with open(path, "rb") as stream:  # noqa: PTH123
                    content = hashlib.sha256(stream.read()).hexdigest()
            relative = os.path.relpath(path, root).hex()
            names.setdefault((status.st_dev, status.st_ino), []).append(relative)
            owner = [status.st_uid, status.st_gid]
            found[relative] = [status.st_mode, status.st_mtime_ns, content, owner, names[status.st_dev, status.st_ino]]
    for entry in found.values():
        entry[4].sort()
    return found


def main() -> None:
    while header := sys.stdin.buffer.read(8):
        archive = sys.stdin.buffer.read(int.from_bytes(header, "big"))
        subprocess.run(["rm", "-rf", PLACE], check=True)
        os.mkdir(PLACE)  # noqa: PTH102
        done = subprocess.run(["tar", "-xzf", "-", "-C", PLACE], input=archive, capture_output=True, check=False)
        answer = {"tree": describe(PLACE), "status": done.returncode, "said": done.stderr.decode("utf-8", "replace")}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
