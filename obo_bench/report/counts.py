"""Instances by what became of them, as people read it."""

from collections.abc import Mapping

_DONE = ("completed", "skipped")


def counted(counts: Mapping[str, int]) -> str:
    """Return counts by status as words, empty for none; what was done before and is skipped now is done."""
    done, earlier = sum(counts.get(status, 0) for status in _DONE), counts.get("skipped", 0)
    by_earlier = "all" if earlier == done else earlier
    parts = [f"{count} {status.replace('_', ' ')}" for status, count in counts.items() if status not in _DONE]
    if earlier:
        return ", ".join([f"{done} done ({by_earlier} by earlier invocations)", *parts])
    return ", ".join([*([f"{done} completed"] if done else []), *parts])
