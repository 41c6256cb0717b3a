"""The guards bite: violations of every kind, planted at random places in copies of the package, are each reported."""

from pathlib import Path

import pytest

from tests.guard.kinds import HARMLESS_CODE, VIOLATIONS
from tests.guard.places import WAYS
from tests.guard.planted import Verdict, judge, plants
from tests.guard.planted_bodies import BODIES, judge_bodies
from tests.guard.planted_runtime import AUDITED, PROBED, audited, certain_plants, probed
from tests.guard.static import PRODUCT, recorded_commands, walk_commands
from tests.guard.walk import Walk
from tests.test_guard_runtime import needs_strace, strace

__all__ = ["strace"]

SOURCES = PRODUCT.parent
SEEDS = (1, 2)


@pytest.fixture(scope="module")
def product() -> Walk:
    return walk_commands(PRODUCT, recorded_commands())[0]


def shown(verdicts: list[Verdict], seed: int) -> str:
    return f"seed {seed}\n" + "\n".join(map(str, verdicts))


@pytest.mark.parametrize("seed", SEEDS)
def test_every_violation_before_admission_is_reported_with_its_line(product: Walk, tmp_path: Path, seed: int) -> None:
    planted = plants(VIOLATIONS, product, SOURCES, seed)
    verdicts = list(judge(planted, SOURCES, tmp_path, recorded_commands()))
    missed = [verdict for verdict in verdicts if not verdict.findings]
    assert not missed, shown(missed, seed)
    assert {plant.way for plant in planted} == set(WAYS)
    assert len(verdicts) == len(VIOLATIONS)


def test_there_are_a_hundred() -> None:
    assert len(VIOLATIONS) * len(SEEDS) >= 100


@pytest.mark.parametrize("seed", SEEDS)
def test_harmless_code_at_such_places_is_not_reported(product: Walk, tmp_path: Path, seed: int) -> None:
    planted = plants(HARMLESS_CODE, product, SOURCES, seed)
    verdicts = list(judge(planted, SOURCES, tmp_path, recorded_commands()))
    blamed = [verdict for verdict in verdicts if verdict.findings]
    assert not blamed, shown(blamed, seed) + "\n" + "\n".join(str(verdict.findings[0]) for verdict in blamed)


def test_every_manifest_writer_and_ending_in_a_body_is_reported(tmp_path: Path) -> None:
    missed = [verdict for verdict in judge_bodies(BODIES, SOURCES, tmp_path, SEEDS[0]) if not verdict.findings]
    assert not missed, shown(missed, SEEDS[0])


def test_every_violation_that_leaves_an_event_is_seen_at_run_time(product: Walk, tmp_path: Path) -> None:
    told = audited(certain_plants(AUDITED, product, SOURCES, SEEDS[0]), SOURCES, tmp_path)
    assert set(told) == set(AUDITED)
    assert not [kind for kind, events in told.items() if not events], f"seed {SEEDS[0]}"


@needs_strace
@pytest.mark.parametrize("kind", PROBED)
def test_a_probe_that_leaves_no_event_is_seen_by_strace(product: Walk, tmp_path: Path, kind: str) -> None:
    [plant] = certain_plants([kind], product, SOURCES, PROBED.index(kind))
    assert not any(audited([plant], SOURCES, tmp_path).values()), "then it belongs to the audited kinds"
    assert any("/etc/hostname" in call.paths for call in probed(plant, SOURCES, tmp_path))
