"""What goes into an official evaluation and what comes out of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.programbench.evaluation.grade_summary import EvaluationStatus, GradeSummary
from obo_bench.programbench.evaluation.instance_account import InstanceAccount
from obo_bench.programbench.image_pins import ImagePins


@dataclass(frozen=True)
class EvaluationRequest:
    """What is to be evaluated, and how."""

    run_root: Path
    """Holds `<iid>/submission.tar.gz`."""
    requested_ids: tuple[str, ...]
    """The denominator; each gets a verdict. Submissions of other instances are left alone."""
    submissions: Mapping[str, str]
    """Instance id to the recorded SHA-256 of its archive."""
    docker_cpus: int
    """CPUs per container; at most what the engine has."""
    timeout_sec: float
    """Wall-clock limit of one instance's evaluator process, in seconds."""
    environ: Mapping[str, str]
    """The complete environment of the evaluator, with the DOCKER_HOST of the daemon to use."""
    labels: Mapping[str, str]
    """Put on every container and image of the evaluation; what carries all of them is removed after it."""
    invocation: str
    """Id of this invocation: names the log directory."""
    workers: int = 1
    """Instances evaluated at the same time."""
    accounts: Mapping[str, InstanceAccount] | None = None
    """What each instance took to solve, by id; None where no ledger tells it."""
    branch_workers: int = 1
    """Test branches of one instance evaluated at the same time."""
    selected_ids: frozenset[str] | None = None
    """Only these are evaluated, the others keep the grades that are proven; None stands for all."""
    force: bool = False
    """Whether what is selected is evaluated again although a proven result exists; that one is set aside."""
    pins: ImagePins | None = None
    """The only images that may be graded in; None where any will do."""


@dataclass(frozen=True)
class EvaluationOutcome:
    """How the evaluation ended."""

    status: EvaluationStatus
    """The worst ending of its evaluator processes; `completed` still allows ungraded instances."""
    summary: GradeSummary
    """What was written to `grade_summary.json`; per instance in `summary.instances`."""
    ungraded_submissions: tuple[str, ...]
    """Selected instances with a submission but without a verdict."""
    command: tuple[str, ...]
    """The official command, run once for each instance in the place of `{instance}`; empty when none was needed."""
    evaluated: tuple[str, ...]
    """Instances that an evaluator process was started for."""
    evaluator: Mapping[str, Any]
    """Which evaluator ran, for the manifest; empty when none can."""
    images: Mapping[str, Mapping[str, Any]]
    """The images that the selected instances were graded in, by id, for the manifest."""
