"""The seed gate against real git situations: every tampered one gets its reason, every honest one passes."""

from pathlib import Path

import pytest

from obo_bench.core.admission import SeedDemands
from obo_bench.core.seed import reread
from obo_bench.core.seed.gate import SeedReport, examine_seed
from tests.conftest import git
from tests.seeds import forged, honest, seen, shapes, unseen  # noqa: F401  # importing them fills the table
from tests.seeds.checkouts import SITUATIONS, Situation, make_old, make_repository, plain_status

TAMPERED = [situation for situation in SITUATIONS if situation.reason]
HONEST = [situation for situation in SITUATIONS if not situation.reason]
WAIVED = {"seed_dirty", "seed_status_unavailable", "seed_identity_unavailable", "seed_hidden_changes"}


def name(situation: Situation) -> str:
    return situation.build.__name__


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "seed")


def examined(directory: Path, **demands: object) -> SeedReport:
    # Some situations never answer.
    return examine_seed(directory, SeedDemands(**demands), timeout=2.0)  # type: ignore[arg-type]


@pytest.mark.parametrize("situation", TAMPERED, ids=name)
def test_no_tampered_checkout_passes(repo: Path, situation: Situation) -> None:
    directory = situation.build(repo) or repo
    (repo.parent / "executed").unlink(missing_ok=True)
    report = examined(directory)
    assert not (repo.parent / "executed").exists(), "a program that the checkout names was run"
    assert report.objection is not None
    assert (report.objection.reason, report.seed_gate.reason, report.seed_gate.ok) == (
        situation.reason,
        situation.reason,
        False,
    )
    refusal = report.objection.refusal()
    assert refusal.remedy
    assert refusal.evidence
    refusal.settle()
    if situation.fools_git:
        assert plain_status(directory) == ""
    waived = examined(directory, allow_dirty=True)
    assert waived.seed_gate.reason == situation.reason
    assert waived.seed_gate.ok is (waived.objection is None) is (situation.reason in WAIVED)


@pytest.mark.parametrize("situation", HONEST, ids=name)
def test_an_honest_checkout_is_clean(repo: Path, situation: Situation) -> None:
    report = examined(situation.build(repo) or repo)
    assert report.objection is None
    assert (report.seed_gate.reason, report.seed_gate.ok, report.source.dirty) == (None, True, False)
    assert report.source.contents_read


def test_the_table_is_large_enough() -> None:
    assert len(TAMPERED) >= 25
    assert len(HONEST) >= 10


def test_a_module_does_not_escape_by_growing(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reread, "_MOST_BYTES", 2000)
    unseen.lie_to_the_index(repo)
    (repo / "pkg/core.py").write_text("answer = 43\n" + " " * 2000)
    make_old(repo / "pkg/core.py")
    git(repo, "add", "pkg/core.py")
    (repo / ".git/info/attributes").unlink()
    git(repo, "config", "--remove-section", "filter.lie")
    assert plain_status(repo) == ""
    assert examined(repo).seed_gate.reason == "seed_hidden_changes"
    monkeypatch.setattr(reread, "_MOST_BYTES", 10)
    assert examined(repo).source.contents_read is False
