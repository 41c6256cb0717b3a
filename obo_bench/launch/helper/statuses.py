"""How the runs of this process ended, for the launcher's main: the process must end with the status on record."""

_ended: list[int] = []


def note(status: int) -> None:
    """Remember the status with which a run was recorded."""
    _ended.append(status)


def recorded() -> int | None:
    """Return the status on record, of several the first that is not 0; None where no run has ended."""
    return next((status for status in _ended if status), 0) if _ended else None


def reset() -> None:
    """Forget earlier runs of the process."""
    _ended.clear()
