"""The scripted solver: does in a workspace what an agent would do, from a solution that it knows beforehand.

Commands run in the task's container, files are written on the host, as with the real server.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from obo_bench.practice.standin.meter import Meter
from obo_bench.practice.standin.records import Work
from obo_bench.practice.standin.shell import Ran, Shell

STAND_IN = "Practice run of the stand-in gateway with a scripted solver; its result says nothing about any model."
"""How every report begins."""

_LOOK = ("sh", "-c", "ls -a; cat docs/* 2>/dev/null | head -c 4000")
_NO_SOLUTION: Mapping[str, tuple[bytes, int]] = {
    "compile.sh": (
        b"#!/bin/sh\necho 'compile.sh: the scripted solver knows no solution of this task' >&2\nexit 1\n",
        0o755,
    )
}


class Probe(Protocol):
    """One comparison of the built program with its reference."""

    @property
    def argv(self) -> tuple[str, ...]:
        """The arguments, without the program."""

    @property
    def stdin(self) -> bytes:
        """What the program reads."""


class PracticeTask(Protocol):
    """What the solver knows of a task."""

    @property
    def probes(self) -> Sequence[Probe]:
        """The comparisons to make."""

    def solution(self, variant: str) -> Mapping[str, tuple[bytes, int]]:
        """Return relative path -> (content, mode) of a variant: solved, partial or broken-build."""


TaskSource = Callable[[str], PracticeTask | None]
"""Gives the practice task of an instance id, or None."""


def known_task(instance_id: str) -> PracticeTask | None:
    """Return the practice task of an instance id, None when there is none."""
    from obo_bench.practice.tasks import task_by_id

    return task_by_id(instance_id)


class Solver:
    """One attempt at one task."""

    def __init__(
        self, shell: Shell, workspace: Path | None, meter: Meter, note: Callable[[str, dict[str, Any]], None]
    ) -> None:
        """`note` takes the type and the data of each event; `meter` counts the rounds."""
        self._shell = shell
        self._workspace = workspace
        self._meter = meter
        self._note = note
        self._errors: list[Mapping[str, Any]] = []
        self._trace: list[str] = []

    def look(self, command: Sequence[str], pause_sec: float) -> None:
        """Look at the documents, run an extra command if one is given, then wait `pause_sec` seconds."""
        self._run(_LOOK)
        if command:
            self._run(command)
        self._shell.sleep(pause_sec)

    def solve(self, task: PracticeTask | None, variant: str) -> Work:
        """Write the solution, build it, compare it with the reference; raises what `Shell.sleep` raises."""
        files = _NO_SOLUTION if task is None else task.solution(variant)
        for name, (content, mode) in files.items():
            self._write(name, content, mode)
        built = self._run(("./compile.sh",)).status == 0
        probes = task.probes if task else ()
        agreeing = sum(self._agrees(probe) for probe in probes)
        outcome = f"The build {'succeeded' if built else 'failed'}; {agreeing} of {len(probes)} probes agree."
        unknown = "" if task else " No practice task is known for this instance."
        return self.work(f"{outcome}{unknown}", agreed=bool(probes) and agreeing == len(probes))

    def work(self, report: str, *, agreed: bool = False) -> Work:
        """Return what was done so far, with a last word."""
        return Work(f"{STAND_IN} {report}", agreed, tuple(self._errors), tuple(self._trace))

    def _agrees(self, probe: Probe) -> bool:
        script = _probe_script(probe.stdin)
        reference, own = (
            self._run(("sh", "-c", script, "sh", program, *probe.argv))
            for program in ("./reference_executable", "./executable")
        )
        return reference.status == 0 and own.status == 0 and reference.stdout == own.stdout

    def _run(self, argv: Sequence[str]) -> Ran:
        ran = self._shell.run(argv)
        if ran.error is not None:
            self._errors.append(ran.error)
        self._called("run_command", {"cmd": list(argv)}, ran.error)
        return ran

    def _write(self, name: str, content: bytes, mode: int) -> None:
        self._shell.sleep(0)
        error: Mapping[str, Any] | None = None
        try:
            if self._workspace is None:
                raise FileNotFoundError("the task has no workspace")
            target = self._workspace / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
            target.chmod(mode)
        except OSError as problem:
            text = f"WRITE_ERROR: {name}: {problem}"
            error = {"tool": "write_file", "status": "error", "exit_code": None, "signal": None, "result": text}
            self._errors.append(error)
        self._called("write_file", {"path": name, "bytes": len(content)}, error)

    def _called(self, tool: str, args: dict[str, Any], error: Mapping[str, Any] | None) -> None:
        self._meter.rounds += 1
        status = error["status"] if error else "ok"
        self._trace.append(f"{tool}({str(args)[:200]}) [status={status}]")
        self._note("llm_round", {"round": self._meter.rounds})
        self._note(
            "llm_usage", {"cost": self._meter.usd_per_round, "cost_known": self._meter.usd_per_round is not None}
        )
        preview = str(error["result"])[:500] if error else "ok"
        self._note("tool_call", {
            "tool": tool, "args": args, "is_error": error is not None, "status": status, "result_preview": preview,
        })  # fmt: skip


def _probe_script(stdin: bytes) -> str:
    """Return a script that runs its arguments on `stdin` and shows their status; a command's own input is empty."""
    octal = "".join(f"\\{byte:03o}" for byte in stdin)
    return f"printf '{octal}' | \"$@\"; printf '\\nstatus=%s\\n' \"$?\""
