"""How long a run may still take, and what a line says of how it stands."""

from statistics import fmean

from obo_bench.core.run_state import Snapshot

ENOUGH = 2
"""So many instances must have ended before their durations say anything about the others."""


def remaining_sec(snapshot: Snapshot) -> float | None:
    """Return how many seconds the stage may still take; None as long as nothing tells.

    Every instance counts as long as the mean of those that have ended, shared out among the workers; one that is at
    work longer than that may end at any moment. So an early guess is a rough one.
    """
    waiting = snapshot.waiting
    if waiting is None or len(snapshot.worked_sec) < ENOUGH:
        return None
    mean = fmean(snapshot.worked_sec)
    rest = [max(mean - (snapshot.now - instance.begun), 0.0) for instance in snapshot.active]
    shared = (sum(rest) + mean * waiting) / max(snapshot.run.workers or 1, 1)
    return max(shared, max(rest, default=0.0))


def duration_text(seconds: float) -> str:
    """Return a duration as `12 s`, `3:05` or `1:02:03`."""
    whole = max(int(seconds), 0)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def spending_text(snapshot: Snapshot) -> str:
    """Return what is known of the run's cost; a cost that nobody knows is never shown as nothing."""
    spent, unknown, ceiling_usd = snapshot.spent_usd, snapshot.unknown_costs, snapshot.run.ceiling_usd
    bound = f" of {ceiling_usd:g}" if ceiling_usd is not None else ""
    if spent is None:
        return f"unknown{bound}"
    return f"{spent:.2f} USD{bound}{f' + {unknown} unknown' if unknown else ''}"


def progress_text(snapshot: Snapshot) -> str:
    """Return in one line how the run stands, for whoever sees no board."""
    total = "?" if snapshot.run.total is None else snapshot.run.total
    parts = [f"{snapshot.run.stage or 'starting'}: {snapshot.done} of {total} done"]
    if snapshot.active:
        phases = [instance.change.phase or "at work" for instance in snapshot.active]
        counts = ", ".join(f"{phases.count(phase)} {phase}" for phase in dict.fromkeys(phases))
        parts.append(f"{len(phases)} at work ({counts})")
    parts.append(f"spent {spending_text(snapshot)}")
    left = remaining_sec(snapshot)
    if left is not None:
        parts.append(f"about {duration_text(left)} left")
    return "; ".join(parts)
