"""A process that is interrupted while it still loads ends with the signal's status and one line, never a traceback."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import obo_bench

PACKAGE = Path(obo_bench.__file__).parent
AS_MODULE = "runpy.run_module('obo_bench', run_name='__main__', alter_sys=True)"
AS_SCRIPT = "from obo_bench.early import run; run()"


def interrupted(start: str, module: str, signum: int) -> subprocess.CompletedProcess[str]:
    """Start the program so that the signal comes at the moment when it begins to load `module`."""
    script = (
        "import os, runpy, signal, sys\n"
        f"sys.path.insert(0, {str(PACKAGE.parent)!r})\n"
        "class Sender:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        f"        if name == {module!r}: os.kill(os.getpid(), {int(signum)})\n"
        "sys.meta_path.insert(0, Sender())\n"
        f"sys.argv = ['obo-bench', 'reasons']\n{start}\n"
    )
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False, restore_signals=True
    )


@pytest.mark.parametrize("start", [AS_MODULE, AS_SCRIPT])
@pytest.mark.parametrize("module", ["obo_bench.core.ending", "typer", "obo_bench.cli.gate", "obo_bench.cli.reasons"])
def test_an_interrupt_while_it_loads_is_one_line(start: str, module: str) -> None:
    done = interrupted(start, module, signal.SIGINT)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr == "ended by SIGINT before anything was begun\n"


@pytest.mark.parametrize("signum", [signal.SIGTERM, signal.SIGHUP])
def test_so_are_the_other_ending_signals(signum: int) -> None:
    done = interrupted(AS_SCRIPT, "typer", signum)
    assert done.returncode == 128 + signum
    assert done.stderr.startswith(f"ended by {signal.Signals(signum).name}")


def test_what_the_caller_had_ignored_stays_ignored() -> None:
    done = interrupted(f"signal.signal(signal.SIGHUP, signal.SIG_IGN); {AS_SCRIPT}", "typer", signal.SIGHUP)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_console_script_begins_there() -> None:
    declared = (PACKAGE.parent / "pyproject.toml").read_text("utf-8")
    assert 'obo-bench = "obo_bench.early:run"' in declared
