"""Whether the run that `exec` admitted is the one that the launcher means: what was never checked is never claimed."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from obo_bench.core.manifest import Lineage, RunManifest
from obo_bench.core.refusals import PreflightRefused
from obo_bench.launch.helper.asked import Asked

_SHOWN = 5
_SAME_TASKS = (
    "give `obo-bench exec` all tasks that the launcher asks for (--task-id, --ids-file), or the launcher fewer"
)


def require_same(asked: Asked, admitted: RunManifest) -> None:
    """Raise PreflightRefused `launcher_contradicts_run` where the launcher asks for something else, or for more."""
    pairs = [*_another(asked, admitted), *_unchecked(asked, admitted)]
    found = [f"the launcher asks for {theirs}, the run was admitted with {ours}" for theirs, ours in pairs]
    if found:
        raise PreflightRefused(
            "launcher_contradicts_run",
            f"the run {admitted.run_root!r} is another one than the launcher means: {'; '.join(found)}",
            evidence={"run_root": admitted.run_root, "contradictions": found},
        )
    require_admitted(asked.requested_task_ids or (), admitted)


def require_admitted(task_ids: Sequence[str], admitted: RunManifest) -> None:
    """Raise the same for tasks that the run was not admitted with; where it does not know its tasks, any may be."""
    if admitted.requested_task_ids is None:
        return
    known = frozenset(admitted.requested_task_ids)
    strange = [name for name in task_ids if name not in known]
    if strange:
        more = f" and {len(strange) - _SHOWN} more" if len(strange) > _SHOWN else ""
        raise PreflightRefused(
            "launcher_contradicts_run",
            f"the launcher asks for tasks that the run {admitted.run_root!r} was not admitted with: "
            f"{', '.join(repr(name[:200]) for name in strange[:_SHOWN])}{more}",
            evidence={"run_root": admitted.run_root, "not_admitted": strange[:100], "count": len(strange)},
            remedy=_SAME_TASKS,
        )


def _another(asked: Asked, admitted: RunManifest) -> Iterator[tuple[str, str]]:
    """Yield what the launcher asks for, and what the run has instead."""
    if asked.benchmark != admitted.benchmark:
        yield f"the benchmark {asked.benchmark!r}", _or_none(admitted.benchmark)
    checkout = admitted.source.repo_dir
    if asked.repo_dir is not None and (not checkout or asked.repo_dir.resolve() != Path(checkout).resolve()):
        yield f"the checkout {str(asked.repo_dir)!r}", _or_none(checkout)
    attested = admitted.extra.runtime_attestation or {}
    url = attested.get("base_url")
    if asked.ouroboros_url is not None and asked.ouroboros_url.rstrip("/") != url:
        yield f"the server {asked.ouroboros_url!r}", _or_none(url)
    expected = attested.get("expected_version")
    if asked.expected_version not in (None, expected):
        yield f"a server of version {asked.expected_version!r}", _or_none(expected)
    model = admitted.harness.get("solve_model")
    if asked.solve_model not in (None, model):
        yield f"the model {asked.solve_model!r}", _or_none(model)


def _unchecked(asked: Asked, admitted: RunManifest) -> Iterator[tuple[str, str]]:
    """Yield what the launcher demands of the checkout, and what the run demanded instead."""
    seed, lineage = asked.seed, admitted.extra.lineage or Lineage()
    if seed.expect not in (None, admitted.seed_gate.expect):
        yield f"a checkout that is {seed.expect!r}", f"--expect {_or_none(admitted.seed_gate.expect)}"
    if seed.seed_commit not in (None, lineage.seed_commit):
        yield f"a descendant of {seed.seed_commit!r}", f"--seed-commit {_or_none(lineage.seed_commit)}"
    if seed.require_stamp and not lineage.require_stamp:
        yield "a checkout with a seed stamp", "no --require-stamp"
    if seed.require_git_directory and admitted.source.git_dir_kind != "directory":
        yield "a checkout whose .git is a directory", f"one whose .git is: {admitted.source.git_dir_kind or 'unknown'}"


def _or_none(value: object) -> str:
    return repr(value) if value else "none"
