"""How long a run may still take, and what a line says of how it stands."""

from statistics import fmean

from obo_bench.core.run_state import InstanceState, Snapshot

ENOUGH = 2
"""So many instances must have ended before their durations say anything about the others."""


def remaining_sec(snapshot: Snapshot) -> float | None:
    """Return how many seconds the stage may still take; None as long as nothing tells.

    What is to begin counts as long as the mean of those that have ended, shared out among the workers. What runs counts
    from the moment in which a worker of the server had it, and may end at any moment once that was longer than the
    mean. So an early guess is a rough one.
    """
    waiting = snapshot.waiting
    if waiting is None or len(snapshot.worked_sec) < ENOUGH:
        return None
    whole, running = fmean(snapshot.worked_sec), fmean(snapshot.ran_sec or snapshot.worked_sec)
    rest = [_rest_sec(instance, snapshot.now, whole, running) for instance in snapshot.active]
    shared = (sum(rest) + whole * waiting) / max(snapshot.run.workers or 1, 1)
    return max(shared, max(rest, default=0.0))


def time_left_text(snapshot: Snapshot) -> str:
    """Return how long the stage may still take, in words; empty where nothing is left or nothing tells."""
    left = remaining_sec(snapshot)
    if left is None or not (snapshot.active or snapshot.waiting):
        return ""
    return f"about {duration_text(left)} left" if left > 0 else "longer than the average so far"


def _rest_sec(instance: InstanceState, now: float, whole: float, running: float) -> float:
    if instance.running_since is None:
        return max(whole - (now - instance.begun), running)
    return max(running - (now - instance.running_since), 0.0)


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
    parts.append(time_left_text(snapshot))
    return "; ".join(filter(None, parts))
