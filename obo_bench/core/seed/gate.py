"""The clean-seed gate: the checkout must be exactly the commit that the run will name."""

import shlex
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.admission import SeedDemands
from obo_bench.core.git import TIMEOUT_SEC
from obo_bench.core.manifest import Lineage, SeedGate, Source
from obo_bench.core.refusal_reasons import REASONS
from obo_bench.core.refusals import Objection
from obo_bench.core.seed.lineage_gate import decide_lineage
from obo_bench.core.seed.provenance import Provenance, at_top, collect_provenance
from obo_bench.core.seed.repository import ForeignOwner

_SHORTEST_PREFIX = 7
"""A shorter commit prefix could name several commits."""
_TOLD = 10
"""Paths in a message; the evidence holds more."""
_EVIDENCE = 200


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


def examine_seed(repo_dir: Path | None, demands: SeedDemands, *, timeout: float = TIMEOUT_SEC) -> SeedReport:
    """Collect the provenance of a checkout and judge it; never raises, every doubt is an objection.

    `timeout` bounds each group of questions to git, in seconds. Without a checkout, or with one that is not gated,
    there is no objection.
    """
    if repo_dir is None:
        return SeedReport(Source(), SeedGate(require_clean=False, ok=True), None, None, [])
    found = collect_provenance(repo_dir, timeout)
    gate, objection = _decide(repo_dir, found, demands)
    lineage, broken = decide_lineage(found, demands)
    if not demands.gated:
        recorded = gate.model_copy(update={"require_clean": False, "ok": True})
        return SeedReport(found.source, recorded, lineage, None, found.secrets)
    return SeedReport(found.source, gate, lineage, objection or broken, found.secrets)


def _decide(repo_dir: Path, found: Provenance, demands: SeedDemands) -> tuple[SeedGate, Objection | None]:
    """Return the verdict to record, and the objection that nothing waives."""
    gates = (
        _identity(repo_dir, found),
        _shape(repo_dir, found),
        _git_directory(repo_dir, found, demands),
        _expected(found.source, demands.expect),
        _clean(repo_dir, found),
    )
    objections = [objection for objection in gates if objection is not None]
    # What cannot be waived must not hide behind what was.
    left = [each for each in objections if not (demands.allow_dirty and REASONS[each.reason].waiver)]
    named = next(iter(left or objections), None)
    source = found.source
    gate = SeedGate(
        require_clean=not demands.allow_dirty,
        allow_dirty_seed=demands.allow_dirty,
        expect=demands.expect,
        git_available=source.git_available,
        status_available=source.status_available,
        dirty=source.dirty,
        describe=source.describe,
        reason=named.reason if named else None,
        ok=not left,
    )
    return gate, left[0] if left else None


def _identity(repo_dir: Path, found: Provenance) -> Objection | None:
    if found.source.git_available:
        return None
    said = found.repository.complaint if found.repository else str(found.trouble)
    remedy = None
    if isinstance(found.trouble, ForeignOwner):
        declare = shlex.join(["git", "config", "--global", "--add", "safe.directory", found.trouble.directory])
        remedy = f"run as the owner of the checkout, or trust it with `{declare}`"
    return Objection(
        "seed_identity_unavailable",
        f"no commit can be read from {str(repo_dir)!r}: {said}",
        evidence={"repo_dir": found.source.repo_dir, "git": said},
        remedy=remedy,
    )


def _shape(repo_dir: Path, found: Provenance) -> Objection | None:
    repository = found.repository
    if repository is None or repository.bare or at_top(repository):
        return None
    top = str(repository.toplevel) if repository.toplevel else None
    return Objection(
        "seed_not_toplevel",
        f"{str(repo_dir)!r} is not the top directory of its checkout (that is {top!r})",
        evidence={"repo_dir": found.source.repo_dir, "toplevel": top},
    )


def _git_directory(repo_dir: Path, found: Provenance, demands: SeedDemands) -> Objection | None:
    kind = found.source.git_dir_kind
    if not demands.require_git_directory or kind == "directory":
        return None
    return Objection(
        "seed_is_not_a_git_directory",
        f"{str(repo_dir / '.git')!r} is no directory that holds the repository ({kind or 'there is none'})",
        evidence={"git_dir_kind": kind, "git_dir": str(found.repository.git_dir) if found.repository else None},
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


def _clean(repo_dir: Path, found: Provenance) -> Objection | None:
    source = found.source
    if not source.status_available:
        said = str(found.trouble or "it has no work tree")
        return Objection(
            "seed_status_unavailable",
            f"the state of {str(repo_dir)!r} cannot be known: {said}",
            evidence={"git": said},
        )
    if source.dirty:
        return Objection(
            "seed_dirty",
            f"the checkout {str(repo_dir)!r} differs from its commit {source.describe}:{_list(source.status_entries)}",
            evidence={"status_entries": source.status_entries, "status_sha256": source.status_sha256},
        )
    return _nothing_hidden(repo_dir, found)


def _nothing_hidden(repo_dir: Path, found: Provenance) -> Objection | None:
    if not found.hidden:
        return None
    told = [f"{each.path}: {each.why}" for each in found.hidden]
    return Objection(
        "seed_hidden_changes",
        f"git does not show {len(told)} difference(s) of {str(repo_dir)!r} from its commit:{_list(told)}",
        evidence={"hidden": told[:_EVIDENCE], "count": len(told)},
        remedy="\n    ".join(dict.fromkeys(each.remedy for each in found.hidden[:_TOLD])),
    )


def _list(lines: list[str]) -> str:
    more = [f"... and {len(lines) - _TOLD} more"] if len(lines) > _TOLD else []
    return "".join(f"\n    {line}" for line in [*lines[:_TOLD], *more])
