"""Numbers of a report as people read them; what is not known is called unknown, never 0."""

import time

UNKNOWN = "unknown"


def percent(value: float | None) -> str:
    """Return a score from 0 to 1 as a percentage; one that is not quite 1 is never shown as 100."""
    if value is None:
        return "-"
    text = f"{value * 100:.1f}"
    return f"{'99.9' if text == '100.0' and value < 1 else text}%"


def score(value: float | None) -> str:
    """Return a score with three decimals; only 1 itself is shown as 1.000."""
    if value is None:
        return "-"
    text = f"{value:.3f}"
    return "0.999" if text == "1.000" and value < 1 else text


def difference(value: float | None) -> str:
    """Return a difference with its sign."""
    return "-" if value is None else f"{value:+.3f}" if value else "0.000"


def dollars(value: float | None) -> str:
    """Return an amount in USD; a small one is not rounded away."""
    if value is None:
        return UNKNOWN
    return f"${value:,.4f}" if 0 < value < 0.01 else f"${value:,.2f}"


def at_least(value: float | None, *, lower_bound: bool) -> str:
    """Return an amount in USD, with what makes it a lower bound."""
    return f"{'≥ ' if lower_bound and value is not None else ''}{dollars(value)}"


def total_dollars(known_usd: float, unknown_attempts: int, *, lower_bound: bool) -> str:
    """Return the sum of a run, with what makes it a lower bound."""
    if unknown_attempts and not known_usd:
        return UNKNOWN
    return at_least(known_usd, lower_bound=lower_bound or bool(unknown_attempts))


def seconds(value: float | None) -> str:
    """Return a duration in its two largest units."""
    if value is None:
        return UNKNOWN
    if value < 59.95:
        return f"{value:.1f} s"
    whole = round(value)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def moment(value: float | None) -> str:
    """Return a time of the wall clock in UTC."""
    if value is None:
        return UNKNOWN
    try:
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(value))
    except (OSError, OverflowError, ValueError):
        return UNKNOWN


def state(status: str) -> str:
    """Return the status of an instance as people write it; one that was skipped was done before."""
    return "done earlier" if status == "skipped" else spaced(status)


def spaced(word: str) -> str:
    """Return a word of a vocabulary as people write it."""
    return word.replace("_", " ")
