"""What `programbench eval` was asked for."""

from dataclasses import dataclass, field
from pathlib import Path

from obo_bench.programbench.evaluation.evaluator_settings import INSTANCE_LIMIT_SEC
from obo_bench.programbench.selection import Selector


@dataclass(frozen=True)
class EvalOptions:
    """All that the command line says."""

    run_root: Path
    """The run, export or directory of submissions."""
    repo_dir: Path | None = None
    """The server's checkout, for the record and for confinement; None where none is known."""
    settings_path: Path | None = None
    """The server's settings file, for confinement."""
    selector: Selector = field(default_factory=Selector)
    """Ids, filter and slice, applied to what is in the run."""
    ids_file: Path | None = None
    """File with further ids, read after admission."""
    workers: int = 1
    """Instances at work at a time."""
    branch_workers: int = 1
    """Test branches of one instance at work at a time."""
    docker_cpus: int | None = None
    """Cores of a container; None leaves it to PROGRAMBENCH_DOCKER_CPUS or the default."""
    instance_limit_sec: float = INSTANCE_LIMIT_SEC
    """Wall-clock limit of one instance, in seconds."""
    force: bool = False
    """Evaluate again what has a proven result."""
    pin_digests: Path | None = None
    """File with the only images that may be used, read after admission."""
