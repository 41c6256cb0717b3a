"""One set says what is fatal to a campaign: no module that decides spells such a reason, and the scheduler obeys."""

import ast
import re
import threading
from pathlib import Path

import pytest

import obo_bench
from obo_bench.core.admission import AdmissionRequest
from obo_bench.core.ending import is_campaign_fatal
from obo_bench.core.ledger import Row, read_rows
from obo_bench.core.refusal_reasons import REASONS, Stage
from obo_bench.core.refusals import (
    CAMPAIGN_FATAL_PROVENANCE_REASONS,
    OVERRIDABLE_ATTESTATION_REASONS,
    Objection,
    Refusal,
)
from obo_bench.core.session import benchmark_session
from obo_bench.programbench.context import RunContext
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.rows import append_row
from obo_bench.programbench.solving.schedule import Schedule
from obo_bench.programbench.solving.scheduler import run_all
from tests.run_context import context_of

PACKAGE = Path(obo_bench.__file__).parent
MODULES = sorted(module.relative_to(PACKAGE).as_posix() for module in PACKAGE.rglob("*.py"))
VOCABULARY = {"core/refusals.py", "core/refusal_reasons.py", "core/refusal_meanings.py"}
"""Where the words themselves are kept: the set, the table of reasons, and what each means."""
NAME = "CAMPAIGN_FATAL_PROVENANCE_REASONS"
FATAL = sorted(CAMPAIGN_FATAL_PROVENANCE_REASONS)
NOT_FATAL = sorted(REASONS.keys() - CAMPAIGN_FATAL_PROVENANCE_REASONS)
BUILT_BY = {
    "Objection",
    "Refusal",
    "BenchmarkAdmissionRefused",
    "SeedShapeRefused",
    "RuntimeAttestationRefused",
    "PreflightRefused",
}
"""What a gate says a reason with, as its first argument. Anywhere else it is the beginning of a second list."""
VERDICTS = {"core/seed/lineage.py": {"Descent"}}
"""What a module that works out such a reason returns it in, as the first argument; a gate raises it."""


def spelled(source: str, module: str = "") -> list[str]:
    """Return `line: reason` for each place where a fatal reason is written other than to raise it."""
    tree, builders = ast.parse(source), BUILT_BY | VERDICTS.get(module, set())
    raised = {
        id(node.args[0])
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and node.args and ast.unparse(node.func).rpartition(".")[2] in builders
    }
    looked_up = {
        id(node.slice)
        for node in ast.walk(tree)
        if isinstance(node, ast.Subscript) and ast.unparse(node.value) == "REASONS"
    }
    return [
        f"{node.lineno}: {node.value}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and id(node) not in raised | looked_up
        and names_a_fatal_reason(node.value)
    ]


def names_a_fatal_reason(text: str) -> bool:
    """A list in one string, to be split or searched, counts as much as one word; prose does not."""
    words = re.split(r"[\s,|]+", text.strip())
    return bool(CAMPAIGN_FATAL_PROVENANCE_REASONS & set(words)) and all(word in REASONS for word in words)


@pytest.mark.parametrize("module", [module for module in MODULES if module not in VOCABULARY])
def test_no_module_spells_a_fatal_reason_but_to_raise_it(module: str) -> None:
    assert spelled((PACKAGE / module).read_text("utf-8"), module) == []


PLANTED = {
    "a comparison": 'if refusal.reason == "{0}": return True',
    "a comparison the other way round": 'stop = "{0}" == row.reason_code',
    "a set of its own": 'FATAL = frozenset({{"{0}", "runtime_skew"}})',
    "a tuple": 'stop = reason in ("{0}",)',
    "a list": 'stop = reason in ["{0}"]',
    "a mapping": 'STOPS = {{"{0}": 7}}',
    "a prefix": 'stop = reason.startswith("{0}")',
    "a list in a string": 'FATAL = "{0}|stamp_absent".split("|")',
    "a pattern": 'match reason:\n    case "{0}":\n        pass',
    "a constant": 'STOP_ON = "{0}"',
    "a default": 'def stops(reason="{0}"): ...',
    "a later argument": 'Objection(reason, "{0}")',
    "another function": 'give_up("{0}")',
    "an f-string": 'stop = f"{0}" == reason',
}


DRIVERS = [
    "programbench/solving/scheduler.py",
    "programbench/run.py",
    "core/seed/lineage.py",
    "launch/executing/evidence.py",
    "launch/executing/watch.py",
    "launch/campaign/step_end.py",
    "launch/campaign/driver.py",
    "launch/presets/evolving.py",
    "launch/helper/run.py",
]
"""What decides whether anything goes on, or reads what might end it."""


@pytest.mark.parametrize("module", DRIVERS)
@pytest.mark.parametrize("planted", PLANTED.values(), ids=list(PLANTED))
@pytest.mark.parametrize("reason", ["lineage_broken", "runtime_changed"])
def test_the_scan_finds_what_is_planted_into_a_driver(module: str, planted: str, reason: str) -> None:
    source = (PACKAGE / module).read_text("utf-8")
    line = source.count("\n") + 1
    found = spelled(source + planted.format(reason) + "\n", module)
    assert found
    assert all(int(place.partition(":")[0]) >= line for place in found)


def test_the_scan_covers_every_layer() -> None:
    assert {module.partition("/")[0] for module in MODULES} >= {"core", "gateway", "programbench", "launch", "cli"}


def test_the_set_is_made_in_one_module_and_imported_from_there_alone() -> None:
    makers, sources = set(), set()
    for module in MODULES:
        for node in ast.walk(ast.parse((PACKAGE / module).read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom) and NAME in {alias.name for alias in node.names}:
                sources.add(node.module)
            if isinstance(node, ast.Name) and node.id == NAME and isinstance(node.ctx, ast.Store):
                makers.add(module)
    assert (makers, sources) == ({"core/refusals.py"}, {"obo_bench.core.refusals"})


def test_the_scan_leaves_alone_what_raises_or_explains_a_reason() -> None:
    assert spelled('raise RuntimeAttestationRefused("runtime_changed", text)') == []
    assert spelled('return Descent("lineage_broken", text)', "core/seed/lineage.py") == []
    assert spelled('return Descent("lineage_broken", text)', "programbench/run.py") == ["1: lineage_broken"]
    assert spelled('return refusals.Objection("lineage_broken", text)') == []
    assert spelled('remedy = REASONS["lineage_broken"].remedy') == []
    assert spelled('def f():\n    """Raises a refusal `runtime_changed`, or runtime_unreachable later."""') == []
    assert spelled('if refusal.reason == "run_locked": pass') == []


def test_the_set_is_the_published_one_and_every_member_is_a_refusal_of_a_provenance_gate() -> None:
    assert set(FATAL) == {
        "stamp_absent",
        "seed_mismatch",
        "lineage_broken",
        "lineage_unknown",
        "runtime_skew",
        "runtime_unreachable",
        "runtime_version_absent",
        "runtime_changed",
        "seed_head_unreadable",
        "commit_unavailable",
    }
    assert isinstance(CAMPAIGN_FATAL_PROVENANCE_REASONS, frozenset)
    assert obo_bench.CAMPAIGN_FATAL_PROVENANCE_REASONS is CAMPAIGN_FATAL_PROVENANCE_REASONS
    assert {REASONS[reason].stage for reason in FATAL} == {Stage.SEED_GATE, Stage.LINEAGE, Stage.RUNTIME_ATTESTATION}
    for stage in (Stage.LINEAGE, Stage.RUNTIME_ATTESTATION):
        assert {name for name, reason in REASONS.items() if reason.stage is stage} <= CAMPAIGN_FATAL_PROVENANCE_REASONS
    for reason in OVERRIDABLE_ATTESTATION_REASONS:
        assert REASONS[reason].stage is Stage.RUNTIME_ATTESTATION
        assert REASONS[reason].waiver


@pytest.mark.parametrize("reason", sorted(REASONS))
def test_the_core_tells_a_fatal_refusal_by_the_set_alone(reason: str) -> None:
    refusal = Objection(reason, "found").refusal()
    refusal.settle()
    assert is_campaign_fatal(refusal) is (reason in CAMPAIGN_FATAL_PROVENANCE_REASONS)
    assert not is_campaign_fatal(RuntimeError(reason))


def instances(count: int) -> list[Instance]:
    return [Instance(f"a__b.{number:07d}", "c", "easy", "a/b", "0" * 40, "image", ()) for number in range(count)]


def refuse_first(context: RunContext, reason: str, count: int = 3) -> tuple[Schedule, list[str]]:
    """Run `count` instances of which the first meets the refusal; returns what was started, too."""
    started: list[str] = []

    def solve(context: RunContext, instance: Instance) -> Row:
        started.append(instance.instance_id)
        raise Objection(reason, f"found {reason}").refusal()

    return run_all(context, instances(count), solve), started


@pytest.mark.parametrize("reason", FATAL)
def test_a_fatal_reason_stops_the_scheduler_before_any_further_instance(
    request_of_a_run: AdmissionRequest, reason: str
) -> None:
    with benchmark_session(request_of_a_run) as session:
        context = context_of(session, workers=1)
        schedule, started = refuse_first(context, reason)
    assert started == ["a__b.0000000"]
    assert schedule.stopped == "stopped_provenance"
    assert schedule.refusal is not None
    assert schedule.refusal.reason == reason
    assert context.stop.is_set()
    rows = list(read_rows(session.run_root / "result_index.jsonl"))
    assert [(row.instance_id, row.status, row.reason_code) for row in rows] == [
        (f"a__b.{number:07d}", "not_attempted", "stopped_provenance") for number in range(3)
    ]


@pytest.mark.parametrize("reason", NOT_FATAL)
def test_another_reason_ends_the_run_as_refused_and_not_as_stopped_for_provenance(
    request_of_a_run: AdmissionRequest, reason: str
) -> None:
    with pytest.raises(Refusal) as raised, benchmark_session(request_of_a_run) as session:
        refuse_first(context_of(session, workers=1), reason)
    assert raised.value.reason == reason
    assert session.manifest.extra.outcome == "refused"
    codes = {row.reason_code for row in read_rows(session.run_root / "result_index.jsonl")}
    assert "stopped_provenance" not in codes


def test_what_runs_beside_a_fatal_refusal_is_finished_and_nothing_follows_it(
    request_of_a_run: AdmissionRequest,
) -> None:
    started: list[str] = []

    def solve(context: RunContext, instance: Instance) -> Row:
        started.append(instance.instance_id)
        if instance.instance_id == "a__b.0000000":
            assert both_started.wait(20)
            raise Objection("runtime_changed", "another server").refusal()
        both_started.set()
        assert context.stop.wait(20)
        return append_row(context, instance.instance_id, "completed", "submission_prepared", attempt=1)

    both_started = threading.Event()
    with benchmark_session(request_of_a_run) as session:
        schedule = run_all(context_of(session, workers=2), instances(4), solve)
    assert sorted(started) == ["a__b.0000000", "a__b.0000001"]
    assert {name: row.status for name, row in schedule.rows.items()} == {
        "a__b.0000000": "not_attempted",
        "a__b.0000001": "completed",
        "a__b.0000002": "not_attempted",
        "a__b.0000003": "not_attempted",
    }
