"""Many practice instances that share one image: the image of one of them under many names."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from obo_bench.core.reporter import SilentReporter
from obo_bench.practice.images import ensure_images, image_reference
from obo_bench.practice.tasks import PRACTICE_TASKS, PracticeTask

_FIRST_NUMBER = 2_000_000


def docker(*arguments: str) -> str:
    """Run the docker command and return what it says."""
    done = subprocess.run(["docker", *arguments], capture_output=True, check=True, text=True, timeout=300)
    return done.stdout.strip()


@contextmanager
def light_instances(count: int, series: int = 0) -> Iterator[tuple[PracticeTask, ...]]:
    """Give `count` instances; `series` keeps apart the names of two users of one engine. The names go away again."""
    model = PRACTICE_TASKS[0]
    ensure_images([model], SilentReporter())
    first = _FIRST_NUMBER + 1000 * series
    made = tuple(replace(model, instance_id=f"practice__{model.name}.{first + i:07d}") for i in range(count))
    names = [image_reference(task.instance_id) for task in made]
    for name in names:
        docker("tag", image_reference(model.instance_id), name)
    try:
        yield made
    finally:
        docker("rmi", *names)
