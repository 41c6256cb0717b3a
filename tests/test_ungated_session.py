"""Commands that run nothing of the checkout: its state is recorded where it is known, and decides nothing."""

from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.admission import AdmissionRequest, SeedDemands
from obo_bench.core.files import read_json_object
from obo_bench.core.refusals import BenchmarkAdmissionRefused, PreflightRefused
from obo_bench.core.session import benchmark_session

UNGATED = SeedDemands(gated=False)


def request(root: Path, repo_dir: Path | None, seed: SeedDemands = UNGATED) -> AdmissionRequest:
    return AdmissionRequest("programbench", "programbench export", root, repo_dir, seed=seed)


def recorded(root: Path) -> dict[str, Any]:
    document = read_json_object(root / "run_manifest.json")
    assert document is not None
    return document


def test_without_a_checkout_nothing_is_examined_and_nothing_refused(tmp_path: Path) -> None:
    with benchmark_session(request(tmp_path / "r", None)):
        pass
    document = recorded(tmp_path / "r")
    assert document["source"]["repo_dir"] == ""
    assert document["source"]["dirty"] is None
    assert document["seed_gate"]["require_clean"] is False
    assert document["seed_gate"]["ok"]


def test_a_dirty_checkout_is_recorded_with_its_reason_and_let_through(tmp_path: Path, checkout: Path) -> None:
    (checkout / "dirt").write_text("x")
    with pytest.raises(BenchmarkAdmissionRefused), benchmark_session(request(tmp_path / "g", checkout, SeedDemands())):
        pass
    with benchmark_session(request(tmp_path / "r", checkout)):
        pass
    gate = recorded(tmp_path / "r")["seed_gate"]
    assert (gate["reason"], gate["require_clean"], gate["ok"], gate["dirty"]) == ("seed_dirty", False, True, True)


def test_outputs_stay_out_of_the_data_directory_also_without_a_checkout(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OUROBOROS_DATA_DIR", str(tmp_path / "data"))
    with (
        pytest.raises(PreflightRefused, match="would land in"),
        benchmark_session(request(tmp_path / "data" / "r", None)),
    ):
        pass
    assert not (tmp_path / "data").exists()
