"""What was asked of a run: model, server, selection, limits, and the command line itself."""

import shlex
from collections.abc import Iterator

from obo_bench.core.manifest import RunManifest
from obo_bench.gateway.cost import usd
from obo_bench.programbench.leftovers.resuming import is_practice
from obo_bench.report.document import words
from obo_bench.report.document.ending import living_invocation
from obo_bench.report.document.parts import Fact, RunFacts
from obo_bench.report.document.record import RunRecord, mapping, text_of
from obo_bench.report.graded import GRADER, headline
from obo_bench.report.launched import EXEC, is_launched
from obo_bench.report.legs import legs_of
from obo_bench.report.row_grades import RowGrades

_SCRIPTED = "practice::"
"""How the models of a stand-in server begin."""


def run_facts(record: RunRecord, now: float) -> RunFacts:
    """Return which run this is; `now` is the present time in wall-clock seconds."""
    manifest, ids = record.manifest, record.instance_ids
    facts = RunFacts(run_id=record.root.name, run_root=str(record.root), requested_count=len(ids) or None)
    if manifest is None:
        return facts
    server = mapping(manifest.extra.runtime_attestation).get("runtime_version")
    return facts.model_copy(
        update={
            "benchmark": manifest.benchmark,
            "command": manifest.command,
            "invocation": manifest.invocation,
            "model": _model(manifest),
            "server_version": text_of(server),
            "practice": _practice(record),
            **legs_of(record.root, record.document, living_invocation(record.root), now).fields(),
            "created_at_unix": manifest.created_at_unix,
            "finished_at_unix": manifest.extra.finished_at_unix,
            "requested_count": manifest.requested_count or facts.requested_count,
        }
    )


def _model(manifest: RunManifest) -> str:
    return text_of(manifest.harness.get("solve_model")) or manifest.model_slots.get("OUROBOROS_MODEL", "")


def _practice(record: RunRecord) -> str:
    """Return why the scores mean nothing: by the model that the stand-in server names, or by the programs."""
    if record.manifest is None:
        return ""
    if _model(record.manifest).startswith(_SCRIPTED):
        return "Practice run: the solver is scripted, the scores mean nothing."
    if is_practice({"requested_task_ids": record.instance_ids}):
        return "Practice run: the programs are practice programs, the scores mean nothing."
    return ""


def asked_of(record: RunRecord, grades: RowGrades | None) -> list[Fact]:
    """Return what was asked, without what nobody knows; `grades` are those of a launcher's rows."""
    manifest = record.manifest
    facts = _facts(manifest, grades, graded=record.summary is not None) if manifest else ()
    return [fact for fact in facts if fact.value]


def _facts(manifest: RunManifest, grades: RowGrades | None, *, graded: bool) -> Iterator[Fact]:
    harness = manifest.harness
    limits = mapping(harness.get("limits"))
    yield Fact(name="Command", value=shlex.join(manifest.argv))
    yield Fact(name="Instances", value=_instances(manifest))
    yield Fact(name="Selection", value=_selection(manifest))
    yield Fact(name="Model", value=_model(manifest))
    yield Fact(name="Server", value=text_of(harness.get("ouroboros_url")))
    yield Fact(name="Data set", value=manifest.dataset)
    yield Fact(name="Workers", value=text_of(harness.get("workers")))
    limited = "the launcher" if manifest.command == EXEC else "one instance"
    yield Fact(name=f"Time limit of {limited}", value=_seconds(manifest.timeout_sec or limits.get("timeout_sec")))
    yield Fact(name="Cleanroom", value=_cleanroom(limits))
    yield Fact(name="Official evaluation", value=_evaluation(manifest, grades, graded=graded))
    yield Fact(name="Versions", value=_versions(manifest))


def _evaluation(manifest: RunManifest, grades: RowGrades | None, *, graded: bool) -> str:
    """Return what is known of it: a launcher is not asked for one, but its rows may hold the verdicts."""
    if manifest.command == GRADER:
        return headline(manifest.extra.grades)
    if not is_launched(manifest.command):
        unasked = "not asked for with the run; graded afterwards" if graded else "not asked for"
        return "asked for" if manifest.extra.eval_requested else unasked
    if grades is None:
        return "no verdict is on record"
    return f"as the launcher's rows say: {grades.passed} pass, {grades.failed} fail, {grades.ungraded} ungraded"


def _instances(manifest: RunManifest) -> str:
    return "" if manifest.requested_count is None else f"{manifest.requested_count} asked for"


def _selection(manifest: RunManifest) -> str:
    chosen = {**mapping(manifest.harness.get("selector")), "difficulty": manifest.harness.get("difficulty")}
    parts = [f"{name.replace('_', ' ')} {_listed(value)}" for name, value in chosen.items() if value]
    return ", ".join(parts)


def _listed(value: object) -> str:
    if value is True:
        return "on"
    return " ".join(map(str, value)) if isinstance(value, list) else text_of(value)


def _seconds(value: object) -> str:
    known = usd(value)
    return "" if known is None else words.seconds(known)


def _cleanroom(limits: object) -> str:
    known = mapping(limits)
    cpus, memory = text_of(known.get("cpus")), text_of(known.get("memory"))
    return ", ".join([*([f"{cpus} cpus"] if cpus else []), *([f"{memory} of memory"] if memory else [])])


def _versions(manifest: RunManifest) -> str:
    engine = {"docker engine": mapping(manifest.harness.get("engine")).get("version")}
    named = {name: manifest.harness.get(name) for name in ("obo_bench", "python", "programbench")}
    return ", ".join(f"{name} {text_of(value)}" for name, value in {**named, **engine}.items() if value)
