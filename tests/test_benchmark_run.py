"""A launcher's run: admission, rows, results, the manifest in its hands."""

import json
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from obo_bench import BenchmarkRun, SeedDemands, UsageError, benchmark_run
from obo_bench.core.ledger import LedgerUnwritable
from obo_bench.core.redact import process_redactor
from obo_bench.core.refusals import Refusal
from tests.conftest import git
from tests.launcher_case import alone, document, lines, wrapping

Open = Callable[..., Any]


@pytest.fixture(params=["alone", "under exec"])
def entered(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Open]:
    """Give what opens a run, in both situations."""
    root = tmp_path / "run"
    if request.param == "alone":
        yield lambda **arguments: benchmark_run("gaia", run_root=root, **arguments)
        return
    with wrapping(root) as world:
        for name, value in world.variables.items():
            monkeypatch.setenv(name, value)
        yield lambda **arguments: benchmark_run("gaia", **arguments)


def rows_of(run: BenchmarkRun) -> list[dict[str, Any]]:
    theirs, ours = run.run_root / "child" / "ledger.jsonl", run.run_root / "result_index.jsonl"
    return lines(theirs if theirs.exists() else ours)


def test_a_row_is_whole_on_disk_when_it_has_been_recorded(entered: Open) -> None:
    with entered(requested_task_ids=["a"]) as run:
        run.record(
            "a",
            "failed",
            reason_code="wrong_answer",
            output_paths={"answer": run.run_root / "a" / "answer.json", "log": "a/log", "other": "/elsewhere/x"},
            error="42 is not 43",
            cost_usd=1.5,
            details={"got": 42, "degraded": True},
            durations={"solve": 2.5},
            attempt=2,
            prediction_written=True,
        )
        [row] = rows_of(run)
    expected = {
        "benchmark": "gaia",
        "instance_id": "a",
        "status": "failed",
        "reason_code": "wrong_answer",
        "output_paths": {"answer": "a/answer.json", "log": "a/log", "other": "/elsewhere/x"},
        "error": "42 is not 43",
        "cost": {"usd": 1.5, "source": "launcher"},
        "details": {"got": 42, "degraded": True},
        "durations": {"solve": 2.5},
        "attempt": 2,
        "prediction_written": True,
    }
    assert {name: row[name] for name in expected} == expected


def test_eight_threads_lose_no_row(entered: Open) -> None:
    ids = [f"task-{number}" for number in range(1000)]
    with entered(requested_task_ids=ids) as run:

        def work(own: list[str]) -> None:
            for name in own:
                run.record(name, details={"text": "ü\n" * 50})

        threads = [threading.Thread(target=work, args=(ids[number::8],)) for number in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rows = rows_of(run)
    assert sorted(row["instance_id"] for row in rows) == sorted(ids)
    assert all(row["details"]["text"] == "ü\n" * 50 for row in rows)


def test_no_secret_reaches_a_row(entered: Open) -> None:
    process_redactor().learn(["sk-very-secret-value"])
    with entered() as run:
        run.record("a", "failed", error="key sk-very-secret-value", details={"of": "API_TOKEN=abc"})
        [row] = rows_of(run)
    assert row["error"] == "key [redacted]"
    assert row["details"] == {"of": "API_TOKEN=[redacted]"}


NONSENSE = {
    "run.record('a', 'fine')": "'fine' is no status: use one of completed, failed, ",
    "run.record('')": "is no instance id",
    "run.record('x' * 501)": "is no instance id",
    "run.record('a', reason_code='two words')": "reason_code 'two words' is not one word",
    "run.record('a', 'failed', reason_code='x' * 201)": "is not one word",
    "run.conclude('fine')": "'fine' is no outcome of a launcher: use one of completed, instances_failed, ",
    "run.conclude('refused')": "'refused' is no outcome",
    "run.conclude('completed', exit_code=3)": "only child_failed takes a status",
    "run.conclude('child_failed', exit_code=0)": "from 1 to 255",
    "run.request('a')": "list of texts",
    "run.request(['a', ''])": "list of texts",
    "run.write_json('run_manifest.json', {})": "part of a run's own record",
    "run.write_json('result_index.jsonl', {})": "part of a run's own record",
    "run.write_json('manifests/x.json', {})": "part of a run's own record",
    "run.write_json('x/../child/outcome.json', {})": "part of a run's own record",
    "(os.mkfifo(run.run_root / 'fifo'), run.write_json('fifo', {}))": "is no regular file",
    "run.write_json('', {})": "part of a run's own record",
    "run.write_json(run.run_root.parent / 'other' / 'run_manifest.json', {})": "part of a run's own record",
}


@pytest.mark.parametrize("call", NONSENSE)
def test_what_means_nothing_is_told_and_the_run_can_go_on(entered: Open, call: str) -> None:
    with entered() as run:
        with pytest.raises(UsageError, match=NONSENSE[call]):
            eval(call, {"run": run, "os": os})
        run.record("a")
        assert len(rows_of(run)) == 1


def test_a_result_is_written_as_it_is(entered: Open) -> None:
    with entered(output_paths={"predictions": "out/predictions.json"}) as run:
        assert run.output_paths == {"predictions": run.run_root / "out" / "predictions.json"}
        written = run.write_json(run.output_paths["predictions"], {"patch": "API_TOKEN=abc ü"})
    assert written.read_bytes() == '{\n  "patch": "API_TOKEN=abc ü"\n}\n'.encode()


def test_a_row_that_cannot_be_written_is_told(entered: Open) -> None:
    with entered() as run:
        place = run.run_root / "child" if (run.run_root / "child").exists() else run.run_root
        name = "ledger.jsonl" if place.name == "child" else "result_index.jsonl"
        (place / name).mkdir()
        with pytest.raises(LedgerUnwritable):
            run.record("a")
        (place / name).rmdir()


def test_the_manifest_can_be_looked_at_and_not_changed(entered: Open) -> None:
    with entered() as run:
        seen = run.manifest
        assert (seen["benchmark"], seen["extra"]["outcome"]) == ("gaia", "started")
        seen["extra"]["outcome"] = "completed"
        assert run.manifest["extra"]["outcome"] == "started"


def test_everything_asked_for_is_in_the_first_manifest(tmp_path: Path, checkout: Path) -> None:
    root = tmp_path / "run"
    with benchmark_run(
        "gaia",
        requested_task_ids=["b", "a", "b"],
        run_root=root,
        repo_dir=checkout,
        dataset="gaia 2023",
        official_command=["inspect", "eval"],
        timeout_sec=900,
        output_paths={"log": "logs/x.eval"},
        harness={"solver": "ouroboros"},
    ) as run:
        found = document(root / "run_manifest.json")
        run.request(["a", "b", "c"])
        later = document(root / "run_manifest.json")
    assert (found["requested_task_ids"], found["requested_count"]) == (["b", "a"], 2)
    assert (later["requested_task_ids"], later["requested_count"]) == (["a", "b", "c"], 3)
    assert (found["dataset"], found["timeout_sec"], found["official_command"]) == (
        "gaia 2023",
        900,
        ["inspect", "eval"],
    )
    assert (found["command"], found["output_paths"]) == ("benchmark_run", {"log": "logs/x.eval"})
    assert found["harness"]["solver"] == "ouroboros"
    assert found["source"]["head"] == git(checkout, "rev-parse", "HEAD")
    assert found["extra"]["runtime_attestation"] == {"skipped": "no_server"}
    extra = document(root / "run_manifest.json")["extra"]
    assert (extra["outcome"], extra["not_attempted_count"]) == ("instances_failed", 3)


def test_a_second_invocation_counts_what_was_done_before(tmp_path: Path) -> None:
    def run_once(**rows: str) -> dict[str, Any]:
        with benchmark_run("gaia", requested_task_ids=["a", "b"], run_root=tmp_path / "run") as run:
            for name, status in rows.items():
                run.record(name, status, cost_usd=1.0)  # type: ignore[arg-type]  # any text
        extra = document(tmp_path / "run" / "run_manifest.json")["extra"]
        return {name: extra[name] for name in ("outcome", "completed_count", "skipped_count", "failed_count", "cost")}

    first = run_once(a="completed", b="failed")
    assert first["cost"] == {"usd": 2.0, "source": "launcher"}
    assert (first["outcome"], first["completed_count"], first["failed_count"]) == ("instances_failed", 1, 1)
    second = run_once(b="completed")
    assert second["cost"] == {"usd": 1.0, "source": "launcher"}
    assert (second["outcome"], second["completed_count"], second["failed_count"]) == ("completed", 2, 0)


def test_a_run_without_a_place_gets_one_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OUROBOROS_BENCH_RUNS_ROOT", str(tmp_path / "runs"))
    with benchmark_run("gaia") as run:
        assert run.run_root.parent == tmp_path / "runs" / "gaia"
    monkeypatch.delenv("OUROBOROS_BENCH_RUNS_ROOT")
    with pytest.raises(UsageError, match="give run_root or repo_dir"):
        benchmark_run("gaia")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"ouroboros_url": "http://127.0.0.1:1"}, "without repo_dir"),
        ({"seed": SeedDemands(require_stamp=True)}, "without repo_dir"),
        ({"seed": SeedDemands(seed_commit="main")}, "is not a commit"),
        ({"requested_task_ids": "a"}, "list of texts"),
        ({"benchmark": "Not a name"}, "is no name of a benchmark"),
        ({"benchmark": "programbench"}, "directory of a command of obo-bench"),
    ],
)
def test_arguments_that_mean_nothing_touch_nothing(tmp_path: Path, arguments: dict[str, Any], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        benchmark_run(**{"benchmark": "gaia", "run_root": tmp_path / "run", **arguments})
    assert not (tmp_path / "run").exists()


def test_the_gates_of_admission_refuse_on_record(tmp_path: Path, checkout: Path, serve: Callable[..., str]) -> None:
    settings = tmp_path / "settings" / "settings.json"
    settings.parent.mkdir()
    settings.write_text("{")
    broken = {"settings_path": settings, "ouroboros_url": "http://127.0.0.1:1"}
    cases: list[tuple[int, str, dict[str, Any]]] = [
        (3, "runtime_unreachable", {"ouroboros_url": "http://127.0.0.1:1"}),
        (3, "runtime_skew", {"ouroboros_url": serve(version="6.99.0")}),
        (3, "runtime_skew", {"ouroboros_url": serve(), "expected_version": "6.1.0"}),
        (5, "target_settings_mismatch", {"ouroboros_url": serve(), "solve_model": "other::model"}),
        (4, "stamp_absent", {"seed": SeedDemands(require_stamp=True)}),
        (4, "seed_mismatch", {"seed": SeedDemands(expect="0" * 40)}),
        (5, "settings_unreadable", broken),
    ]
    for number, (status, reason, arguments) in enumerate(cases):
        root = tmp_path / "runs" / str(number)
        with (
            pytest.raises(Refusal) as raised,
            benchmark_run("gaia", run_root=root, repo_dir=checkout, **arguments),
        ):
            pytest.fail("it was admitted")
        assert (raised.value.reason, raised.value.exit_code) == (reason, status)
        extra = document(root / "run_manifest.json")["extra"]
        assert (extra["outcome"], extra["exit_code"], extra["refusal"]["reason"]) == ("refused", status, reason)


def test_the_server_is_attested_and_its_settings_secrets_are_kept(
    tmp_path: Path, checkout: Path, serve: Callable[..., str]
) -> None:
    settings = tmp_path / "settings" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps({"OPENROUTER_API_KEY": "sk-of-the-settings"}))
    done = alone(
        tmp_path / "run",
        "run.record('a', error='sk-of-the-settings')",
        repo_dir=checkout,
        ouroboros_url=serve(),
        settings_path=settings,
    )
    assert done.status == 0, done.stderr
    attestation = done.extra["runtime_attestation"]
    assert (attestation["ok"], attestation["runtime_version"]) == (True, "6.75.0")
    assert lines(done.run_root / "result_index.jsonl")[0]["error"] == "[redacted]"


def test_a_run_root_at_work_is_refused_with_a_way_out_that_a_launcher_has(tmp_path: Path) -> None:
    with benchmark_run("gaia", run_root=tmp_path / "run"):
        done = alone(tmp_path / "run", "pass")
    assert (done.status, "run_locked" in done.stderr) == (5, True)
    assert "run_root" in done.stderr.partition("what to do:")[2]


@pytest.mark.parametrize("place", ["checkout", "data"])
def test_no_result_lands_in_a_place_of_the_servers(tmp_path: Path, checkout: Path, place: str) -> None:
    target = (checkout if place == "checkout" else checkout.parent / "data") / "x.json"
    done = alone(tmp_path / "run", f"run.write_json({str(target)!r}, {{}})", repo_dir=checkout)
    assert (done.status, done.extra["refusal"]["reason"]) == (5, "output_not_confined")
    with wrapping(tmp_path / "other", repo_dir=checkout) as world:
        done = world.launch(f"run.write_json({str(target)!r}, {{}})")
        assert (done.status, done.outcome["refusal_reason"]) == (5, "output_not_confined")
    refused = alone(tmp_path / "third", "pass", repo_dir=checkout, output_paths={"x": str(target)})
    assert refused.status == 5
    assert not target.exists()


def test_ids_that_exec_knows_are_the_denominator_of_a_launcher_that_says_none(tmp_path: Path) -> None:
    with wrapping(tmp_path / "run", fields={"requested_task_ids": ["a", "b"], "requested_count": 2}) as world:
        done = world.launch("run.record('a')")
        assert (done.outcome["outcome"], done.outcome["not_attempted_count"]) == ("instances_failed", 1)
        other = world.launch("run.record('c')")
    assert (other.status, "'c' was not requested of this run" in other.outcome["message"]) == (70, True)
