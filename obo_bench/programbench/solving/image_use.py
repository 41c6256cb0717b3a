"""`--rm-images`: an image goes when this run pulled it and needs it no more; what was there before stays."""

import threading
from collections import Counter
from collections.abc import Sequence

from obo_bench.core.ledger import Row
from obo_bench.engine.images import remove_image
from obo_bench.programbench.context import IMAGE_TAG, RunContext
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.solving.schedule import Solve


class ImageUse:
    """Knows which instances still need which image; safe to share between threads."""

    def __init__(self, context: RunContext, instances: Sequence[Instance]) -> None:
        self._context = context
        self._lock = threading.Lock()
        self._needed = Counter(_image(instance) for instance in instances)

    def releasing(self, solve: Solve) -> Solve:
        """Return `solve` that also lets an image go after its last instance.

        With an evaluation to come, which needs the images again, they stay until `remove_rest`.
        """

        def solve_and_release(context: RunContext, instance: Instance) -> Row:
            row = solve(context, instance)
            if context.options.rm_images and (context.options.dry_run or not context.options.evaluate):
                self._release(instance)
            return row

        return solve_and_release

    def remove_rest(self) -> None:
        """Remove every image that the run pulled and that nothing uses."""
        if self._context.options.rm_images:
            for name in self._context.pulled.ids:
                self._remove(name)

    def _release(self, instance: Instance) -> None:
        name, attempt = _image(instance), self._context.attempts.get(instance.instance_id)
        with self._lock:
            self._needed[name] -= 1
            unneeded = self._needed[name] == 0 and name in self._context.pulled.ids
        if unneeded and not (attempt is not None and attempt.task_may_live):
            self._remove(name)

    def _remove(self, name: str) -> None:
        result = remove_image(self._context.engine, name, self._context.pulled.ids[name])
        self._context.reporter.event(f"image {name}: {result}")
        for facts in self._context.images.values():
            if facts.get("name") == name:
                facts["removal"] = result


def _image(instance: Instance) -> str:
    return f"{instance.image_name}:{IMAGE_TAG}"
