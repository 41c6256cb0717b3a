"""Measure packing a workspace: `python -m benchmarks.packaging`.

Prints what it takes beside `tarfile` in its mode `w:gz` and beside `tar -czf`, for 500 MB of large files, some of which
compress well, and for 20,000 small source files. The reference lies in the workspace, so its copies are looked for.
Ends with 1 when the budget is broken: 5 times as quick as `tarfile` on the large files, twice on the small ones, never
slower than `tar`, at most 1.15 times its size, and memory that does not grow with the tree. Each contender is a process
of its own, and they take turns. Needs Linux, for the peak of its memory.
"""

import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

LARGE_FILES, LARGE_BYTES = 15, 33 << 20
SMALL_FILES, SMALL_BYTES = 20_000, 4000
ROUNDS = 3
QUICKER = {"large": 5.0, "small": 2.0}
MOST_SIZE = 1.15
MOST_MEMORY = 150_000_000


def build_large(root: Path) -> None:
    """Write files of sources, of programs and of noise, in turn: what compresses well, somewhat, and not at all."""
    kinds = [_sources(), _programs(), None]
    for number in range(LARGE_FILES):
        kind = kinds[number % 3]
        with (root / f"large{number}").open("wb") as stream:
            for part in range(LARGE_BYTES >> 20):
                at = (number * LARGE_BYTES + (part << 20)) % (len(kind) - (1 << 20)) if kind else 0
                stream.write(kind[at : at + (1 << 20)] if kind else os.urandom(1 << 20))


def build_small(root: Path) -> None:
    """Write pieces of sources, of various sizes, into many directories."""
    sources = _sources()
    for number in range(SMALL_FILES):
        directory = root / f"src{number % 200:03}" / f"part{number % 7}"
        directory.mkdir(parents=True, exist_ok=True)
        at, size = number * 104_729 % (len(sources) - 2 * SMALL_BYTES), number * 7919 % (2 * SMALL_BYTES)
        (directory / f"module{number}.py").write_bytes(sources[at : at + size])


def _sources() -> bytes:
    return _joined(Path(os.__file__).parent.rglob("*.py"))


def _programs() -> bytes:
    return _joined([*Path(os.__file__).parent.rglob("*.so"), *Path("/usr/lib").glob("*/*.so.*"), Path(sys.executable)])


def _joined(paths: Iterable[Path]) -> bytes:
    parts: list[bytes] = []
    size = 0
    for path in sorted(paths):
        if path.is_file() and size < 64 << 20:
            parts.append(path.read_bytes())
            size += len(parts[-1])
    return b"".join(parts)


TREES: dict[str, Callable[[Path], None]] = {"large": build_large, "small": build_small}


def with_tarfile(root: Path, place: Path) -> None:
    """Pack as the standard library does unless told otherwise."""
    with tarfile.open(place / "submission.tar.gz", "w:gz") as archive:
        archive.add(root, ".")


def with_obo_bench(root: Path, place: Path) -> None:
    """Pack, search for the reference, read again and verify."""
    from obo_bench.programbench.packaging.submission import package_workspace

    package_workspace(root, place)


def with_tar(root: Path, place: Path) -> None:
    """Pack as a shell script would."""
    os.execvp("tar", ["tar", "-czf", str(place / "submission.tar.gz"), "-C", str(root), "."])


CONTENDERS: dict[str, Callable[[Path, Path], None]] = {
    "tarfile w:gz": with_tarfile,
    "tar -czf": with_tar,
    "obo-bench": with_obo_bench,
}


@dataclass
class Measured:
    """What one contender took for one tree."""

    seconds: float
    """The best of its rounds."""
    size: int
    """Bytes of the archive."""
    memory: int
    """Peak of its resident bytes."""


def measure(name: str, root: Path) -> Measured:
    """Run one contender as a process of its own."""
    with tempfile.TemporaryDirectory(dir=root.parent) as place:
        os.sync()
        started = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-m", "benchmarks.packaging", name, str(root), place])
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = status
        seconds = time.perf_counter() - started
        if status:
            raise AssertionError(f"{name} failed")
        return Measured(seconds, Path(place, "submission.tar.gz").stat().st_size, usage.ru_maxrss << 10)


def compare(kind: str, place: Path) -> bool:
    """Print the measurements of one tree; returns whether the budget was kept."""
    root = place / kind
    root.mkdir()
    # By another process: what this one has ever held would count as the peak of those that it starts.
    subprocess.run([sys.executable, "-m", "benchmarks.packaging", kind, str(root)], check=True)
    shutil.copy(Path(sys.executable).resolve(), root / "reference_executable")
    best: dict[str, Measured] = {}
    for _ in range(ROUNDS):
        for name in CONTENDERS:
            now = measure(name, root)
            before = best.setdefault(name, now)
            best[name] = Measured(min(now.seconds, before.seconds), now.size, max(now.memory, before.memory))
    plain, tar, ours = (best[name] for name in CONTENDERS)
    print(f"{kind} files; best of {ROUNDS}")  # noqa: T201
    for name, found in best.items():
        print(f"  {name + ':':14} {_line(found, plain)}", flush=True)  # noqa: T201
    shutil.rmtree(root)
    quick = plain.seconds >= QUICKER[kind] * ours.seconds and ours.seconds <= tar.seconds
    return quick and ours.size <= MOST_SIZE * plain.size and ours.memory <= MOST_MEMORY


def _line(found: Measured, plain: Measured) -> str:
    speed = f"{found.seconds:6.2f} s ({plain.seconds / found.seconds:5.2f}x as quick)"
    return f"{speed}, {found.size / 1e6:6.1f} MB ({found.size / plain.size:.3f}x), peak {found.memory / 1e6:.0f} MB"


def main() -> int:
    """Print the measurements; returns 1 when the budget is broken."""
    with tempfile.TemporaryDirectory(prefix="obo-bench-packaging-") as place:
        kept = [compare(kind, Path(place)) for kind in TREES]
    print("budget kept" if all(kept) else "BUDGET BROKEN")  # noqa: T201
    return 0 if all(kept) else 1


if __name__ == "__main__":
    match sys.argv[1:]:
        case []:
            sys.exit(main())
        case [tree, root]:
            TREES[tree](Path(root))
        case [contender, root, place]:
            CONTENDERS[contender](Path(root), Path(place))
