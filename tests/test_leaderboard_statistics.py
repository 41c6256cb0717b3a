"""The statistics: every attempt counts, unknown is absent and never 0, and anyone can repeat them."""

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obo_bench.core.files import line_bytes
from obo_bench.core.ledger import Row
from obo_bench.gateway.cost import usd
from obo_bench.programbench.leaderboard.statistics_script import charged_attempts, ledger_rows
from obo_bench.programbench.solving.account import Account
from tests.leaderboard_case import CLOSED, A, B, Run, told


@pytest.fixture
def run(tmp_path: Path) -> Run:
    return Run(tmp_path)


@pytest.mark.parametrize(
    ("cost", "why"),
    [
        ({"usd": None, "final": False}, "does not say"),
        ({"usd": 0.5, "final": False, "lower_bound": True}, "at least 0.5 USD"),
        ({"usd": 0.5, "final": False}, "at least 0.5 USD"),
        ({"usd": float("nan"), "final": True}, "does not say"),
    ],
)
def test_an_unknown_cost_is_absent_and_listed(run: Run, cost: dict[str, Any], why: str) -> None:
    run.solve_otherwise(B, cost)
    result = run.export()
    assert run.stats("cost") == {A: 1.5}
    assert why in result.statistics["cost"].unknown[B]
    assert "of 1 instance(s) it is not known, so the sum is a lower bound" in run.readme()


def test_all_attempts_count_also_those_that_the_infrastructure_ended(run: Run) -> None:
    run.solve(B, attempt=2)
    run.grade(B)
    run.export()
    assert run.stats("cost") == {A: 1.5, B: 3.0}
    assert run.stats("calls") == {A: 10, B: 30}
    assert run.stats("tokens") == {A: 1000, B: 2000}


def test_an_attempt_without_a_record_makes_the_whole_instance_unknown(run: Run) -> None:
    run.solve(B, attempt=2)
    run.grade(B)
    shutil.rmtree(run.root / B / "attempts")
    result = run.export()
    assert B not in run.stats("calls")
    assert result.statistics["calls"].unknown[B].startswith("attempt 1: there is no record")
    assert run.stats("cost")[B] == 3.0


def test_an_attempt_that_is_gone_from_the_directory_of_its_instance_still_costs_what_it_did(run: Run) -> None:
    run.solve(B, attempt=2)
    run.grade(B)
    shutil.rmtree(run.root / B / "attempts")
    ledger = run.root / B / "result_index.jsonl"
    ledger.write_bytes(ledger.read_bytes().splitlines(keepends=True)[-1])
    result = run.export()
    assert run.stats("cost") == {A: 1.5, B: 3.0}
    assert "attempt 1: there is no record" in result.statistics["calls"].unknown[B]
    assert told(result, "single_attempt").exceptions[0].startswith(f"{B}: 2 attempts had a task")


@pytest.mark.parametrize(
    "odd", ['{"cost": "much"}', '{"cost": [1]}', '{"details": 3}', '{"attempt": [1], "cost": {"usd": 1}}']
)
def test_a_row_of_another_shape_does_not_end_it(run: Run, odd: str) -> None:
    for ledger in (run.root / "result_index.jsonl", run.root / B / "result_index.jsonl"):
        ledger.write_text(ledger.read_text() + odd[:-1] + f', "instance_id": "{B}"}}\n')
    run.export()
    assert A in run.stats("cost")


def test_a_checkpoint_of_another_shape_does_not_end_it(run: Run) -> None:
    (run.root / B / "ouroboros_task_result.json").unlink()
    run.write(B, "ouroboros_task_checkpoint.json", {"task_id": "t", "attempt": [1], "task_result": "text"})
    run.export()
    assert run.stats("calls") == {A: 10}


def test_a_task_of_which_only_a_checkpoint_is_left_makes_the_cost_unknown(run: Run) -> None:
    aside = run.root / B / "attempts" / "02"
    aside.mkdir(parents=True)
    (aside / "ouroboros_task_checkpoint.json").write_text('{"task_id": "t", "attempt": 2, "status": "running"}')
    result = run.export()
    assert {name: B in statistic.unknown for name, statistic in result.statistics.items()} == {
        "cost": True,
        "calls": True,
        "tokens": True,
    }


def test_a_task_that_the_server_repeated_itself_has_no_count(run: Run) -> None:
    run.write(B, "ouroboros_task_result.json", {"task_id": "another", "total_rounds": 3})
    assert "repeated the task itself" in run.export().statistics["calls"].unknown[B]


@pytest.mark.parametrize("tokens", [{}, {"prompt_tokens": None}, {"prompt_tokens": -1}, {"prompt_tokens": 0}])
def test_tokens_that_were_not_counted_are_not_zero(run: Run, tokens: dict[str, Any]) -> None:
    record = {"task_id": f"obo-abcd1234-{B}-1", "total_rounds": 3, "completion_tokens": 0, **tokens}
    run.write(B, "ouroboros_task_result.json", record)
    run.export()
    assert run.stats("tokens") == {A: 1000}
    assert run.stats("calls") == {A: 10, B: 3}


def test_anyone_can_repeat_them_with_nothing_but_python(run: Run) -> None:
    run.export()
    script = [sys.executable, "-I", "-S", str(run.dest / "_scripts" / "statistics_script.py")]
    done = subprocess.run(script, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    (run.dest / "_stats" / "cost.json").write_text(json.dumps({A: 0.01}))
    wrong = subprocess.run(script, capture_output=True, text=True, timeout=60, check=False)
    assert wrong.returncode == 1
    assert "NOT as in _stats" in wrong.stdout


_COSTS = st.one_of(
    st.just({}),
    st.builds(lambda amount: {**CLOSED, "usd": amount}, st.one_of(st.none(), st.floats(0, 100), st.just(-1.0))),
)


@given(st.lists(st.tuples(st.integers(1, 3), _COSTS, st.booleans()), max_size=8))
def test_the_script_charges_what_the_account_of_the_run_charges(
    tmp_path_factory: pytest.TempPathFactory, told: list[tuple[int, dict[str, Any], bool]]
) -> None:
    rows = [
        Row(
            benchmark="programbench",
            instance_id=A,
            status="failed",
            reason_code="x",
            attempt=attempt,
            cost=cost,
            details={"task_id": "t"} if task else {},
        )
        for attempt, cost, task in told
    ]
    ledger = tmp_path_factory.mktemp("ledger") / "result_index.jsonl"
    ledger.write_bytes(b"".join(line_bytes(row.document()) for row in rows) + b'{"torn')
    amounts = [usd(charge.get("usd")) for charge in charged_attempts(list(ledger_rows(ledger))).values()]
    known = [amount for amount in amounts if amount is not None]
    assert (round(sum(known), 6), len(amounts) - len(known)) == Account(rows).sums()
