"""The benchmark as the installed package knows it: which tasks there are, and which of their tests count."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.files import read_json_object
from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.evaluation.grading import ScoringPlan, scoring_plan
from obo_bench.programbench.instances import Instance, load_instances, programbench_version


@dataclass(frozen=True)
class OfficialTasks:
    """The installed package's tasks."""

    instances: Mapping[str, Instance]
    """By id, its own test instances among them."""
    version: str
    """Version of the package."""
    tasks_dir: Path
    """Its task directories."""

    def plan(self, instance_id: str) -> ScoringPlan:
        """Return which tests of a task count; raises PreflightRefused `dataset_unavailable`."""
        path = self.tasks_dir / instance_id / "tests.json"
        tests = read_json_object(path)
        if tests is None:
            raise PreflightRefused(
                "dataset_unavailable",
                f"{str(path)!r} is missing or no JSON object",
                evidence={"instance_id": instance_id},
            )
        return scoring_plan(tests)


def official_tasks() -> OfficialTasks:
    """Read the package; raises PreflightRefused `dataset_unavailable`."""
    instances = {instance.instance_id: instance for instance in load_instances()}
    from programbench.constants import TASKS_DIR

    return OfficialTasks(instances, programbench_version(), Path(TASKS_DIR))
