"""Makes a root file system out of Debian packages, without any container registry and without being root.

apt resolves the packages against an empty system and downloads them, dpkg-deb unpacks them, and the members are merged
into one tar archive; no maintainer script runs.
"""

import platform
import re
import shutil
import tarfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from obo_bench.practice.bounded_process import Finished, run_bounded
from obo_bench.practice.setup_error import PracticeSetupError

_DOWNLOAD_SECONDS = 300.0
_UNPACK_SECONDS = 60.0
_MERGED = ("bin", "sbin", "lib", "lib64")
_LEFT_OUT_PACKAGES = re.compile(
    r"perl|libperl|liberror-perl|git-man|dpkg|media-types|libcurl|libldap|librtmp|libssh2|libgnutls|libgssapi|libkrb5"
    r"|libk5crypto|libkeyutils|libsasl2|libpsl|libnghttp|libngtcp|libbrotli|libhogweed|libnettle|libp11|libtasn1"
    r"|libgdbm|python3-pkg-resources"
)
_LEFT_OUT_PATHS = re.compile(r"usr/share/(doc|man|info|locale|lintian|perl[^/]*)/.")
_LINKS = {"usr/bin/sh": "dash", "usr/bin/awk": "mawk", "usr/bin/which": "which.debianutils"}


def apt_available() -> bool:
    """Return whether this machine has Debian's package tools, for the architecture of the official images."""
    return platform.machine() == "x86_64" and all(shutil.which(tool) for tool in ("apt-get", "dpkg-deb"))


def write_root_tar(packages: Sequence[str], work: Path, target: IO[bytes]) -> None:
    """Write the root file system that holds `packages` and what they need; scratch files go to the directory `work`.

    Raises PracticeSetupError when apt cannot deliver them or one cannot be unpacked.
    """
    archives = [path for path in _download(packages, work) if not _LEFT_OUT_PACKAGES.match(path.name)]
    with (
        tarfile.open(fileobj=target, mode="w|", bufsize=1 << 20) as merged,
        ThreadPoolExecutor(max_workers=2) as pool,
    ):
        root = _Root(merged)
        root.add_skeleton()
        for unpacked in pool.map(_unpack, archives):
            root.add_package(unpacked)
            unpacked.unlink()
        root.add_links()


class _Root:
    """The archive in the making; the engine refuses one that names a path twice."""

    def __init__(self, merged: tarfile.TarFile) -> None:
        self._merged = merged
        self._seen: set[str] = set()

    def add_skeleton(self) -> None:
        """Add the directories whose modes matter, and the links of a system with merged /usr."""
        for folder in ("usr", *(f"usr/{name}" for name in _MERGED), "proc", "sys", "dev", "root", "var"):
            self._add(_special(folder, tarfile.DIRTYPE, 0o755))
        for folder in ("tmp", "var/tmp"):
            self._add(_special(folder, tarfile.DIRTYPE, 0o1777))
        for name in _MERGED:
            self._add(_special(name, tarfile.SYMTYPE, 0o777, f"usr/{name}"))

    def add_package(self, unpacked: Path) -> None:
        """Add what is worth keeping of one package."""
        with tarfile.open(unpacked) as source:
            for member in source:
                member.name = _merged_path(member.name)
                if member.islnk():
                    member.linkname = _merged_path(member.linkname)
                if member.name and not _LEFT_OUT_PATHS.match(member.name):
                    self._add(member, source.extractfile(member) if member.isreg() else None)

    def add_links(self) -> None:
        """Add the names that maintainer scripts would have made."""
        for name, aim in _LINKS.items():
            self._add(_special(name, tarfile.SYMTYPE, 0o777, aim))

    def _add(self, member: tarfile.TarInfo, content: IO[bytes] | None = None) -> None:
        if member.name not in self._seen:
            self._seen.add(member.name)
            self._merged.addfile(member, content)


def _download(packages: Sequence[str], work: Path) -> list[Path]:
    cache = work / "debs"
    (cache / "partial").mkdir(parents=True)
    (work / "status").touch()
    options = [
        f"Dir::State::status={work}/status",
        f"Dir::Cache::archives={cache}",
        "Dir::Cache::pkgcache=",
        "Dir::Cache::srcpkgcache=",
        "APT::Sandbox::User=",
        "APT::Keep-Downloaded-Packages=true",
        "Debug::NoLocking=true",
        "Acquire::Retries=2",
    ]
    install = ["install", "--download-only", "--no-install-recommends", *packages]
    done = _apt(options, install)
    if done.status != 0:
        # The machine's package lists are absent or stale; fresh ones of our own leave it as it is.
        (work / "lists" / "partial").mkdir(parents=True)
        options.append(f"Dir::State::lists={work}/lists")
        _apt(options, ["update"])
        done = _apt(options, install)
    if done.status != 0:
        raise PracticeSetupError(
            f"apt could not download the packages of the practice image ({done.complaint})",
            "check the network and the package sources (`apt-get update`)",
        )
    return sorted(cache.glob("*.deb"))


def _apt(options: Sequence[str], command: Sequence[str]) -> Finished:
    flags = [flag for option in options for flag in ("-o", option)]
    return run_bounded(["apt-get", "--quiet=2", "--yes", *flags, *command], timeout=_DOWNLOAD_SECONDS)


def _unpack(archive: Path) -> Path:
    unpacked = archive.with_suffix(".tar")
    with unpacked.open("wb") as stream:
        done = run_bounded(["dpkg-deb", "--fsys-tarfile", str(archive)], timeout=_UNPACK_SECONDS, stdout=stream)
    if done.status != 0:
        raise PracticeSetupError(f"{archive.name} cannot be unpacked ({done.complaint})", "check the free disk space")
    archive.unlink()
    return unpacked


def _merged_path(path: str) -> str:
    """Return where a member lies in a tree whose /bin, /sbin and /lib are links into /usr; empty for the top."""
    plain = path.removeprefix(".").strip("/")
    first, _, rest = plain.partition("/")
    return f"usr/{plain}" if rest and first in _MERGED else plain


def _special(name: str, kind: bytes, mode: int, aim: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.mode, member.linkname = kind, mode, aim
    return member
