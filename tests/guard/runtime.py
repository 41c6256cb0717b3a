"""The run-time guard: judges every event that a recorded command caused before its manifest existed."""

import json
import os
import sys
import sysconfig
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.guard.foreign import ALLOWED_DISTRIBUTIONS, IMPORTABLE
from tests.guard.invocations import World, python

PROBE = Path(__file__).parent / "probe.py"
COMPANIONS = frozenset(
    {
        *("annotated_doc", "annotated_types", "click", "shellingham", "typing_extensions", "typing_inspection"),
        *("nt", "org", "winreg", "_winapi"),  # tried on other platforms
        *(
            "_sysconfigdata__linux_x86_64-linux-gnu",
            "_virtualenv",
            "_distutils_hack",
            "rich",
            "colorama",
            "sitecustomize",
            "usercustomize",
            "email_validator",
        ),
    }
)
"""What the allowed packages import for themselves, or try to."""

_IMPORT_SYSTEM = ("<frozen importlib", "<frozen zipimport", "<frozen runpy", "<frozen getpath")
_GENERATED = {"compile", "exec"}
"""Events of generated code, as dataclasses and pydantic make it; ours may not."""


@dataclass(frozen=True)
class Event:
    """One audit event."""

    name: str
    """As the interpreter calls it."""
    arguments: tuple[str, ...]
    """As text."""
    stack: tuple[tuple[str, int, str], ...]
    """Innermost first: file, line, function."""

    def __str__(self) -> str:
        where = " < ".join(f"{file}:{line} {function}" for file, line, function in self.stack[:12])
        return f"{self.name}({', '.join(self.arguments)}) at {where}"


@dataclass(frozen=True)
class Recording:
    """What one invocation did before its manifest."""

    events: tuple[Event, ...]
    """In order."""
    world: World
    """Where it ran."""
    run_root: Path
    """Where it writes."""
    package: Path
    """The package that it ran."""
    said: str
    """Its stderr."""

    @property
    def recorded(self) -> bool:
        """Whether it came to the manifest."""
        return bool(self.events) and self.events[-1].name == "os.rename"

    def violations(self) -> list[Event]:
        """Return the events that nothing allows."""
        return [event for event in self.events if not any(rule(self, event) for rule in _RULES)]


def record(world: World, command: str, package: Path) -> Recording:
    """Run a recorded command of a package under the hook."""
    root = world.run_root(command)
    log = world.base / "events.jsonl"
    arguments = world.arguments(command)
    probe = [*python("-B"), str(PROBE), str(log), str(world.manifest(command)), str(package.parent)]
    done = world.start([*probe, *arguments])
    lines = log.read_text("utf-8").splitlines() if log.exists() else []
    events = tuple(Event(name, tuple(said), tuple(map(tuple, stack))) for name, said, stack in map(json.loads, lines))
    return Recording(events, world, root, package, done.stderr)


# Rules: each says whether it allows an event


def _interpreter_file(recording: Recording, event: Event) -> bool:
    """Reading what the interpreter and the allowed packages consist of, and ourselves."""
    if event.name not in {"open", "os.listdir", "os.scandir"}:
        return False
    path, *mode = event.arguments
    if event.name == "os.listdir" and path in sys.path:
        return not _ours_is_next(recording, event)
    reading = event.name != "open" or _only_reads(mode)
    return reading and (_from_import_system(event) or not _ours_is_next(recording, event)) and _is_code(recording, path)


def _imported(recording: Recording, event: Event) -> bool:
    top = event.arguments[0].partition(".")[0] if event.name == "import" else ""
    return top in IMPORTABLE | COMPANIONS | {recording.package.name}


def _generated(recording: Recording, event: Event) -> bool:
    maker = event.stack[0][0] if event.stack else ""
    return event.name in _GENERATED and not Path(maker).is_relative_to(recording.package)


def _first_act(recording: Recording, event: Event) -> bool:
    """The seam's own acts, in the run root."""
    if not any(function == "admit_benchmark_run" for _, _, function in event.stack):
        return False
    if event.name in {"socket.gethostname", "fcntl.flock", "fcntl.fcntl"}:
        return True
    paths = [Path(found) for found in event.arguments if found.startswith("/")]
    handles = event.name in {"os.chmod", "os.truncate", "open"} and event.arguments[0].isdecimal()
    made = event.name == "os.mkdir" and any(recording.run_root.is_relative_to(path) for path in paths)
    below = bool(paths) and all(path.is_relative_to(recording.run_root) for path in paths)
    return event.name in _ACTS and (below or handles or made)


_ACTS = {"open", "os.mkdir", "os.rename", "os.chmod", "os.remove", "os.listdir", "os.scandir", "tempfile.mkstemp"}
_ACTS |= {"os.truncate"}


def _own_environment(recording: Recording, event: Event) -> bool:
    """What an allowed package tells itself by the environment."""
    return event.name in {"os.putenv", "os.unsetenv"} and not _ours_is_next(recording, event)


_RULES: tuple[Callable[[Recording, Event], bool], ...] = (
    _interpreter_file,
    _imported,
    _generated,
    _first_act,
    _own_environment,
)


def _only_reads(mode: list[str]) -> bool:
    text, flags = mode[0], int(mode[1]) if len(mode) > 1 and mode[1].lstrip("-").isdecimal() else 0
    writes = flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    return not writes and not set(text) & set("wax+")


def _from_import_system(event: Event) -> bool:
    return bool(event.stack) and event.stack[0][0].startswith(_IMPORT_SYSTEM)


def _ours_is_next(recording: Recording, event: Event) -> bool:
    """Say whether the package itself caused an event, directly or through a function of the standard library."""
    for file, _, _ in event.stack:
        if file.startswith(_IMPORT_SYSTEM) or _is_allowed_package(file):
            return False
        if Path(file).is_relative_to(recording.package):
            return True
    return False


def _is_allowed_package(file: str) -> bool:
    """Say whether a file is of an allowed package; pydantic looks for its plugins in the installed packages."""
    parts = Path(file).parts
    return "site-packages" in parts and parts[parts.index("site-packages") + 1] in ALLOWED_DISTRIBUTIONS | COMPANIONS


def _is_code(recording: Recording, path: str) -> bool:
    return any(Path(path).is_relative_to(place) for place in (recording.package.parent, *code_places()))


def code_places() -> Iterator[Path]:
    """Return where the interpreter's own files lie."""
    for name in ("stdlib", "platstdlib", "purelib", "platlib"):
        yield Path(sysconfig.get_path(name))
    for prefix in {sys.prefix, sys.base_prefix, sys.exec_prefix}:
        yield Path(prefix) / "lib"
        yield Path(prefix) / "pyvenv.cfg"
    yield from (Path(found) for found in sys.path if found.endswith(".zip"))
