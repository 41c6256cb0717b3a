"""Statements on the image that an instance was solved and graded in."""

from obo_bench.programbench.leaderboard.subject import LONGEST, Check, Subject

_CLEANROOM_TAG = "task_cleanroom_"
"""What the tags of the benchmark's images begin with that hold no build of the program."""
_NOT_RECORDED = "its image is not recorded"


def _cleanroom(subject: Subject) -> str:
    name = subject.image.name if subject.image is not None else str(subject.record.room.get("image", ""))
    if not name:
        return _NOT_RECORDED
    return "" if name.rpartition(":")[2].startswith(_CLEANROOM_TAG) else f"solved in {name[:LONGEST]}"


def _digest(subject: Subject) -> str:
    if subject.image is None or not subject.image.id:
        return _NOT_RECORDED
    return "" if subject.image.digests else f"{subject.image.id[:LONGEST]} has no digest of a registry: made locally"


def _audit(subject: Subject) -> str:
    found = subject.audit.get("findings_count")
    if not isinstance(found, int):
        return "no audit of its image is recorded"
    waived = ", let pass by --allow-image-findings" if subject.audit.get("waived") else ""
    return f"{found} finding(s){waived}" if found else ""


def _same(subject: Subject) -> str:
    image = subject.graded.grade.image
    if image is None or image.same is None:
        return "whether it was graded in the image that it was solved in is not known"
    return "" if image.same else f"solved in {str(image.solved)[:LONGEST]}, graded in {str(image.evaluated)[:LONGEST]}"


IMAGE_CHECKS = (
    Check(
        "no_tests_visible",
        "No unit tests for the agent: it worked in the benchmark's cleanroom image, into which the harness put nothing "
        "but the image's own workspace; the tests were given to the official evaluator only, in containers of its own.",
        _cleanroom,
        ("_record/run/instance_order.json (images)", "_record/run/<instance>/instruction.txt"),
    ),
    Check(
        "image_audited",
        "The image was searched before the solve: no other copy of the reference that the agent could read, and no "
        "program left behind.",
        _audit,
        ("_record/run/run_manifest.json (harness.images)", "_record/run/manifests/*.json"),
    ),
    Check(
        "image_digest",
        "The image is known by a digest of its registry.",
        _digest,
        ("_record/run/instance_order.json (images)",),
    ),
    Check(
        "same_image",
        "The evaluator built and tested the archive in the image that it was solved in.",
        _same,
        ("_record/run/grade_summary.json (image)",),
    ),
)
