"""The lineage gate: the checkout must descend from the commit, and carry the stamp, that the operator named."""

import os

from obo_bench.core.admission import SeedDemands
from obo_bench.core.manifest import Lineage
from obo_bench.core.refusals import Objection
from obo_bench.core.seed.lineage import STAMP_NAME, descent, read_stamp
from obo_bench.core.seed.provenance import Provenance
from obo_bench.core.seed.repository import Repository


def decide_lineage(found: Provenance, demands: SeedDemands) -> tuple[Lineage | None, Objection | None]:
    """Return the verdict to record (None when nobody asked and there is no stamp), and the objection; never raises."""
    stamp = read_stamp(found.repository) if found.repository else None
    if not demands.asks_lineage and stamp is None:
        return None, None
    objection = _decide(found, demands, stamp) if demands.asks_lineage else None
    verdict = Lineage(
        seed_commit=demands.seed_commit,
        require_stamp=demands.require_stamp,
        stamp=stamp,
        head=found.source.head,
        reason=objection.reason if objection else None,
        ok=objection is None if demands.asks_lineage else None,
    )
    return verdict, objection


def _stamp_absent(repository: Repository | None) -> Objection:
    where = str(repository.git_dir / STAMP_NAME) if repository else STAMP_NAME
    there = repository is not None and os.path.lexists(where)
    message = f"{where!r} does not hold the whole name of a commit" if there else f"there is no {where!r}"
    return Objection("stamp_absent", message, evidence={"stamp": where})


def _decide(found: Provenance, demands: SeedDemands, stamp: str | None) -> Objection | None:
    repository, seed = found.repository, demands.seed_commit
    if demands.require_stamp and stamp is None:
        return _stamp_absent(repository)
    if repository is None or repository.head is None:
        return Objection(
            "seed_head_unreadable",
            f"the line of descent of {found.source.repo_dir!r} cannot be followed: its commit cannot be read",
            evidence={
                "repo_dir": found.source.repo_dir,
                "git": repository.complaint if repository else str(found.trouble),
            },
        )
    if seed and stamp and not stamp.startswith(seed):
        return Objection(
            "seed_mismatch",
            f"the checkout was seeded from {stamp}, not from --seed-commit {seed}",
            evidence={"stamp": stamp, "seed_commit": seed},
            remedy="name the commit that the volume was seeded from, or seed it again",
        )
    # Here a stamp that counts and a commit that was named are the same.
    named = stamp if stamp and demands.require_stamp else seed
    verdict = descent(repository, named or "")
    if verdict.reason is None:
        return None
    return Objection(
        verdict.reason,
        verdict.detail,
        evidence={"head": repository.head, "seed_commit": named, "shallow": repository.shallow},
    )
