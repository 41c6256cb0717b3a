"""SIGKILL at every step in the life of one instance, from outside, and what the next start makes of it.

A watcher waits for what a step leaves on disk, stops the process on the spot, looks whether it was in time, kills it.
Where steps follow each other too quickly for that, the process is let run for a moment at a time.
"""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.soak.invariants import Broken, check_always, check_end, require
from tests.soak.world import Run, World

SERVER = ("--scenario", "instant", "--solve-delay-sec", "1.5", "--finalize-delay-sec", "0.5")
"""Options of a server for these kills."""
_BIG = 48 << 20
_TRIES = 30
_WAIT_SEC = 60.0
_MOMENT_SEC = 0.0005


@dataclass(frozen=True)
class Scene:
    """The files of one instance of a run under watch."""

    run: Run
    instance_id: str

    def has(self, name: str) -> bool:
        """Say whether a file of the instance is there."""
        return os.path.lexists(self.run.root / self.instance_id / name)

    @property
    def status(self) -> str:
        """The status in the checkpoint, empty without one."""
        return str(self.run.checkpoint(self.instance_id).get("status", ""))

    @property
    def rows(self) -> int:
        """Lines in the run root's ledger."""
        return len(self.run.rows())

    @property
    def own_rows(self) -> int:
        """Lines in the instance's ledger."""
        return len(self.run.rows(self.instance_id))

    @property
    def accepted(self) -> int:
        """Tasks that the server took."""
        return sum(map(len, self.run.tasks().values()))

    @property
    def finalizing(self) -> bool:
        """Whether the server is collecting the artifacts of the task."""
        tasks = self.run.tasks().get(self.instance_id, [])
        return bool(tasks) and self.run.world.server.record(tasks[-1]).get("artifact_status") == "finalizing"

    def on_disk(self) -> str:
        """Say what a restart will find."""
        names = ("workspace", "cleanroom.json", ".submission.tar.gz.partial", "submission.tar.gz", "submission.json")
        found = [name for name in names if self.has(name)]
        found += [f"checkpoint: {self.status}"] if self.status else []
        found += [f"rows: {self.rows} at the root, {self.own_rows} of its own"] if self.rows else []
        return ", ".join([*found, f"tasks at the server: {self.accepted}"])


@dataclass(frozen=True)
class Step:
    """A moment in the life of an instance."""

    name: str
    reached: Callable[[Scene], bool]
    """It has come to that; asked as often as possible."""
    in_time: Callable[[Scene], bool]
    """It has not gone further yet; asked when the process stands still."""
    faults: tuple[str, ...] = ()
    """What goes wrong at the server until the kill."""
    big: bool = False
    """Its workspace is too big to be packed in no time."""
    slow_from: str = "never"
    """The status in the checkpoint from which on the process runs for a moment at a time."""
    done: bool = False
    """Its row is written: a restart has nothing to do."""


STEPS: tuple[Step, ...] = (
    Step("the workspace is being made", lambda s: s.has("workspace"), lambda s: not s.has("cleanroom.json")),
    Step("the cleanroom is ready", lambda s: s.has("cleanroom.json"), lambda s: not s.status),
    Step(
        "before the intent", lambda s: s.has("ouroboros_task_body.json"), lambda s: not s.status and s.accepted == 0
    ),
    Step("between the intent and the POST", lambda s: s.status == "intent", lambda s: s.accepted == 0),
    Step(
        "the POST is under way and never arrives",
        lambda s: s.run.world.server.struck() > 0,
        lambda s: s.status == "intent" and s.accepted == 0,
        ("submit:drop",),
    ),
    Step(
        "the POST is under way and arrives after the kill",
        lambda s: s.run.world.server.struck() > 0,
        lambda s: s.status == "intent" and s.accepted == 0,
        ("submit:delay=2*1",),
    ),
    Step(
        "after the POST, before its answer",
        lambda s: s.accepted > 0,
        lambda s: s.status == "intent",
        ("submit:delay-answer=5*1",),
    ),
    Step(
        "its answer is stored",
        lambda s: s.status == "scheduled",
        lambda s: s.status == "scheduled",
        slow_from="intent",
    ),
    Step("while polling", lambda s: s.status == "running", lambda s: not s.finalizing),
    Step("while the server finalizes", lambda s: s.finalizing, lambda s: s.status == "running"),
    Step("the end is stored", lambda s: s.status == "completed", lambda s: not s.has("submission.tar.gz")),
    Step(
        "while packaging",
        lambda s: s.has(".submission.tar.gz.partial"),
        lambda s: not s.has("submission.tar.gz"),
        big=True,
    ),
    Step(
        "between the archive and its record",
        lambda s: s.has("submission.tar.gz"),
        lambda s: not s.has("submission.json"),
        slow_from="completed",
    ),
    Step(
        "between the archive and its row",
        lambda s: s.has("submission.json"),
        lambda s: s.rows == 0,
        slow_from="completed",
    ),
    Step("between the two ledgers", lambda s: s.rows == 1, lambda s: s.own_rows == 0, slow_from="completed", done=True),
    Step(
        "while finalizing",
        lambda s: s.own_rows == 1,
        lambda s: s.run.manifest()["extra"]["outcome"] == "started",
        slow_from="completed",
        done=True,
    ),
    Step(
        "after the end was written",
        lambda s: s.own_rows == 1 and s.run.manifest()["extra"]["outcome"] != "started",
        lambda s: s.own_rows == 1,
        done=True,
    ),
)  # fmt: skip
"""All of them, in the order of a life."""


@dataclass(frozen=True)
class Killed:
    """What one kill came to."""

    step: str
    on_disk: str
    """What was there when the process was gone."""
    restart: str
    """What the next start did."""
    tasks: int
    """Tasks that the server ever took for the instance."""


def kill_at(world: World, step: Step) -> Killed:
    """Kill a run at a step, start it again, check the end; raises Broken for what must not be."""
    for number in range(_TRIES):
        run = Run(world, f"kill-{STEPS.index(step)}-{number}")
        scene = Scene(run, world.ids[0])
        if _kill(scene, step):
            return _restart(scene, step)
        # It was too quick for the watcher this time; that it was killed at another step is no harm.
        world.server.faults()
        status, told = run.finish("--instance-id", scene.instance_id)
        require(status == 0, f"{step.name}: the restart ended with {status}: {told}")
    raise Broken(f"{step.name}: no kill in {_TRIES} was in time")


def _kill(scene: Scene, step: Step) -> bool:
    """Say whether the process was killed at the step, not later."""
    scene.run.world.server.faults(*step.faults)
    process = scene.run.start("--instance-id", scene.instance_id)
    give_up = time.monotonic() + _WAIT_SEC
    filled, slow = not step.big, False
    while not step.reached(scene):
        if not filled and scene.status == "running":
            (scene.run.root / scene.instance_id / "workspace" / "big.bin").write_bytes(os.urandom(_BIG))
            filled = True
        slow = slow or scene.status == step.slow_from
        if slow:
            _run_for_a_moment(process)
        if process.poll() is not None:
            raise Broken(f"{step.name}: the run ended before it came to that: {process.communicate()}")
        require(time.monotonic() < give_up, f"{step.name}: it did not come to that")
    _stop(process)
    in_time = step.in_time(scene)
    process.kill()
    process.communicate()
    return in_time


def _restart(scene: Scene, step: Step) -> Killed:
    run, world = scene.run, scene.run.world
    on_disk = scene.on_disk()
    check_always(run)
    world.server.faults()
    status, told = run.finish("--instance-id", scene.instance_id)
    require(status == 0, f"{step.name}: the restart ended with {status}: {told}")
    check_end(run, instances=[scene.instance_id])
    return Killed(step.name, on_disk, _what_it_did(run, scene, told), scene.accepted)


def _what_it_did(run: Run, scene: Scene, told: str) -> str:
    last = run.rows(scene.instance_id)[-1]
    if last["status"] == "skipped":
        return "left it alone: it was done"
    if "going on with task" in told:
        return "went on with the task and packaged it"
    return f"prepared it and posted under the id of attempt {last['attempt']}"


def _run_for_a_moment(process: "subprocess.Popen[bytes]") -> None:
    process.send_signal(signal.SIGCONT)
    time.sleep(_MOMENT_SEC)
    _stop(process)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    """Stop every thread: a signal takes its time to reach them. One that has ended meanwhile is fine."""
    process.send_signal(signal.SIGSTOP)
    threads = Path(f"/proc/{process.pid}/task")
    while process.poll() is None and any(_state(thread) not in "TXZ" for thread in threads.iterdir()):
        time.sleep(0.0002)


def _state(thread: Path) -> str:
    try:
        return (thread / "stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return "X"
