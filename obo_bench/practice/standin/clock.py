"""Moments as the server writes them."""

from datetime import UTC, datetime


def now_text() -> str:
    """Return the present moment as ISO-8601 with microseconds and offset."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def deadline_text(moment: datetime | None) -> str:
    """Return a deadline in the form of the record (`...Z`), empty without one."""
    return moment.isoformat(timespec="microseconds").replace("+00:00", "Z") if moment else ""
