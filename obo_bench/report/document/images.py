"""The images of a run: by what they are identified, and what the audit held against them."""

from collections.abc import Mapping

from obo_bench.report.document.parts import Finding
from obo_bench.report.document.record import RunRecord, mapping, text_of


def image_facts(record: RunRecord, instance_id: str) -> Mapping[str, object]:
    """Return what is recorded of the image of an instance; empty when nothing is."""
    manifest = record.manifest
    known = mapping(mapping(manifest.harness.get("images")).get(instance_id)) if manifest else {}
    rows = record.rows.get(instance_id, ())
    carried = (mapping(row.details.get("image")) for row in reversed(rows))
    return known or next((facts for facts in carried if facts), {})


def image_name(facts: Mapping[str, object]) -> str:
    """Return name and identity of an image for people; empty when nothing is known."""
    digests = facts.get("digests")
    digest = text_of(digests[0]) if isinstance(digests, list) and digests else ""
    return " · ".join(part for part in (text_of(facts.get("name")), digest or text_of(facts.get("id"))) if part)


def images_finding(record: RunRecord) -> Finding:
    """Return what the record says of all images."""
    known = [facts for iid in record.instance_ids if (facts := image_facts(record, iid))]
    objected = [facts for facts in known if mapping(facts.get("audit")).get("findings")]
    told = (
        f"{len(known)} of {len(record.instance_ids)} on record, {sum(bool(f.get('digests')) for f in known)} by digest"
    )
    if not known:
        return Finding(name="Images", verdict="unknown", words="No image is on record.")
    if objected:
        waived = image_waivers(record)
        then = "--allow-image-findings overruled it" if waived else "nothing was solved in them"
        words = f"The audit objected to {len(objected)} image(s); {then}."
        return Finding(name="Images", verdict="waived" if waived else "failed", words=words, evidence=told)
    if any(not facts.get("id") and not facts.get("digests") for facts in known):
        return Finding(name="Images", verdict="limited", words="Some images are known by name only.", evidence=told)
    return Finding(name="Images", verdict="ok", words="Every image on record is identified.", evidence=told)


def image_waivers(record: RunRecord) -> bool:
    """Say whether an objection of the image audit was overruled."""
    return any(mapping(mapping(image_facts(record, iid)).get("audit")).get("waived") for iid in record.instance_ids)
