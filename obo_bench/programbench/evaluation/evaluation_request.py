"""What goes into an official evaluation and what comes out of it."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from obo_bench.programbench.evaluation.grade_summary import EvaluationStatus, GradeSummary


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
    """Wall-clock limit of the whole evaluator process, in seconds."""
    environ: Mapping[str, str]
    """The complete environment of the evaluator, with the DOCKER_HOST of the daemon to use."""
    labels: Mapping[str, str]
    """Put on every container and image of the evaluation; what carries all of them is removed after it."""
    invocation: str
    """Id of this invocation: names the log directory."""
    workers: int = 1
    """Instances evaluated at the same time."""


@dataclass(frozen=True)
class EvaluationOutcome:
    """How the evaluation ended."""

    status: EvaluationStatus
    """Of the evaluation as a whole; `completed` still allows ungraded instances."""
    summary: GradeSummary
    """What was written to `grade_summary.json`; per instance in `summary.instances`."""
    ungraded_submissions: tuple[str, ...]
    """Instances with a submission but without a verdict."""
    command: tuple[str, ...]
    """The official command; empty when none was needed."""
