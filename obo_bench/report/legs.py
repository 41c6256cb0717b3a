"""How long a run was at work: it goes on in several invocations, each of which leaves a manifest with its own times.

What an invocation took is from its admission to its recorded ending. Of one that was killed the last line of its log is
the last sign, so that it took at least so long.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.core.files import read_json_object
from obo_bench.report.status.events import last_sign_of
from obo_bench.report.status.record import mapping, number

_MOST = 50
"""Invocations that are looked at, the last ones."""


@dataclass(frozen=True)
class Legs:
    """The invocations on a run root, taken together."""

    count: int
    """How many there were."""
    killed: int
    """Those without a recorded ending that no process goes on with."""
    begun_at_unix: float | None
    """When the first one was admitted, in wall-clock seconds."""
    worked_sec: float | None
    """What all of them took, in seconds without the time between them; null where nothing tells."""

    def fields(self) -> dict[str, Any]:
        """Return them as the fields that the documents of a run share."""
        return {
            "begun_at_unix": self.begun_at_unix,
            "worked_sec": self.worked_sec,
            "worked_is_lower_bound": self.killed > 0,
        }


def legs_of(root: Path, own: Mapping[str, Any], living: str | None, now: float) -> Legs:
    """Return what the invocations of a run took, `own` being its manifest and `living` the invocation at work, if any.

    `now` is the present time in wall-clock seconds. Never raises for what the manifests hold.
    """
    legs = [leg for manifest in _manifests(root, own) if (leg := _leg(root, manifest, living, now)) is not None]
    lasted = [end - begin for begin, end, _ in legs if end is not None]
    return Legs(
        count=len(legs),
        killed=sum(killed for _, _, killed in legs),
        begun_at_unix=min((begin for begin, _, _ in legs), default=None),
        worked_sec=round(sum(max(seconds, 0.0) for seconds in lasted), 3) if lasted else None,
    )


def _manifests(root: Path, own: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the manifests of all invocations, each one once."""
    found = [manifest for path in sorted((root / "manifests").glob("*.json")) if (manifest := read_json_object(path))]
    yield from {str(manifest.get("invocation")): manifest for manifest in (*found[-_MOST:], own)}.values()


def _leg(
    root: Path, manifest: Mapping[str, Any], living: str | None, now: float
) -> tuple[float, float | None, bool] | None:
    """Return beginning, end and whether it was killed; None where the beginning is not known."""
    extra, begun = mapping(manifest.get("extra")), number(manifest.get("created_at_unix"))
    if begun is None:
        return None
    invocation, finished = str(manifest.get("invocation") or ""), number(extra.get("finished_at_unix"))
    if finished is not None or extra.get("outcome") != "started":
        return begun, finished, False
    if living is not None and invocation == living:
        return begun, now, False
    return begun, last_sign_of(root, invocation), True
