"""Which image an instance is graded in: allowed by the pins, the same before and after, the same as the solve's.

The evaluator names its image by a tag, which may mean another image than the one of the solve, or change meanwhile.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.core.files import read_json_object
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.engine.images import ImageIdentity
from obo_bench.programbench.admission.order import ORDER_NAME
from obo_bench.programbench.evaluation.evaluation_images import compare
from obo_bench.programbench.evaluation.grade_summary import GradedImage
from obo_bench.programbench.image_pins import ImagePins

CLEANROOM_TAG = "task_cleanroom_v6"
"""The tag that the evaluator uses by default."""


@dataclass(frozen=True)
class ImageFinding:
    """What is known of the image of one instance after its evaluation."""

    identity: ImageIdentity | None
    """The image; None when the engine does not tell."""
    graded: GradedImage
    """For the summary."""
    text: str
    """The comparison with the solve's image, for people."""

    def facts(self) -> dict[str, Any]:
        """Return what the manifest says of it, in the form of a run's `harness.images`."""
        known = self.identity.facts() if self.identity else {}
        return {**known, "solved": self.graded.solved, "same": self.graded.same}


def find_image(solved: Mapping[str, Any], evaluated: ImageIdentity | None) -> ImageFinding:
    """Compare the image of an evaluation with what the solve recorded (empty when nothing)."""
    comparison = compare(solved, evaluated)
    same = {"same": True, "different": False}.get(comparison.verdict)
    graded = GradedImage(
        evaluated=evaluated.id if evaluated else None, solved=str(solved.get("id") or "") or None, same=same
    )
    return ImageFinding(evaluated, graded, comparison.text)


def pin_trouble(pins: ImagePins | None, instance_id: str, image: str, found: ImageIdentity | None) -> str | None:
    """Return why --pin-digests forbids the image, None when it does not, or when the image is yet to be pulled."""
    if pins is None:
        return None
    return pins.trouble(instance_id, found) if found else pins.missing(instance_id, image)


def solved_images(run_root: Path) -> dict[str, Mapping[str, Any]]:
    """Return the images that the solves of a run have recorded, by instance id; empty where nothing is recorded."""
    harness = (read_json_object(run_root / MANIFEST_NAME) or {}).get("harness")
    used = harness.get("images") if isinstance(harness, dict) else None
    admitted = (read_json_object(run_root / ORDER_NAME) or {}).get("images")
    merged = {**(used if isinstance(used, dict) else {}), **(admitted if isinstance(admitted, dict) else {})}
    return {str(iid): facts for iid, facts in merged.items() if isinstance(facts, dict)}
