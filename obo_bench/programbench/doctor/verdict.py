"""What a check says, and how it says that it could not look."""

from dataclasses import dataclass

from obo_bench.programbench.doctor.report import Status


@dataclass(frozen=True)
class Verdict:
    """The outcome of one check."""

    status: Status
    """How it stands."""
    finding: str
    """What was found."""
    remedy: str = ""
    """What to do about it."""


class CannotLook(Exception):
    """What a check needs is not there; another check tells about that."""


def ok(finding: str) -> Verdict:
    """Return that nothing needs doing."""
    return Verdict("ok", finding)


def warn(finding: str, remedy: str) -> Verdict:
    """Return that a run would start, but probably not as the operator means it."""
    return Verdict("warn", finding, remedy)


def fail(finding: str, remedy: str) -> Verdict:
    """Return that a run would be refused or could not work."""
    return Verdict("fail", finding, remedy)
