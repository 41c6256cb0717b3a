"""Attacks on the program's file."""

import mmap
import os
import shutil
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

from .target import COPY, ELF, PLACE, PROGRAM, checked, in_child, is_read, libc

OWNER = 65532
CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000


def shell(command: str) -> Callable[[], bool]:
    def run() -> bool:
        names = {"P": str(PROGRAM), "C": str(COPY)}
        done = subprocess.run(["sh", "-c", command], env={**os.environ, **names}, capture_output=True, check=False)
        if done.returncode:
            raise OSError(done.stderr.decode(errors="replace"))
        return ELF in done.stdout

    return run


def loader() -> bool:
    listed = ["/lib64/ld-linux-x86-64.so.2", "--list", str(PROGRAM)]
    return subprocess.run(listed, capture_output=True, check=False).returncode == 0


def by_path_descriptor() -> bool:
    return is_read(Path(f"/proc/self/fd/{os.open(PROGRAM, os.O_PATH)}"))


def mapped() -> bool:
    return mmap.mmap(os.open(PROGRAM, os.O_RDONLY), 4, prot=mmap.PROT_READ)[:4] == ELF


def sent() -> bool:
    with COPY.open("wb") as out:
        os.sendfile(out.fileno(), os.open(PROGRAM, os.O_RDONLY), 0, 4)
    return is_read(COPY)


def copied_in_the_kernel() -> bool:
    with COPY.open("wb") as out:
        os.copy_file_range(os.open(PROGRAM, os.O_RDONLY), out.fileno(), 4)
    return is_read(COPY)


def as_somebody(become: Callable[[int], object]) -> Callable[[], bool]:
    def act() -> bool:
        become(OWNER)
        return is_read(PROGRAM)

    return lambda: in_child(act)


def in_namespace(kind: int) -> Callable[[], bool]:
    return lambda: in_child(lambda: checked(libc.unshare(kind)) == 0)


def by_a_device() -> bool:
    os.mknod(PLACE / "disk", 0o060600, PROGRAM.stat().st_dev)
    return bool((PLACE / "disk").read_bytes())


def by_a_file_capability() -> bool:
    """Revision 2 of the attribute: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH, permitted and effective."""
    shutil.copy("/bin/cat", COPY)
    os.setxattr(COPY, "security.capability", struct.pack("<IIIII", 0x02000001, 0b110, 0, 0, 0))
    return ELF in subprocess.run([COPY, PROGRAM], capture_output=True, check=False).stdout


def by_a_setuid_program() -> bool:
    shutil.copy("/bin/cat", COPY)
    os.chown(COPY, OWNER, -1)
    COPY.chmod(0o4755)
    return ELF in subprocess.run([COPY, PROGRAM], capture_output=True, check=False).stdout


def made_readable() -> bool:
    PROGRAM.chmod(0o755)
    return is_read(PROGRAM)


def taken_over() -> bool:
    os.chown(PROGRAM, os.getuid(), os.getgid())
    return made_readable()


def written() -> bool:
    os.close(os.open(PROGRAM, os.O_WRONLY))
    return True


def replaced() -> bool:
    beside = PROGRAM.with_name("other")
    shutil.copyfile("/bin/sh", beside)
    beside.replace(PROGRAM)
    return True


def removed() -> bool:
    PROGRAM.unlink()
    return True


FILE_TRIES: dict[str, Callable[[], bool]] = {
    "cat": shell('cat "$P"'),
    "head": shell('head -c 4 "$P"'),
    "cp": shell('cp "$P" "$C" && cat "$C"'),
    "dd": shell('dd if="$P"'),
    "install": shell('install "$P" "$C" && cat "$C"'),
    "tar": shell('tar -cPf - "$P"'),
    "hard link": shell('ln "$P" "$P.link" && cat "$P.link"'),
    "symbolic link": shell('ln -s "$P" "$C.link" && cat "$C.link"'),
    "redirection": shell('cat <"$P"'),
    "loader": loader,
    "path descriptor": by_path_descriptor,
    "mmap": mapped,
    "sendfile": sent,
    "copy_file_range": copied_in_the_kernel,
    "setuid": as_somebody(os.setuid),
    "setfsuid": as_somebody(libc.setfsuid),
    "setgid": as_somebody(os.setgid),
    "user namespace": in_namespace(CLONE_NEWUSER),
    "mount namespace": in_namespace(CLONE_NEWNS),
    "device": by_a_device,
    "file capability": by_a_file_capability,
    "setuid program": by_a_setuid_program,
    "write": written,
    "chmod": made_readable,
    "chown": taken_over,
    "replace": replaced,
    "remove": removed,
}
