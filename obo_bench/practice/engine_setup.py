"""Makes sure that a container engine answers and git is there; installs and starts them only when asked to.

With set-up on Debian or Ubuntu as root: docker.io from the distribution, dockerd in a session of its own, so that it
outlives this process. One process at a time; a second one finds the work done.
"""

import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from filelock import FileLock, Timeout

from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import Reporter
from obo_bench.engine.daemon import remedy_of
from obo_bench.practice.bounded_process import run_bounded
from obo_bench.practice.docker_cli import engine_complaint, executable
from obo_bench.practice.setup_error import PracticeSetupError

LOG = Path("/var/log/obo-bench-engine.log")
"""What apt and dockerd print."""
_LOCK = Path("/run/obo-bench-engine.lock")
PID_FILE = Path("/var/run/docker.pid")
_LOCK_SECONDS = 900.0
_APT_SECONDS = 600.0
_START_SECONDS = 60.0


def ensure_engine(setup: bool, reporter: Reporter) -> None:
    """Return once git is there and a container engine answers; with `setup` install and start what is missing.

    Raises PreflightRefused (engine_unreachable) when there is no engine and none can be made here, PracticeSetupError
    when git is missing or a step of the set-up fails.
    """
    complaint = engine_complaint()
    if not complaint and shutil.which("git"):
        return
    if not setup:
        _refuse(complaint, "add --setup to install and start what is missing (Debian or Ubuntu, as root)")
    if complaint and os.environ.get("DOCKER_HOST"):
        _refuse(complaint, "DOCKER_HOST is set: start the engine that it names, or unset it")
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        _refuse(complaint, "--setup needs root and apt; install and start Docker (and git) by hand here")
    try:
        with FileLock(_LOCK, timeout=_LOCK_SECONDS):
            _set_up(reporter)
    except Timeout:
        raise PracticeSetupError(
            f"another process has been setting up the engine for {_LOCK_SECONDS:g} s", f"look into {LOG}"
        ) from None


def _refuse(complaint: str, remedy: str) -> None:
    if complaint:
        raise PreflightRefused(
            "engine_unreachable",
            f"no container engine answers: {complaint}",
            evidence={"complaint": complaint},
            remedy=remedy_of(complaint) or remedy,
        )
    raise PracticeSetupError("git is not installed", remedy)


def _set_up(reporter: Reporter) -> None:
    with LOG.open("ab") as log:
        answered = not engine_complaint()
        if packages := _missing_packages(answered):
            reporter.event(f"installing {' '.join(packages)}; log: {LOG}")
            _install(packages, log)
        # The package's own service may be up by now.
        if answered or not engine_complaint():
            return
        reporter.event(f"starting dockerd; log: {LOG}")
        drop_stale_pid_file(PID_FILE)
        _wait_until_ready(start_daemon(["dockerd"], log))


def drop_stale_pid_file(path: Path) -> None:
    """Remove what a killed dockerd left: it would not start while any process has the number written there."""
    try:
        number = int(path.read_text("ascii"))
        name = Path(f"/proc/{number}/comm").read_text("utf-8").strip()
    except FileNotFoundError:
        name = ""
    except ValueError:
        name = "unreadable"
    if name != "dockerd":
        path.unlink(missing_ok=True)


def _missing_packages(answered: bool) -> list[str]:
    packages = [] if shutil.which("git") else ["git"]
    if not answered and not (shutil.which("dockerd") and shutil.which(executable())):
        packages += ["docker.io", "iptables", "ca-certificates"]
    return packages


def _install(packages: Sequence[str], log: IO[bytes]) -> None:
    _apt(["update"], log)
    if "docker.io" in packages and run_bounded(["apt-cache", "show", "docker-cli"], timeout=60).status == 0:
        # Newer distributions keep the client in a package of its own, which docker.io only recommends.
        packages = [*packages, "docker-cli"]
    _apt(["install", "--no-install-recommends", *packages], log)


def _apt(command: Sequence[str], log: IO[bytes]) -> None:
    argv = ["apt-get", "--quiet=2", "--yes", "-o", "DPkg::Lock::Timeout=300", *command]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    done = run_bounded(argv, timeout=_APT_SECONDS, stdout=log, env=environment)
    log.write(done.stderr.encode())
    log.flush()
    if done.status != 0:
        raise PracticeSetupError(
            f"`apt-get {command[0]}` failed with status {done.status} ({done.complaint})",
            f"check the network and the package sources; the log is {LOG}",
        )


def start_daemon(argv: Sequence[str], log: IO[bytes]) -> int:
    """Start a daemon in a session of its own, its output going to `log`; return its process id."""
    program = shutil.which(argv[0])
    if program is None:
        raise PracticeSetupError(f"{argv[0]} is not installed", "add --setup or install Docker")
    null = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0)
    output = [(os.POSIX_SPAWN_DUP2, log.fileno(), stream) for stream in (1, 2)]
    return os.posix_spawn(program, list(argv), os.environ, file_actions=[null, *output], setsid=True)


def _wait_until_ready(daemon: int) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while complaint := engine_complaint():
        if os.waitpid(daemon, os.WNOHANG) != (0, 0):
            raise PracticeSetupError("dockerd ended at once", f"look into {LOG}: {_last_lines()}")
        if time.monotonic() > deadline:
            raise PracticeSetupError(
                f"dockerd (process {daemon}) does not answer after {_START_SECONDS:g} s ({complaint})",
                f"look into {LOG}",
            )
        time.sleep(0.3)


def _last_lines() -> str:
    with LOG.open("rb") as log:
        log.seek(max(0, log.seek(0, os.SEEK_END) - 4096))
        return " / ".join(log.read().decode("utf-8", "replace").splitlines()[-3:])
