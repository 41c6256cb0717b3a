"""Refusals are one family, and none that is raised can be swallowed into a success unnoticed."""

import contextlib
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.admission import AdmissionRequest, SeedDemands
from obo_bench.core.refusal_reasons import REASONS, Stage
from obo_bench.core.refusals import (
    STAGE_EXIT_CODES,
    BenchmarkAdmissionRefused,
    Objection,
    PreflightRefused,
    Refusal,
    RuntimeAttestationRefused,
    SeedShapeRefused,
)
from obo_bench.core.session import Session, benchmark_session
from obo_bench.core.signals import Interrupted

CLASSES = {
    Stage.SEED_GATE: BenchmarkAdmissionRefused,
    Stage.SEED_SHAPE: SeedShapeRefused,
    Stage.LINEAGE: BenchmarkAdmissionRefused,
    Stage.RUNTIME_ATTESTATION: RuntimeAttestationRefused,
    Stage.PREFLIGHT: PreflightRefused,
}


def family(base: type[Refusal] = Refusal) -> list[type[Refusal]]:
    return [base, *(found for child in base.__subclasses__() for found in family(child))]


def test_the_family_is_runtime_errors_and_never_an_exit() -> None:
    assert set(CLASSES.values()) < set(family())
    for kind in family():
        assert issubclass(kind, RuntimeError)
        assert not issubclass(kind, SystemExit)
        assert kind.stages


@pytest.mark.parametrize("reason", REASONS)
def test_every_reason_becomes_a_refusal_of_its_stage(reason: str) -> None:
    refusal = Objection(reason, "what was found", {"a": 1}).refusal()
    stage = REASONS[reason].stage
    assert type(refusal) is CLASSES[stage]
    assert (refusal.stage, refusal.exit_code) == (stage, STAGE_EXIT_CODES[stage])
    assert refusal.evidence == {"a": 1}
    assert refusal.remedy == REASONS[reason].remedy != ""
    assert Objection(reason, "x").refusal().evidence == {}
    assert Objection(reason, "x", remedy="do so").refusal().remedy == "do so"


@pytest.mark.parametrize(("kind", "reason"), [(PreflightRefused, "seed_dirty"), (SeedShapeRefused, "lineage_broken")])
def test_a_class_takes_no_reason_of_another_stage(kind: type[Refusal], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        kind(reason, "x")
    with pytest.raises(KeyError):
        kind("no_such_reason", "x")


def refuse(reason: str = "empty_selection") -> None:
    raise PreflightRefused(reason, "nothing matches")


def swallow(reason: str = "empty_selection") -> None:
    with contextlib.suppress(Exception):
        refuse(reason)


def in_a_thread(deed: Callable[[], None]) -> None:
    thread = threading.Thread(target=deed)
    thread.start()
    thread.join()


def nothing(_session: Session) -> None:
    pass


def in_the_body(_session: Session) -> None:
    swallow()


def in_a_thread_of_its_own(_session: Session) -> None:
    in_a_thread(swallow)


def in_a_future_that_nobody_asks(_session: Session) -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(refuse)


def two(_session: Session) -> None:
    swallow()
    swallow("dataset_unavailable")


def before_a_success(session: Session) -> None:
    swallow()
    session.conclude("completed", 0)


def before_an_exit_that_says_success(_session: Session) -> None:
    swallow()
    raise SystemExit(0)


def before_failed_instances(session: Session) -> None:
    swallow()
    session.conclude("instances_failed", 1)


def then_raised(_session: Session) -> None:
    swallow()
    refuse("dataset_unavailable")


def then_a_crash(_session: Session) -> None:
    try:
        refuse()
    except Exception as refusal:
        raise ZeroDivisionError("a bug") from refusal


def then_a_signal(_session: Session) -> None:
    swallow()
    raise Interrupted(15)


def then_a_status_from_below(_session: Session) -> None:
    swallow()
    raise SystemExit(7)


def settled(_session: Session) -> None:
    try:
        refuse()
    except PreflightRefused as refusal:
        refusal.settle()


def one_of_two_settled(session: Session) -> None:
    settled(session)
    swallow("dataset_unavailable")


def waived(_session: Session) -> None:
    Objection("seed_dirty", "waived, so it never becomes a refusal")


SHAPES: dict[Callable[[Session], None], tuple[str, int, str | None, list[str]]] = {
    in_the_body: ("refused", 5, "empty_selection", []),
    in_a_thread_of_its_own: ("refused", 5, "empty_selection", []),
    in_a_future_that_nobody_asks: ("refused", 5, "empty_selection", []),
    two: ("refused", 5, "empty_selection", ["dataset_unavailable"]),
    before_a_success: ("refused", 5, "empty_selection", []),
    before_an_exit_that_says_success: ("refused", 5, "empty_selection", []),
    before_failed_instances: ("refused", 5, "empty_selection", []),
    then_raised: ("refused", 5, "dataset_unavailable", ["empty_selection"]),
    then_a_crash: ("crashed", 70, None, ["empty_selection"]),
    then_a_signal: ("interrupted", 143, None, ["empty_selection"]),
    then_a_status_from_below: ("child_failed", 7, None, ["empty_selection"]),
    settled: ("completed", 0, None, []),
    one_of_two_settled: ("refused", 5, "dataset_unavailable", []),
    waived: ("completed", 0, None, []),
}


def run(root: Path, checkout: Path, body: Callable[[Session], None], *, allow_dirty: bool = False) -> dict[str, Any]:
    """Run a body in a session of its own; whatever leaves it is what the manifest says."""
    left: BaseException | None = None
    request = AdmissionRequest("b", "c", root, checkout, seed=SeedDemands(allow_dirty=allow_dirty))
    try:
        with benchmark_session(request) as session:
            body(session)
    except BaseException as error:  # noqa: BLE001  # compared with the record below
        left = error
    extra = json.loads((root / "run_manifest.json").read_text())["extra"]
    assert isinstance(extra, dict)
    assert isinstance(left, Refusal) == (extra["outcome"] == "refused")
    if isinstance(left, Refusal):
        assert (left.reason, left.exit_code) == (extra["refusal"]["reason"], extra["exit_code"])
    return extra


def story(extra: dict[str, Any]) -> tuple[str, int, str | None, list[str]]:
    reason = (extra["refusal"] or {}).get("reason")
    return extra["outcome"], extra["exit_code"], reason, [each["reason"] for each in extra["swallowed_refusals"]]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.__name__)
def test_a_swallowed_refusal_is_told(tmp_path: Path, checkout: Path, shape: Callable[[Session], None]) -> None:
    assert story(run(tmp_path / "run", checkout, shape)) == SHAPES[shape]


def test_an_allowed_dirty_seed_leaves_nothing_unsettled(tmp_path: Path, checkout: Path) -> None:
    (checkout / "dirt").write_text("x")
    assert story(run(tmp_path / "run", checkout, nothing, allow_dirty=True)) == ("completed", 0, None, [])


def test_the_refusal_of_one_invocation_is_not_that_of_the_next(tmp_path: Path, checkout: Path) -> None:
    assert run(tmp_path / "first", checkout, in_the_body)["outcome"] == "refused"
    swallow()  # between two invocations it is nobody's
    assert run(tmp_path / "second", checkout, nothing)["outcome"] == "completed"


def test_an_inner_invocation_does_not_make_the_outer_one_forget(tmp_path: Path, checkout: Path) -> None:
    def body(_session: Session) -> None:
        swallow()
        assert run(tmp_path / "inner", checkout, nothing)["outcome"] == "completed"

    assert run(tmp_path / "outer", checkout, body)["outcome"] == "refused"


def test_what_leaves_an_inner_invocation_must_be_settled_by_the_outer_one(tmp_path: Path, checkout: Path) -> None:
    def inner(*, settle: bool) -> None:
        try:
            with benchmark_session(AdmissionRequest("b", "c", tmp_path / "inner", checkout)):
                refuse()
        except PreflightRefused as refusal:
            if settle:
                refusal.settle()

    assert run(tmp_path / "careless", checkout, lambda _session: inner(settle=False))["outcome"] == "refused"
    assert run(tmp_path / "careful", checkout, lambda _session: inner(settle=True))["outcome"] == "completed"


def test_what_an_inner_invocation_swallowed_is_told_there_alone(tmp_path: Path, checkout: Path) -> None:
    def body(_session: Session) -> None:
        assert run(tmp_path / "inner", checkout, then_a_crash)["outcome"] == "crashed"

    assert story(run(tmp_path / "outer", checkout, body)) == ("completed", 0, None, [])


def test_invocations_in_threads_do_not_answer_for_each_other(tmp_path: Path, checkout: Path) -> None:
    refused, over = threading.Event(), threading.Event()
    found = {}

    def clean(_session: Session) -> None:
        refused.wait(30)

    def careless(_session: Session) -> None:
        swallow()
        refused.set()
        over.wait(30)

    def launch(name: str, body: Callable[[Session], None]) -> None:
        found[name] = run(tmp_path / name, checkout, body)["outcome"]
        over.set()

    threads = [threading.Thread(target=launch, args=pair) for pair in (("clean", clean), ("careless", careless))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {"clean": "completed", "careless": "refused"}
