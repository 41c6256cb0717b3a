"""This process and its surroundings: Python, locale, terminal, proxies."""

import platform
import shutil
import sys
from collections.abc import Mapping
from urllib.parse import urlsplit

from obo_bench import __version__
from obo_bench.programbench.doctor.verdict import Verdict, fail, ok, warn
from obo_bench.programbench.doctor.world import World

OLDEST_PYTHON = (3, 11)
"""The official package imports `typing.Self`."""
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
_EXEMPTIONS = ("NO_PROXY", "no_proxy")
_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_NARROW = 60


def python(version: tuple[int, ...] = sys.version_info[:3]) -> Verdict:
    """Say whether this Python is new enough."""
    found = f"Python {'.'.join(map(str, version))} at {sys.executable}, obo-bench {__version__}, {platform.platform()}"
    if version < OLDEST_PYTHON:
        return fail(found, "install obo-bench with Python 3.11 or newer")
    return ok(found)


def locale(world: World) -> Verdict:
    """Say whether names and messages can be written as they are."""
    encodings = {
        "file names": sys.getfilesystemencoding(),
        "stdout": str(getattr(sys.stdout, "encoding", None)),
        "stderr": str(getattr(sys.stderr, "encoding", None)),
    }
    odd = [f"{name}: {encoding}" for name, encoding in encodings.items() if not _is_utf8(encoding)]
    set_to = next(
        (f"{name}={world.environ[name]}" for name in ("LC_ALL", "LC_CTYPE", "LANG") if world.environ.get(name)), ""
    )
    if not odd:
        return ok(f"UTF-8 everywhere ({set_to or 'no locale is set'})")
    return warn(
        f"not everything is UTF-8 ({'; '.join(odd)}; {set_to or 'no locale is set'}): what cannot be shown is escaped",
        "set LC_ALL=C.UTF-8, or PYTHONUTF8=1",
    )


def terminal(world: World) -> Verdict:
    """Say what progress will look like."""
    if sys.stderr is None or not sys.stderr.isatty():
        return ok("stderr is no terminal: progress is plain lines")
    columns, lines = shutil.get_terminal_size()
    term = world.environ.get("TERM") or "not set"
    colour = ", without colours (NO_COLOR)" if world.environ.get("NO_COLOR") else ""
    found = f"{columns} columns, {lines} lines, TERM {term}{colour}"
    if columns < _NARROW:
        return warn(f"{found}: lines will be cut", f"make the window at least {_NARROW} columns wide")
    return ok(found)


def proxies(world: World) -> Verdict:
    """Say who obeys the proxies of the environment: not the client of the server, but whoever asks the outside."""
    named = sorted(name for name in _PROXIES if world.environ.get(name))
    if not named:
        return ok("no proxy is set")
    used = f"{', '.join(named)} set: OpenRouter and the data set's host are asked through it"
    host = urlsplit(world.options.url).hostname or ""
    if host not in _LOOPBACK:
        return warn(
            f"{used}; the server at {host!r} is asked directly, as always",
            "make sure that the server can be reached without the proxy",
        )
    if (engine := _proxied_engine(world.environ)) and not _exempt(engine, world.environ):
        return warn(
            f"{used}; so is the Docker engine at {engine!r} (DOCKER_HOST), as NO_PROXY does not name it",
            f"add {engine} to NO_PROXY",
        )
    return ok(f"{used}; the server at {host!r} is asked directly, also without NO_PROXY")


def _proxied_engine(environ: Mapping[str, str]) -> str:
    """Return the host of an engine that is reached over TCP, which the Docker SDK asks through a proxy."""
    address = urlsplit(environ.get("DOCKER_HOST", ""))
    return (address.hostname or "") if address.scheme in ("tcp", "http", "https") else ""


def _exempt(host: str, environ: Mapping[str, str]) -> bool:
    names = {part.strip() for name in _EXEMPTIONS for part in environ.get(name, "").split(",")}
    return "*" in names or host in names


def _is_utf8(encoding: str) -> bool:
    return encoding.lower().replace("-", "").replace("_", "") == "utf8"
