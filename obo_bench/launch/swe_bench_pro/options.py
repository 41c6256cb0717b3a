"""What the operator asked of the grader."""

from dataclasses import dataclass
from pathlib import Path

SUMMARY_NAME = "grade_summary.json"
"""Name of a summary, and where consumers look for it: in the directory of the official results."""


@dataclass(frozen=True)
class GradeInputs:
    """What a summary rests on; only read. All paths are absolute."""

    predictions: Path
    """The submitted predictions: JSON lines, or the official evaluation's patches.json."""
    output_dir: Path
    """The official evaluation's output directory, with `<instance_id>/<prefix>_output.json` in it."""
    raw_sample: Path
    """The benchmark's raw sample: which tests each instance must pass."""


@dataclass(frozen=True)
class GradeOptions:
    """One invocation of the grader."""

    inputs: GradeInputs
    """What is graded."""
    summary: Path
    """Where the summary is published."""
    run_root: Path
    """Where the record is kept."""
    repo_dir: Path | None = None
    """The checkout, where one is known; nothing may land in it."""
    settings_path: Path | None = None
    """The server's settings file; nothing may land beside it."""
