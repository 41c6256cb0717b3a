"""The submitted predictions: the denominator of the headline.

Two forms are taken, told apart by their first character: JSON lines `{instance_id, model_patch, prefix}` as launchers
write them, and the official evaluation's list of `{instance_id, patch, prefix}`.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.why import why
from obo_bench.launch.swe_bench_pro.records import Record, UnusableRecords, read_records

_PATCHES = ("model_patch", "patch")


@dataclass(frozen=True)
class Prediction:
    """What was submitted for one instance."""

    instance_id: str
    """The instance."""
    prefix: str | None
    """What the name of its official output begins with; None where the prediction does not say."""
    patch_sha256: str
    """SHA-256 of the patch's text."""
    blank: bool
    """Whether the patch is nothing but white space: such a prediction counts as none."""


@dataclass(frozen=True)
class Predictions:
    """The whole file."""

    sha256: str
    """SHA-256 of its bytes."""
    mtime_unix: float
    """When it was last written, in wall-clock seconds."""
    submitted: tuple[Prediction, ...]
    """Those with a patch, in the order of the file, one for each instance."""
    blank: tuple[str, ...]
    """Instances whose prediction has no patch."""
    repeated: int
    """Predictions that only repeat an earlier one, word for word."""


def read_predictions(path: Path) -> Predictions:
    """Return what was submitted; raises PreflightRefused `predictions_unreadable`.

    Two different predictions of one instance are refused: which of them counts is not for a grader to choose.
    """
    try:
        sha256, records = read_records(path)
        found, repeated = _distinct([_prediction(record) for record in records])
        mtime = path.stat().st_mtime
    except (UnusableRecords, OSError) as error:
        raise PreflightRefused(
            "predictions_unreadable",
            f"--predictions {str(path)!r}: {why(error)}",
            evidence={"predictions": str(path), "problem": why(error)},
        ) from error
    return Predictions(
        sha256=sha256,
        mtime_unix=mtime,
        submitted=tuple(each for each in found if not each.blank),
        blank=tuple(each.instance_id for each in found if each.blank),
        repeated=repeated,
    )


def _distinct(predictions: list[Prediction]) -> tuple[list[Prediction], int]:
    found: dict[str, Prediction] = {}
    for each in predictions:
        if found.setdefault(each.instance_id, each) != each:
            raise UnusableRecords(
                f"there are two different predictions of {each.instance_id!a}: keep the one that counts"
            )
    if not found:
        raise UnusableRecords("there is no prediction in it")
    return list(found.values()), len(predictions) - len(found)


def _prediction(record: Record) -> Prediction:
    patch, prefix = _patch(record), record.fields.get("prefix")
    if prefix is not None and not isinstance(prefix, str):
        raise UnusableRecords(f"{record.place}: prefix is not a text")
    digest = hashlib.sha256(patch.encode("utf-8", "surrogatepass")).hexdigest()
    return Prediction(record.instance_id(), prefix, digest, blank=not patch.strip())


def _patch(record: Record) -> str:
    patches = [record.fields[name] for name in _PATCHES if name in record.fields]
    if not patches:
        raise UnusableRecords(f"{record.place} has neither model_patch nor patch")
    if patches[0] != patches[-1]:
        raise UnusableRecords(f"{record.place}: model_patch and patch differ")
    patch = patches[0] if patches[0] is not None else ""
    if not isinstance(patch, str):
        raise UnusableRecords(f"{record.place}: the patch is not a text")
    return patch
