"""Whether the run that `exec` admitted is the one that the launcher means: what was never checked is never claimed."""

from collections.abc import Iterator
from pathlib import Path

from obo_bench.core.manifest import Lineage, RunManifest
from obo_bench.core.refusals import PreflightRefused
from obo_bench.launch.helper.asked import Asked


def require_same(asked: Asked, admitted: RunManifest) -> None:
    """Raise PreflightRefused `launcher_contradicts_run` where the launcher asks for something else, or for more."""
    found = [*_another(asked, admitted), *_unchecked(asked, admitted)]
    if found:
        raise PreflightRefused(
            "launcher_contradicts_run",
            f"the run {admitted.run_root!r} was admitted with something else than the launcher asks for: "
            + "; ".join(found),
            evidence={"run_root": admitted.run_root, "contradictions": found},
        )


def _another(asked: Asked, admitted: RunManifest) -> Iterator[str]:
    if asked.benchmark != admitted.benchmark:
        yield f"the benchmark {asked.benchmark!r}, not {admitted.benchmark!r}"
    checkout = admitted.source.repo_dir
    if asked.repo_dir is not None and (not checkout or asked.repo_dir.resolve() != Path(checkout).resolve()):
        yield f"the checkout {str(asked.repo_dir)!r}, not {checkout or None!r}"
    attested = admitted.extra.runtime_attestation or {}
    url = attested.get("base_url")
    if asked.ouroboros_url is not None and asked.ouroboros_url.rstrip("/") != url:
        yield f"the server {asked.ouroboros_url!r}, attested was {url!r}"
    expected = attested.get("expected_version")
    if asked.expected_version not in (None, expected):
        yield f"a server of version {asked.expected_version!r}, attested was {expected!r}"
    model = admitted.harness.get("solve_model")
    if asked.solve_model not in (None, model):
        yield f"the model {asked.solve_model!r}, not {model!r}"


def _unchecked(asked: Asked, admitted: RunManifest) -> Iterator[str]:
    seed, lineage = asked.seed, admitted.extra.lineage or Lineage()
    if seed.expect not in (None, admitted.seed_gate.expect):
        yield f"a checkout that is {seed.expect!r}: --expect was {admitted.seed_gate.expect!r}"
    if seed.seed_commit not in (None, lineage.seed_commit):
        yield f"a descendant of {seed.seed_commit}: --seed-commit was {lineage.seed_commit}"
    if seed.require_stamp and not lineage.require_stamp:
        yield "a checkout with a seed stamp: --require-stamp was not given"
    if seed.require_git_directory and admitted.source.git_dir_kind != "directory":
        yield f"a checkout whose .git is a directory, it is: {admitted.source.git_dir_kind}"
