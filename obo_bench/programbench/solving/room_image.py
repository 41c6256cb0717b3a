"""The image of an attempt: there, the one that is allowed, and without another copy of the reference in it."""

from obo_bench.core.run_changes import InstanceChange, Phase
from obo_bench.engine.cleanroom_spec import WORKSPACE, CleanroomSpec
from obo_bench.engine.image_audit import ImageAuditIncomplete, audit_image
from obo_bench.engine.images import ImageIdentity, ImageUnavailable, ensure_image
from obo_bench.engine.trouble import engine_errors
from obo_bench.programbench.context import RunContext
from obo_bench.programbench.image_pins import REFUSED_KEY
from obo_bench.programbench.solving.not_ready import NotReady, reason_of
from obo_bench.programbench.solving.workspace import PROVIDED

NOT_PINNED = "image_not_pinned"
AUDIT_FAILED = "image_audit_failed"
_ALLOW = "--allow-image-findings"


def usable_image(context: RunContext, instance_id: str, spec: CleanroomSpec) -> ImageIdentity:
    """Return the image that the attempt uses, with all that is known of it in `context.images`; raises NotReady."""
    try:
        image = _present(context, instance_id, spec)
        _hold_against_pins(context, instance_id, image)
        _audit(context, instance_id, spec, image)
        _hold_against_earlier(context, instance_id)
    except NotReady as refused:
        if instance_id in context.images:
            context.images[instance_id][REFUSED_KEY] = refused.reason
        raise
    return image


def _present(context: RunContext, instance_id: str, spec: CleanroomSpec) -> ImageIdentity:
    pins = context.pins
    if pins is not None and (missing := pins.missing(instance_id, spec.image)) is not None:
        raise NotReady(NOT_PINNED, missing, infrastructure=False)
    digests, by_tag = pins.pulled_by(instance_id, spec.image) if pins is not None else ((), True)
    try:
        image = ensure_image(
            context.engine,
            spec.image,
            context.options.pull,
            context.reporter,
            digests=digests,
            by_tag=by_tag,
            subject=instance_id,
            wait=context.closed.wait,
            abandoned=context.closed.is_set,
        )
    except ImageUnavailable as error:
        raise NotReady(error.reason, str(error), infrastructure=error.reason != "image_not_found") from error
    if image.pulled:
        # Now, so that a run that is killed later on still knows that the image may be removed again.
        context.pulled.note(spec.image, image.id)
    context.images[instance_id] = image.facts()
    return image


def _hold_against_pins(context: RunContext, instance_id: str, image: ImageIdentity) -> None:
    other = context.pins.trouble(instance_id, image) if context.pins is not None else None
    if other is not None:
        why = f"{other}: fetch the pinned one with --pull always, or correct the pins and add --retry {NOT_PINNED}"
        raise NotReady(NOT_PINNED, why, infrastructure=False)


def _audit(context: RunContext, instance_id: str, spec: CleanroomSpec, image: ImageIdentity) -> None:
    context.reporter.update(InstanceChange(instance_id, phase=Phase.AUDIT))
    try:
        audit = audit_image(
            context.engine,
            image.id,
            f"{WORKSPACE}/{PROVIDED}",
            spec.user,
            spec.labels,
            abandoned=context.closed.is_set,
        )
    except engine_errors(ImageAuditIncomplete, OSError) as error:
        raise NotReady(reason_of(context, error, AUDIT_FAILED), f"image {spec.image!r}: {error}") from error
    if audit is None:
        # The workspace cannot be made from it, either, and that says it better.
        return
    waived = audit.objection is not None and context.options.allow_image_findings
    context.images[instance_id]["audit"] = audit.facts() | {"waived": waived}
    if audit.objection is None:
        return
    if not waived:
        why = f"in image {spec.image!r} {audit.objection}: use an image without, or --retry {AUDIT_FAILED} {_ALLOW}"
        raise NotReady(AUDIT_FAILED, why, infrastructure=False)
    context.reporter.event(f"{audit.objection} (allowed by {_ALLOW})", instance_id)


def _hold_against_earlier(context: RunContext, instance_id: str) -> None:
    """Last, because it makes the image the run's own."""
    changed = None
    if context.configuration is not None:
        changed = context.configuration.image_trouble(instance_id, context.images[instance_id])
    if changed is not None:
        raise NotReady("image_changed", changed)
