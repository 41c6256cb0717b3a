"""What a guard says: violations with their place, and how they are come to."""

from collections.abc import Iterable
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Frame:
    """A place in the source."""

    file: str
    """Relative to the directory that holds the package."""
    line: int
    """From 1."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Finding:
    """A violation, and how the walk came to it: the outermost call first, the violation itself last."""

    what: str
    """What must not be there."""
    frames: tuple[Frame, ...]
    """The shortest way; never empty."""
    via: frozenset[Frame] = frozenset()
    """All places on all ways to it."""

    def __str__(self) -> str:
        *callers, place = self.frames
        return f"{place}: {self.what}" + (f" (reached through {' > '.join(map(str, callers))})" if callers else "")


def reached_from(frame: Frame, finding: Finding) -> Finding:
    """Return a violation as its caller sees it."""
    return Finding(finding.what, (frame, *finding.frames), finding.via | {frame})


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Return each violation once, by the shortest way, with all places that lead to it."""
    found: dict[tuple[str, Frame], Finding] = {}
    for finding in findings:
        key = (finding.what, finding.frames[-1])
        other = found.get(key, finding)
        shortest = min(other.frames, finding.frames, key=len)
        found[key] = Finding(finding.what, shortest, other.via | finding.via)
    return list(found.values())


@dataclass
class Summary:
    """What walking a function, class or module found."""

    findings: list[Finding] = field(default_factory=list)
    """Violations in it and in all that it calls."""
    reaches: bool = False
    """Whether some way through it comes to the manifest."""
    admits: bool = False
    """Whether the manifest exists whenever it returns."""
