"""Evaluates one instance with an official process of its own, from the archive to the settled case.

The official command line has no time limit, and cannot give up one instance of several: ending its process distrusts
all that it has at work, and killing one container makes it record a false failure. So each instance gets its own
`programbench eval`, with a filter for just its id: a limit, a kill or a crash concerns one instance, and what is
finished is proven at once and survives every later interrupt. That costs the start of the package per instance, about
0.6 s, where a real one takes minutes to hours (`benchmarks/evaluation.py` measures it).
"""

import re
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.reporter import Reporter
from obo_bench.core.run_changes import InstanceChange, Phase
from obo_bench.engine.cleanroom_spec import INSTANCE_LABEL
from obo_bench.engine.images import ImageIdentity
from obo_bench.programbench.evaluation.archive_check import archive_trouble
from obo_bench.programbench.evaluation.docker_wrapper import remove_labelled, write_wrapper
from obo_bench.programbench.evaluation.engine_witness import EngineWitness
from obo_bench.programbench.evaluation.evaluation_cases import (
    Bench,
    Case,
    archive_fault,
    begin,
    settle_distrusted,
    settle_fresh,
    tests_fault,
)
from obo_bench.programbench.evaluation.evaluation_images import image_of
from obo_bench.programbench.evaluation.evaluation_record import INSTANCE_PLACE, EvaluationRecord
from obo_bench.programbench.evaluation.evaluator_program import DOCKER_VARIABLE
from obo_bench.programbench.evaluation.grade_summary import EvaluationStatus
from obo_bench.programbench.evaluation.graded_image import CLEANROOM_TAG, ImageFinding, pin_trouble
from obo_bench.programbench.evaluation.grading import Grade, ungraded
from obo_bench.programbench.evaluation.official import ProcessEnd, run_official
from obo_bench.programbench.evaluation.official_output import NOT_A_TERMINAL, WIDE_TABLE, exceptions_told

DISTRUST: Mapping[EvaluationStatus, str] = {
    "evaluator_failed": "evaluator_failed",
    "timed_out": "evaluator_timed_out",
    "interrupted": "evaluator_interrupted",
}
"""Why what an evaluator wrote is not graded, by how it ended."""
_QUIET_AFTER_KILL_SEC = 3.0
_CANNOT_START = 127
_SIGINT_STATUS = 130


@dataclass(frozen=True)
class Desk:
    """What all instances of one evaluation share."""

    bench: Bench
    """Where they are and who evaluates them."""
    record: EvaluationRecord
    """Where the commands are recorded."""
    witness: EngineWitness
    """Who sees how containers end."""
    reporter: Reporter
    """Where progress goes."""
    stop: threading.Event
    """Set when the whole evaluation is to end."""

    def command(self, instance: str) -> list[str]:
        """Return the official command that evaluates the instances whose ids match `instance`."""
        request = self.bench.request
        options = {
            "--workers": 1,
            "--branch-workers": request.branch_workers,
            "--docker-cpus": request.docker_cpus,
            "--filter": f"^(?:{instance})$",
        }
        words = [str(word) for option in options.items() for word in option]
        return [*self.bench.evaluator.command, "eval", str(request.run_root), *words]

    def plan(self) -> None:
        """Record the command."""
        self.record.plan(self.command(INSTANCE_PLACE))


def evaluate_instance(desk: Desk, case: Case) -> EvaluationStatus:
    """Evaluate a pending case and settle it, unless the evaluation is to end: then it stays pending.

    Returns how its evaluator ended, `completed` where none was needed. Raises OSError when its files cannot be
    written.
    """
    bench, iid = desk.bench, case.instance_id
    if desk.stop.is_set():
        return "interrupted"
    begin(bench, case)
    image = bench.evaluator.image_name(iid, CLEANROOM_TAG)
    before = image_of(bench.evaluator.docker, bench.request.environ, image)
    case.grade = _unfit(bench, case, before)
    if case.grade is not None:
        return "completed"
    case.attempts += 1
    case.started_at_unix = time.time()
    seal = _seal(bench.archive(iid))
    desk.reporter.update(InstanceChange(iid, phase=Phase.EVALUATION))
    desk.reporter.event("official evaluation", iid)
    end = _run(desk, iid)
    status = _status_of(end)
    if status == "completed":
        _settle(desk, case, before, seal)
    elif not end.stopped:
        settle_distrusted(bench, case, DISTRUST[status], _how(desk, end))
    return status


def _unfit(bench: Bench, case: Case, before: ImageIdentity | None) -> Grade | None:
    """Return why the evaluator need not be asked, or must not; None when it is to be asked."""
    iid = case.instance_id
    # The queue may have been long.
    changed = archive_fault(bench, case)
    if changed is not None:
        return changed
    unreadable = archive_trouble(bench.archive(iid))
    if unreadable is not None:
        return ungraded("submission_corrupt", unreadable)
    image = bench.evaluator.image_name(iid, CLEANROOM_TAG)
    forbidden = pin_trouble(bench.request.pins, iid, image, before)
    return ungraded("image_not_pinned", forbidden) if forbidden is not None else None


def _run(desk: Desk, instance_id: str) -> ProcessEnd:
    """Run `programbench eval` on one instance; whatever way that ends, nothing of it is left on the engine."""
    request, docker = desk.bench.request, desk.bench.evaluator.docker
    labels = {**request.labels, INSTANCE_LABEL: instance_id}
    started, end = time.monotonic(), ProcessEnd(_CANNOT_START)
    with tempfile.TemporaryDirectory(prefix="obo-bench-") as directory:
        wrapper = Path(directory) / "docker"
        write_wrapper(wrapper, docker, labels)
        try:
            end = run_official(
                desk.command(re.escape(instance_id)),
                _child_environ(desk, wrapper),
                desk.record.logs(instance_id),
                request.timeout_sec,
                desk.stop,
            )
        except OSError as error:
            desk.reporter.event(f"the official evaluator cannot be started: {error}", instance_id)
        finally:
            if end.returncode:
                for problem in remove_labelled(docker, request.environ, labels, _QUIET_AFTER_KILL_SEC):
                    desk.reporter.event(f"removing the evaluator's containers and images: {problem}", instance_id)
            desk.record.note_instance(instance_id, end.returncode, time.monotonic() - started)
    return end


def _child_environ(desk: Desk, wrapper: Path) -> dict[str, str]:
    """Return the evaluator's environment: its client is our wrapper, and its temporary files lie beside that."""
    request = desk.bench.request
    kept = {name: value for name, value in request.environ.items() if name not in NOT_A_TERMINAL}
    ours = {
        DOCKER_VARIABLE: str(wrapper),
        "PROGRAMBENCH_DOCKER_CPUS": str(request.docker_cpus),
        "TMPDIR": str(wrapper.parent),
    }
    return {**kept, **WIDE_TABLE, **ours}


def _status_of(end: ProcessEnd) -> EvaluationStatus:
    if end.timed_out:
        return "timed_out"
    if end.stopped or end.returncode < 0 or end.returncode == _SIGINT_STATUS:
        return "interrupted"
    return "evaluator_failed" if end.returncode else "completed"


def _how(desk: Desk, end: ProcessEnd) -> str:
    limit = desk.bench.request.timeout_sec
    return f"it was ended after {limit:g} s" if end.timed_out else f"it ended with status {end.returncode}"


def _seal(archive: Path) -> tuple[int, ...]:
    """Return what tells a file that was replaced, or written to, from the same one; empty when it is gone."""
    try:
        found = archive.stat()
    except OSError:
        return ()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def _settle(desk: Desk, case: Case, before: ImageIdentity | None, seal: tuple[int, ...]) -> None:
    """Grade what a normally ended evaluator wrote, unless archive or image are not what they were."""
    bench, iid = desk.bench, case.instance_id
    image = bench.evaluator.image_name(iid, CLEANROOM_TAG)
    after = image_of(bench.evaluator.docker, bench.request.environ, image)
    case.image = bench.compare_image(case, after)
    changed = archive_fault(bench, case) or tests_fault(bench, case)
    forbidden = pin_trouble(bench.request.pins, iid, image, after)
    if changed is not None:
        settle_distrusted(bench, case, changed.reason, f"during its evaluation: {changed.detail}")
    elif _seal(bench.archive(iid)) != seal:
        settle_distrusted(bench, case, "submission_changed", "it was touched during its evaluation")
    elif forbidden is not None:
        settle_distrusted(bench, case, "image_not_pinned", forbidden)
    elif before is not None and (after is None or before.id != after.id):
        settle_distrusted(bench, case, "image_changed", f"it was {before.id}, after the evaluation {_shown(after)}")
    else:
        told = exceptions_told(*desk.record.logs(iid), [iid]).get(iid)
        settle_fresh(bench, case, told, after, container_lost=desk.witness.lost(iid))
        _tell_difference(desk, iid, case.image)


def _shown(image: ImageIdentity | None) -> str:
    return image.id if image else "gone"


def _tell_difference(desk: Desk, instance_id: str, finding: ImageFinding) -> None:
    if finding.graded.same is False:
        desk.reporter.event(f"WARNING: {finding.text}", instance_id)
