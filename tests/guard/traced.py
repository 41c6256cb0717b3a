"""The guard under strace: existence probes leave no audit event, but every one is a system call."""

import functools
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.guard.invocations import World, python
from tests.guard.runtime import code_places

_CALL = re.compile(r"^(?:\d+\s+)?(?P<name>\w+)\((?P<arguments>.*)\)\s+= (?P<result>.*)$")
_TEXT = re.compile(r'"((?:[^"\\]|\\.)*)"')
_DIRECTORY = re.compile(r"^(?:AT_FDCWD|\d+)<(?P<path>[^>]*)>")
_LOOKS = {"lstat", "newfstatat", "readlink", "readlinkat", "stat", "statx"}
_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/usr/share/locale", "/usr/share/zoneinfo")
_SYSTEM_FILES = {
    *("/etc/ld.so.preload", "/etc/ld.so.cache", "/etc/localtime", "/etc/locale.alias", "/etc/ssl/openssl.cnf"),
    *("/dev/null", "/dev/urandom", "/dev/random"),
}
_PROCESS = {
    "execve",
    "execveat",
    "fork",
    "vfork",
    "clone",
    "clone3",
    "kill",
    "tkill",
    "tgkill",
    "ptrace",
    "unshare",
    "setns",
}
_READS = _LOOKS | {"open", "openat", "access", "faccessat", "faccessat2", "statfs"}
_CHANGES = re.compile(r"\bO_(?:WRONLY|RDWR|CREAT|TRUNC|APPEND)\b")
_LANDMARKS = {f"python{sys.version_info.major}{sys.version_info.minor}.zip", "pyvenv.cfg", "pybuilddir.txt"}
"""What the interpreter looks for to find its own place."""
_END = {"exit", "exit_group", "wait4", "waitid"}


@dataclass(frozen=True)
class Call:
    """One system call."""

    name: str
    """As strace prints it."""
    paths: tuple[str, ...]
    """What it names, made absolute."""
    line: str
    """As strace printed it."""

    def __str__(self) -> str:
        return self.line[:300]


@functools.cache
def trouble() -> str:
    """Return why nothing can be traced here, or nothing."""
    if shutil.which("strace") is None:
        return "strace is not installed"
    done = subprocess.run(["strace", "-f", "-e", "trace=file", "true"], capture_output=True, timeout=60, check=False)
    return "" if done.returncode == 0 else done.stderr.decode("utf-8", "replace").strip()[-300:]


@dataclass(frozen=True)
class Trace:
    """What one invocation asked the kernel before its manifest was in place."""

    calls: tuple[Call, ...]
    """In order, the interpreter's own start included."""
    recorded: bool
    """Whether it came to the manifest."""
    world: World
    """Where it ran."""
    run_root: Path
    """Where it writes."""
    package: Path
    """The package that it ran."""
    reads: tuple[Path, ...]
    """What it is going to read."""

    def violations(self, *probes: Path) -> list[Call]:
        """Return the calls that nothing allows; `probes` may be looked at, but not opened."""
        started, *calls = self.calls
        assert started.name == "execve", started
        return [call for call in calls if not self._allowed(call, probes)]

    def _allowed(self, call: Call, probes: tuple[Path, ...]) -> bool:
        on_handle = "AT_EMPTY_PATH" in call.line and call.name in _LOOKS
        if call.name in _END | {"getcwd"} or on_handle:
            return True
        if call.name in _PROCESS or not call.paths:
            return False
        return all(self._may_touch(call, Path(path), probes) for path in call.paths)

    def _may_touch(self, call: Call, path: Path, probes: tuple[Path, ...]) -> bool:
        if path.is_relative_to(self.run_root):
            return True
        reads = call.name in _READS and not _CHANGES.search(call.line)
        if reads and _is_code(path, self.package):
            return True
        if call.name in {"mkdir", "mkdirat"}:
            return self.run_root.is_relative_to(path)
        return call.name in _LOOKS and (path in probes or path in self._confinement())

    def _confinement(self) -> set[Path]:
        """Return the components of the paths that confinement resolves: run root, checkout, settings, data."""
        workspace = self.world.checkout.parent
        resolved = (self.run_root, self.world.checkout, workspace / "data", *self.reads)
        return {part for path in resolved for part in (path, *path.parents)} | {self.world.elsewhere}


def trace(
    world: World, command: str, package: Path, *, arguments: Sequence[str] | None = None, cwd: Path | None = None
) -> Trace:
    """Run a recorded command of a package under strace, with the usual arguments unless others are given."""
    root = world.run_root(command)
    log = world.base / "calls.txt"
    strace = ["strace", "-f", "-y", "-s", "4096", "-e", "trace=file,process,network", "-o", str(log)]
    start = f"import sys; sys.path.insert(0, {str(package.parent)!r}); sys.argv[0] = 'obo-bench'"
    run = f"{start}; from obo_bench.__main__ import run; run()"
    manifest = str(world.manifest(command))
    argv = [*strace, *python("-B", "-c", run), *(arguments or world.arguments(command))]
    _run_until_renamed(argv, cwd or world.elsewhere, world, log, manifest)
    calls = list(_calls(log, cwd or world.elsewhere))
    ends = [n for n, call in enumerate(calls) if call.name.startswith("rename") and call.paths[-1:] == (manifest,)]
    return Trace(
        tuple(calls[: ends[0] + 1] if ends else calls), bool(ends), world, root, package, tuple(world.reads(command))
    )


def _run_until_renamed(argv: list[str], cwd: Path, world: World, log: Path, manifest: str) -> None:
    """Run a traced program; what comes after the manifest is in place is not looked at, so it need not happen."""
    process = subprocess.Popen(
        argv, cwd=cwd, env=world.environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, process_group=0
    )
    pattern, give_up = re.compile(rf'rename.*"{re.escape(manifest)}"\) += 0'), time.monotonic() + 120
    try:
        while process.poll() is None and time.monotonic() < give_up:
            if log.exists() and pattern.search(log.read_text("utf-8", "replace")):
                break
            time.sleep(0.1)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _calls(log: Path, cwd: Path) -> Iterator[Call]:
    """Read what strace wrote; a call that another thread interrupts is printed in two parts."""
    begun: dict[str, str] = {}
    for line in log.read_text("utf-8", "replace").splitlines():
        pid = line.partition(" ")[0]
        if line.endswith("<unfinished ...>"):
            begun[pid] = line.removesuffix("<unfinished ...>")
            continue
        whole = begun.pop(pid, "") + line.partition("resumed>")[2] if "resumed>" in line else line
        found = _CALL.match(whole)
        if found:
            yield Call(found["name"], tuple(_paths(found["name"], found["arguments"], cwd)), whole)


def _paths(name: str, arguments: str, cwd: Path) -> Iterator[str]:
    if name in _PROCESS | _END:
        return
    directory = _DIRECTORY.match(arguments)
    base = Path(directory["path"]) if directory else cwd
    for text in _TEXT.findall(arguments)[: 2 if name.startswith(("rename", "link")) else 1]:
        path = text.encode("latin-1", "replace").decode("unicode_escape")
        yield os.path.normpath(base / path) if path else str(base)


def _is_code(path: Path, package: Path) -> bool:
    """Say whether a path is the interpreter's, a system library's, or the package's own."""
    own = [Path(found) for found in sys.path if found and "site-packages" in found]
    binaries = {
        Path(sys.executable).parent,
        Path(sys.executable).resolve().parent,
        Path(sys.prefix),
        Path(sys.base_prefix),
    }
    places = [*code_places(), *own, package, *map(Path, _SYSTEM), Path("/proc/self")]
    if any(path.is_relative_to(place) or place.is_relative_to(path) for place in places):
        return True
    listed = str(path) in {*_SYSTEM_FILES, *sys.path} or path.name in _LANDMARKS
    return listed or any(path.is_relative_to(place) for place in binaries)
