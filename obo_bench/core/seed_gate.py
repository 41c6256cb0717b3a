"""The clean-seed gate: the checkout must be exactly the commit that the run will name."""

from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.admission import SeedDemands
from obo_bench.core.git import GitUnavailable
from obo_bench.core.manifest import Lineage, SeedGate, Source
from obo_bench.core.provenance import collect_source, hidden_changes, toplevel
from obo_bench.core.refusals import REASONS, Objection

_SHORTEST_PREFIX = 7
"""A shorter commit prefix could name several commits."""


@dataclass(frozen=True)
class SeedReport:
    """What the checkout is, and what the gates of admission say to it."""

    source: Source
    """Its identity and state."""
    seed_gate: SeedGate
    """Verdict of the clean-seed gate."""
    lineage: Lineage | None
    """Verdict on the line of descent."""
    objection: Objection | None
    """What must be refused; None when the run may go on."""
    secrets: list[str]
    """Secrets that were met on the way (passwords in remotes) and must never be written."""


def examine_seed(repo_dir: Path, demands: SeedDemands) -> SeedReport:
    """Collect the provenance of a checkout and judge it; never raises, every doubt is an objection."""
    source, git_said = collect_source(repo_dir)
    gate, objection = decide_seed(repo_dir, source, git_said, allow_dirty=demands.allow_dirty, expect=demands.expect)
    return SeedReport(source, gate, None, objection, [])


def decide_seed(
    repo_dir: Path, source: Source, git_said: str, *, allow_dirty: bool, expect: str | None
) -> tuple[SeedGate, Objection | None]:
    """Return the verdict to record, and the objection that nothing waives."""
    objection = (
        _identity(repo_dir, source, git_said)
        or _shape(repo_dir)
        or _expected(source, expect)
        or _clean(repo_dir, source, git_said)
    )
    left = objection
    if objection is not None and allow_dirty and REASONS[objection.reason].waiver:
        # What cannot be waived must not hide behind what was.
        left = _expected(source, expect)
    named = left or objection
    gate = SeedGate(
        require_clean=not allow_dirty,
        allow_dirty_seed=allow_dirty,
        expect=expect,
        git_available=source.git_available,
        status_available=source.status_available,
        dirty=source.dirty,
        describe=source.describe,
        reason=named.reason if named else None,
        ok=left is None,
    )
    return gate, left


def _identity(repo_dir: Path, source: Source, git_said: str) -> Objection | None:
    if source.git_available:
        return None
    return Objection(
        "seed_identity_unavailable",
        f"no commit can be read from {str(repo_dir)!r}: {git_said}",
        evidence={"repo_dir": str(repo_dir), "git": git_said},
    )


def _shape(repo_dir: Path) -> Objection | None:
    top = toplevel(repo_dir)
    if top is not None and top.resolve() == repo_dir.resolve():
        return None
    return Objection(
        "seed_not_toplevel",
        f"{str(repo_dir)!r} is not the top directory of its checkout (that is {str(top)!r})",
        evidence={"repo_dir": str(repo_dir), "toplevel": str(top)},
    )


def _expected(source: Source, expect: str | None) -> Objection | None:
    if expect is None or expect == source.version:
        return None
    if len(expect) >= _SHORTEST_PREFIX and (source.head or "").startswith(expect.lower()):
        return None
    return Objection(
        "seed_mismatch",
        f"--expect {expect!r} names neither the checkout's commit {source.head} nor its version {source.version}",
        evidence={"expect": expect, "head": source.head, "version": source.version},
    )


def _clean(repo_dir: Path, source: Source, git_said: str) -> Objection | None:
    if not source.status_available:
        return Objection(
            "seed_status_unavailable",
            f"the state of {str(repo_dir)!r} cannot be read: {git_said}",
            evidence={"git": git_said},
        )
    if source.dirty:
        listed = "".join(f"\n    {entry}" for entry in source.status_entries[:10])
        return Objection(
            "seed_dirty",
            f"the checkout {str(repo_dir)!r} differs from its commit {source.describe}:{listed}",
            evidence={"status_entries": source.status_entries, "status_sha256": source.status_sha256},
        )
    return _hidden(repo_dir)


def _hidden(repo_dir: Path) -> Objection | None:
    try:
        hidden = hidden_changes(repo_dir)
    except GitUnavailable as error:
        return Objection("seed_status_unavailable", f"git cannot list {str(repo_dir)!r}: {error}")
    if not hidden:
        return None
    return Objection(
        "seed_hidden_changes",
        f"git was told not to look at {len(hidden)} file(s) of {str(repo_dir)!r}, such as {hidden[0]!r}",
        evidence={"files": hidden[:200]},
    )
