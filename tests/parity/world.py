"""A world of its own for each way out, and the process that takes it."""

import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from filelock import FileLock

from obo_bench.core.lock import LOCK_NAME
from tests.conftest import git
from tests.parity.command_lines import IID, command_line, good_values, options
from tests.parity.sources import standing, supplied
from tests.parity.ways import Way

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ended:
    """What a process left behind."""

    status: int
    stdout: bytes
    stderr: str
    manifests: list[dict[str, Any]]


class World:
    """A checkout, a place for runs, and two servers: the right one and one of another version."""

    def __init__(self, directory: Path, checkout: Path, urls: tuple[str, str], environ: Mapping[str, str]) -> None:
        self.checkout = directory / "workspace" / "ouroboros"
        shutil.copytree(checkout, self.checkout, symlinks=True)
        self.runs = directory / "runs"
        self.values = good_values(self.checkout, self.runs, urls[0])
        self._other_url, self._environ = urls[1], environ
        self._held: list[FileLock] = []
        self._given: frozenset[Path] = frozenset()

    def dirty(self) -> None:
        (self.checkout / "dirt").write_text("x")

    def no_commit(self) -> None:
        plain = self.runs.parent / "plain"
        plain.mkdir()
        self.values["--repo-dir"] = str(plain)

    def subdirectory(self) -> None:
        (self.checkout / "below").mkdir()
        self.values["--repo-dir"] = str(self.checkout / "below")

    def other_line(self) -> None:
        self.values["--seed-commit"] = git(self.checkout, "commit-tree", "-m", "unrelated", "HEAD^{tree}")

    def other_version(self) -> None:
        self.values["--ouroboros-url"] = self._other_url

    def locked(self) -> None:
        """Lock every directory that a command may write its manifest to for the run id `r`."""
        for place in (
            "programbench/r",
            "demo/r",
            "attest/r",
            "campaign/r",
            "programbench/r/eval",
            "programbench/r/gate",
            "grade/r",
            f"programbench/r/{IID}",
        ):
            (self.runs / place).mkdir(parents=True)
            self._held.append(FileLock(self.runs / place / LOCK_NAME))
            self._held[-1].acquire()

    def runs_root_is_a_file(self) -> None:
        self.runs.write_text("in the way")

    def runs_root_in_checkout(self) -> None:
        self.values["--runs-root"] = str(self.checkout / "runs")

    def take(self, command: str, way: Way) -> Ended:
        if way.world:
            getattr(self, way.world)()
        known = options(command)
        values = {**self.values, **{name: value for name, value in way.options.items() if name in known}}
        standing(command, values)
        if not way.succeeds:
            return self._run(command_line(command, values), way)
        with supplied(command, values):
            self._given = frozenset(self._records())
            return self._run(command_line(command, values), way)

    def _run(self, line: list[str], way: Way) -> Ended:
        say_read, say_write = os.pipe()
        go_read, go_write = os.pipe()
        child = ["-m", "tests.parity.child", way.place, way.deed, "--"] if way.place else ["-m", "obo_bench"]
        argv = [sys.executable, *child, *line]
        if way.streams and way.streams != "late":
            script = f"{shlex.join(argv)} {way.streams}"
            argv = ["bash", "-c", f"{script}; exit ${{PIPESTATUS[0]}}"]
        environ = {**os.environ, **self._environ, "PARITY_SAY": str(say_write), "PARITY_GO": str(go_read)}
        environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), *self._environ.get("PYTHONPATH", "").split(os.pathsep)])
        with subprocess.Popen(
            argv,
            env=environ,
            pass_fds=(say_write, go_read),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        ) as process:
            os.close(say_write)
            os.close(go_read)
            assert process.stdout is not None
            if way.streams == "late":
                os.read(say_read, 5)
                process.stdout.close()
            for signum in way.signals:
                os.read(say_read, 5)
                process.send_signal(signum)
            os.close(go_write)
            stdout = b"" if process.stdout.closed else process.stdout.read()
            assert process.stderr is not None
            told = process.stderr.read().decode()
            status = process.wait(timeout=60)
        os.close(say_read)
        return Ended(status, stdout, told, self._manifests())

    def _manifests(self) -> list[dict[str, Any]]:
        return [json.loads(path.read_text()) for path in self._records() if path not in self._given]

    def _records(self) -> list[Path]:
        root = self.runs if self.runs.is_dir() else Path(os.devnull)
        return [*root.rglob("run_manifest.json"), *root.rglob("manifests/*.json")]
