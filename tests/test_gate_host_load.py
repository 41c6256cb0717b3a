"""How busy the host is, and from when on a score says little of a program."""

import os
import threading
from functools import reduce
from pathlib import Path

import pytest

from obo_bench.core import host_load, load_watch
from obo_bench.core.documents import read_document
from obo_bench.core.host_load import HostLoad, LoadRecord, sample_host_load
from obo_bench.core.load_watch import LoadWatch
from obo_bench.programbench.gating.evaluation_load import evaluation_load
from tests.evaluation_case import INSTANCE, evaluate, pack, passing, stand_in


def look(load: float | None, free: int | None = 500, at: float = 0.0) -> HostLoad:
    return HostLoad(sampled_at_unix=at, cores=2, load_5min=load, memory_total_bytes=1000, memory_available_bytes=free)


def test_a_look_at_this_host_tells_its_cores_load_and_memory() -> None:
    found = sample_host_load()
    assert found.cores == os.cpu_count()
    assert all(load is not None and load >= 0 for load in (found.load_1min, found.load_5min, found.load_15min))
    if Path("/proc/meminfo").exists():
        assert found.memory_available_bytes is not None
        assert 0 < found.memory_available_bytes < (found.memory_total_bytes or 0)


def test_what_the_system_does_not_tell_is_null(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_load, "_MEMINFO", tmp_path / "none")
    monkeypatch.delattr(os, "getloadavg")
    found = sample_host_load()
    assert (found.load_1min, found.load_5min, found.load_15min) == (None, None, None)
    assert (found.memory_total_bytes, found.memory_available_bytes) == (None, None)
    assert LoadRecord.of(found).overload() is None


def test_meminfo_is_read_in_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    meminfo = tmp_path / "meminfo"
    meminfo.write_text("MemTotal:  2 kB\nMemAvailable:  1 kB\nHugePages_Total: 7\nOdd: x kB\n\n")
    monkeypatch.setattr(host_load, "_MEMINFO", meminfo)
    found = sample_host_load()
    assert (found.memory_total_bytes, found.memory_available_bytes) == (2048, 1024)


def test_a_record_keeps_start_peak_end_and_the_least_memory() -> None:
    looks = [look(1.0, 300, at=1), look(9.0, 400, at=2), look(2.0, 200, at=3), look(None, None, at=4)]
    found = reduce(LoadRecord.with_look, looks[1:], LoadRecord.of(looks[0]))
    assert (found.start, found.peak, found.end) == (looks[0], looks[1], looks[3])
    assert (found.least_memory_available_bytes, found.samples) == (200, 4)


def test_a_watch_leaves_a_record_whichever_way_the_work_ends(tmp_path: Path) -> None:
    path = tmp_path / "host_load.json"

    def interrupted() -> None:
        with LoadWatch(path):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    found = read_document(LoadRecord, path)
    assert found.samples == 2
    assert found.start.sampled_at_unix <= found.peak.sampled_at_unix <= found.end.sampled_at_unix


def test_a_watch_looks_on_while_the_work_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = threading.Semaphore(0)
    looks = iter(range(1000))

    def sample() -> HostLoad:
        looked.release()
        return look(float(next(looks) % 7))

    monkeypatch.setattr(load_watch, "sample_host_load", sample)
    with LoadWatch(tmp_path / "host_load.json", interval_sec=0.001):
        for _ in range(8):
            assert looked.acquire(timeout=30)
    assert read_document(LoadRecord, tmp_path / "host_load.json").peak.load_5min == 6.0


def test_a_record_that_cannot_be_written_does_not_end_the_work(tmp_path: Path) -> None:
    with LoadWatch(tmp_path / "nowhere" / "host_load.json"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_an_evaluation_leaves_its_load_where_the_gate_finds_it(tmp_path: Path) -> None:
    root = tmp_path / "run"
    root.mkdir()
    sha256 = pack(root, INSTANCE, {})
    environ = stand_in(tmp_path, evaluator=passing(root))
    assert evaluate(root, environ, submissions={INSTANCE: sha256}).summary.passed == 1
    found = evaluation_load(root, [INSTANCE])
    assert (list(found.evaluations), found.unrecorded) == (["inv-1"], [])
    assert found.status != "unknown"
    # a later evaluation that keeps the grade does not change what it was made under
    again = evaluate(root, environ, submissions={INSTANCE: sha256}, invocation="inv-2")
    assert (again.summary.passed, list(evaluation_load(root, [INSTANCE]).evaluations)) == (1, ["inv-1"])


@pytest.mark.parametrize(
    ("load", "free", "why"),
    [
        (4.0, 50, None),
        (4.01, 500, "a load of 4.0 over five minutes on 2 core(s): more than 2 a core"),
        (0.0, 49, "49 of 1000 bytes of memory available: less than 5%"),
        (None, None, None),
    ],
)
def test_two_waiting_processes_a_core_or_no_memory_are_an_overload(
    load: float | None, free: int | None, why: str | None
) -> None:
    assert LoadRecord.of(look(load, free)).overload() == why
