"""`programbench gc`: what runs have left on the engine, what of it is orphaned, and its removal.

Nothing that it removes changes how an instance stands (a task that is over stays over, one that the server forgot is
posted again by a resume, which builds a cleanroom of its own), so it writes to no ledger.
"""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.core.lock import living_owner
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import Reporter
from obo_bench.engine.daemon import Engine
from obo_bench.engine.leftovers import Leftover, find_leftovers, remove_leftover
from obo_bench.programbench.leftovers.orphans import Judge, Verdict
from obo_bench.programbench.leftovers.run_index import RunIndex
from obo_bench.programbench.leftovers.run_lookup import RecordedRun, hold_run, owner_text


@dataclass(frozen=True)
class Finding:
    """One object, and what is known of it."""

    item: Leftover
    """The object."""
    run: RecordedRun | None
    """The run that it belongs to, where that was found."""
    verdict: Verdict
    """Whether it may go."""
    removed: bool = False
    """Whether it is gone."""
    error: str = ""
    """Why the engine did not remove it."""

    @property
    def action(self) -> str:
        """`removed`, `failed`, `orphan` (nothing was done yet) or `kept`."""
        if self.removed:
            return "removed"
        if self.error:
            return "failed"
        return "orphan" if self.verdict.orphan else "kept"

    def text(self) -> str:
        """Return the finding as one line for people."""
        return f"{self.action}: {self.item.kind} {self.item.name} ({self.error or self.verdict.why})"

    def document(self) -> dict[str, Any]:
        """Return the finding for the answer of `--json`."""
        return {
            "action": self.action,
            "kind": self.item.kind,
            "name": self.item.name,
            "running": self.item.running,
            "run_id": self.item.run_id,
            "run_root": str(self.run.root) if self.run else None,
            "instance_id": self.item.instance_id or None,
            "task_id": self.verdict.task_id or None,
            "reason": self.error or self.verdict.why,
        }


def find_garbage(
    engine: Engine, *, run: RecordedRun | None, runs_root: Path | None, url: str | None = None
) -> list[Finding]:
    """Return what carries our labels, of one run or of all, each with its verdict; changes nothing.

    Raises PreflightRefused `engine_unreachable` when the engine stops to answer.
    """
    if run is not None and not run.nonce:
        return []
    index = RunIndex(runs_root, run)
    findings = []
    for group in _by_nonce(_leftovers(engine, run.nonce if run else None)):
        owner = index.run_of(group)
        if isinstance(owner, str):
            findings += [Finding(item, None, Verdict(False, owner)) for item in group]
        else:
            findings += _judge(owner, group, url, _living(owner))
    return findings


def remove_garbage(
    engine: Engine, findings: Sequence[Finding], *, url: str | None, reporter: Reporter
) -> list[Finding]:
    """Remove the orphans, each run under its lock and judged again, because time has passed since they were shown."""
    done = [finding for finding in findings if not finding.verdict.orphan]
    groups: dict[Path, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.verdict.orphan and finding.run is not None:
            groups[finding.run.root].append(finding)
    for group in groups.values():
        for finding in _remove_of_run(engine, group, url):
            reporter.event(finding.text(), finding.item.instance_id)
            done.append(finding)
    return done


def _remove_of_run(engine: Engine, group: Sequence[Finding], url: str | None) -> list[Finding]:
    run, items = group[0].run, [finding.item for finding in group]
    if run is None:
        return list(group)
    try:
        with hold_run(run, "gc"):
            return [_remove(engine, finding) for finding in _judge(run, items, url, "")]
    except PreflightRefused as refusal:
        refusal.settle()
        return [Finding(item, run, Verdict(False, refusal.message)) for item in items]


def _remove(engine: Engine, finding: Finding) -> Finding:
    from docker.errors import DockerException

    if not finding.verdict.orphan:
        return finding
    try:
        remove_leftover(engine, finding.item)
    except (DockerException, OSError) as error:
        return Finding(finding.item, finding.run, finding.verdict, error=str(error))
    return Finding(finding.item, finding.run, finding.verdict, removed=True)


def _judge(run: RecordedRun, items: Sequence[Leftover], url: str | None, living: str) -> list[Finding]:
    if living:
        return [Finding(item, run, Verdict(False, living)) for item in items]
    with closing(Judge(run, url)) as judge:
        return [Finding(item, run, judge.verdict(item)) for item in items]


def _leftovers(engine: Engine, nonce: str | None) -> list[Leftover]:
    from docker.errors import DockerException

    try:
        return find_leftovers(engine, nonce)
    except (DockerException, OSError) as error:
        raise PreflightRefused(
            "engine_unreachable",
            f"the engine at {engine.endpoint} does not list what it has: {error}",
            evidence={"endpoint": engine.endpoint, "why": str(error)},
        ) from error


def _living(run: RecordedRun) -> str:
    """Return why the run's process counts as alive, empty when it is dead."""
    try:
        owner = living_owner(run.root)
    except OSError as error:
        return f"whether the run's process lives is unknown: {error.strerror or error}"
    return f"the run is at work: {owner_text(owner)}" if owner is not None else ""


def _by_nonce(items: Sequence[Leftover]) -> list[list[Leftover]]:
    groups: dict[str, list[Leftover]] = defaultdict(list)
    for item in items:
        groups[item.nonce].append(item)
    return list(groups.values())
