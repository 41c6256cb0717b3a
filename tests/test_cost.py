"""What a task and a run have cost: from the best source, unknown never zero, each attempt once."""

import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.ledger import Row, read_rows
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import SilentReporter
from obo_bench.gateway.admission.preflight import Server
from obo_bench.gateway.admission.server_budget import ServerBudget, budget_of, require_server_budget
from obo_bench.gateway.client import GatewayClient
from obo_bench.gateway.cost import cost_of, running_cost
from obo_bench.gateway.wire import State, TaskRecord
from obo_bench.programbench.solving.account import Account
from obo_bench.programbench.solving.spending import Spending
from tests.task_server import TaskServer, task_server

OLDER = Path(__file__).parent / "data" / "older" / "result_index.jsonl"


def record(**fields: Any) -> TaskRecord:
    return TaskRecord.model_validate({"status": "completed", **fields})


def breakdown(own: float | None = 0.1, bound: float | None = None, **fields: Any) -> dict[str, Any]:
    return {"own_usd": own, "children_usd": 0.0, "accounted_upper_bound_usd": own if bound is None else bound, **fields}


def told(cost: dict[str, Any]) -> tuple[Any, ...]:
    return cost["usd"], cost["final"], cost["lower_bound"], cost["at_most_usd"], cost["source"]


BREAKDOWN, EVENT, SNAPSHOT = "cost_breakdown", "task_cost_finalized", "record_snapshot"


@pytest.mark.parametrize(
    ("fields", "event", "expected"),
    [
        ({"cost_usd": 0.0984}, None, (0.0984, False, True, None, SNAPSHOT)),
        ({"cost_usd": 0.0984}, {"cost_usd": 0.123, "cost_final": True}, (0.123, True, False, 0.123, EVENT)),
        ({"cost_usd": 0.1}, {"cost_usd": 0.2, "unresolved_upper_bound_usd": 0.3}, (0.2, False, True, 0.5, EVENT)),
        ({"cost_breakdown": breakdown(0.123, cost_final=True)}, None, (0.123, True, False, 0.123, BREAKDOWN)),
        ({"cost_breakdown": breakdown(0.1, 0.4)}, None, (0.1, False, True, 0.4, BREAKDOWN)),
        ({"cost_breakdown": breakdown(0.1, 0.123, cost_final=True)}, None, (0.123, True, False, 0.123, BREAKDOWN)),
        (
            {"cost_breakdown": breakdown(0.1, 0.4)},
            {"cost_usd": 0.2, "cost_final": True},
            (0.2, True, False, 0.2, EVENT),
        ),
        ({"cost_breakdown": breakdown(None), "cost_usd": 0.1}, None, (0.1, False, True, None, SNAPSHOT)),
        ({"cost_usd": 0.1, "cost_usd_with_children": 0.4}, None, (0.4, False, True, None, SNAPSHOT)),
        ({"cost_usd": 0.1, "cost_final": True}, None, (0.1, True, False, 0.1, SNAPSHOT)),
    ],
)
def test_the_best_source_that_knows(fields: dict[str, Any], event: dict[str, Any] | None, expected: Any) -> None:
    assert told(cost_of(record(**fields), event)) == expected


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"cost_usd": None},
        {"cost_usd": 0.0, "unknown_unmetered": 8},
        {"cost_usd": 0.0, "unknown_unmetered": 8, "cost_final": True},
        {"cost_usd": 0.0, "cost_accounting_status": "unavailable"},
        {"cost_usd": -1.0},
        {"cost_usd": math.nan},
        {"cost_usd": math.inf},
        {"cost_breakdown": {"own_usd": True}},
        {"cost_breakdown": breakdown(0.0, unknown_unmetered=3)},
        {"cost_breakdown": breakdown(0.0, subscription_sessions=1)},
        {"cost_breakdown": {"own_usd": "0.1"}},
    ],
)
def test_unknown_is_unknown_and_never_zero(fields: dict[str, Any]) -> None:
    cost = cost_of(record(**fields))
    assert (cost["usd"], cost["at_most_usd"], cost["lower_bound"]) == (None, None, False)


def test_a_free_solve_costs_nothing() -> None:
    assert told(cost_of(record(cost_usd=0.0, unknown_unmetered=0, cost_final=True)))[:4] == (0.0, True, False, 0.0)


@pytest.mark.parametrize("doubt", [{"unknown_unmetered": 2}, {"ledger_integrity_degraded": True}])
def test_what_is_partly_known_is_a_lower_bound_without_an_upper_one(doubt: dict[str, Any]) -> None:
    for cost in (cost_of(record(cost_usd=0.5, cost_final=True, **doubt)),
                 cost_of(record(cost_breakdown=breakdown(0.5, cost_final=True, **doubt)))):  # fmt: skip
        assert told(cost)[:4] == (0.5, True, True, None)


def test_only_a_server_that_says_so_shows_what_a_running_task_has_cost() -> None:
    assert running_cost(record(status="running", cost_usd=0.2)) is None
    shown = running_cost(record(status="running", cost_breakdown=breakdown(0.2)))
    assert shown is not None
    assert shown["usd"] == 0.2
    assert running_cost(record(cost_usd=0.2)) is not None


def row(instance: str = "a", attempt: int = 1, usd: float | None = None, **fields: Any) -> Row:
    cost = {} if usd is None else {"usd": usd, "final": True, "source": EVENT, "lower_bound": False, "at_most_usd": usd}
    fields = {"status": "completed", "reason_code": "submission_prepared", "cost": cost, **fields}
    return Row(benchmark="programbench", instance_id=instance, attempt=attempt, **fields)


def test_every_attempt_counts_once_however_often_it_is_repeated() -> None:
    rows = [
        row("a", 1, 0.25, status="failed"),
        row("a", 1, 0.25, status="failed"),  # kept by a second invocation
        row("a", 2, 0.5),
        row("a", 2, 0.5, status="skipped"),
        row("a", 2, 0.5, official_eval_status="pass"),
        row("b", 1, 0.125),
        row("c", 1, status="blocked"),
        row("c", 1, status="not_attempted"),
    ]
    assert Account(rows).document() == {
        "known_usd": 0.875, "known": 3, "unknown": 0, "lower_bound": False, "at_most_usd": 0.875, "sources": {EVENT: 3},
    }  # fmt: skip


def test_a_task_without_a_cost_is_unknown_until_it_is_known() -> None:
    account = Account([row("a", 1, 0.25), row("b", details={"task_id": "t"}), row("c", cost={"usd": None})])
    document = account.document()
    assert (document["known"], document["unknown"], document["lower_bound"], document["at_most_usd"]) == (
        1,
        2,
        True,
        None,
    )
    account.note(row("b", 1, 0.5))
    account.note(row("b", 1, details={"task_id": "t"}))
    assert (account.sums(), account.knows("b", 1), account.knows("c", 1)) == ((0.75, 1), True, False)
    assert account.sums(without={("b", 1)}) == (0.25, 1)


def test_the_rows_of_an_older_version_count_as_what_they_said() -> None:
    document = Account(read_rows(OLDER)).document()
    assert (document["known"], document["unknown"], document["at_most_usd"]) == (3, 0, 0.0)
    assert Account([row(cost={"usd": 0.5, "final": False, "source": SNAPSHOT})]).document()["lower_bound"] is True


@pytest.mark.parametrize(
    ("state", "expected"),
    [
        ({"budget_limit": 10.0, "spent_usd": 4.0}, ServerBudget(10.0, 4.0, 6.0)),
        ({"budget_limit": 10.0, "spent_usd": 12.0}, ServerBudget(10.0, 12.0, 0.0)),
        (
            {"budget_limit": 10.0, "spent_usd": 4.0, "accounting": {"remaining_known_usd": 5.5}},
            ServerBudget(10.0, 4.0, 5.5),
        ),
        ({"budget_limit": 0.0, "spent_usd": 4.0}, ServerBudget(None, 4.0, None)),
        ({"budget_limit": 10.0}, ServerBudget(10.0, None, None)),
        ({}, ServerBudget(None, None, None)),
    ],
)  # fmt: skip
def test_the_servers_own_budget(state: dict[str, Any], expected: ServerBudget) -> None:
    budget = budget_of(State.model_validate(state))
    assert budget == expected
    assert budget.exhausted is (expected.left_usd == 0.0)


@pytest.fixture
def tasks() -> Iterator[TaskServer]:
    with task_server() as server:
        yield server


@pytest.fixture
def client(tasks: TaskServer) -> Iterator[GatewayClient]:
    with GatewayClient(tasks.url, deadline_sec=5) as made:
        yield made


class Heard(SilentReporter):
    """Keeps what the operator is told."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def event(self, text: str, subject: str = "") -> None:
        self.told.append(f"{subject}{text}")


def required(client: GatewayClient, spent: float, ceiling: float | None, *, only_new: bool = True) -> list[str]:
    server = Server(client, None, State(budget_limit=10.0, spent_usd=spent))  # type: ignore[arg-type]
    return require_server_budget(server, only_new_tasks=lambda: only_new, ceiling_usd=ceiling)


def test_a_spent_budget_is_refused_unless_something_is_left_that_costs_nothing(client: GatewayClient) -> None:
    with pytest.raises(PreflightRefused, match="10 USD, is spent") as raised:
        required(client, 10.0, None)
    assert (raised.value.reason, "TOTAL_BUDGET" in raised.value.remedy) == ("budget_insufficient", True)
    raised.value.settle()
    assert required(client, 10.0, None, only_new=False) == []


def test_a_budget_below_the_ceiling_is_told(client: GatewayClient) -> None:
    assert required(client, 1.0, 5.0) == []
    [notice] = required(client, 7.0, 5.0)
    assert "3.00 USD" in notice


def test_the_ceiling_counts_all_invocations_and_what_runs(tasks: TaskServer, client: GatewayClient) -> None:
    spending = Spending([row("a", 1, 0.25)], ceiling_usd=1.0, client=client)
    assert spending.why_not() is None
    spending.note(row("b", 1, 0.25))
    spending.begin("c", 1, "t-c")
    tasks.put("t-c", "running", cost_breakdown=breakdown(0.4))
    assert (spending.why_not(), spending.stopped) == (None, "")
    tasks.put("t-c", "running", cost_breakdown=breakdown(0.5))
    refusal = spending.why_not()
    assert refusal is not None
    assert "1.0000 USD" in refusal
    assert "--max-cost-usd is 1" in refusal
    assert spending.stopped == refusal
    spending.note(row("c", 1, 0.1))
    assert spending.why_not() is None
    assert spending.stopped == refusal


def test_what_an_earlier_invocation_left_running_is_not_counted_twice(tasks: TaskServer, client: GatewayClient) -> None:
    heard, ended = Heard(), [row("a", 1, 0.5), row("b", details={"task_id": "t-b"})]
    spending = Spending(ended, ceiling_usd=1.0, client=client, reporter=heard)
    tasks.put("t-a", "running")
    tasks.put("t-b", "running", cost_breakdown=breakdown(0.1))
    spending.begin("a", 1, "t-a")  # its packaging had failed: the row knows its cost
    spending.begin("b", 1, "t-b")
    spending.begin("c", 1, "t-c")
    spending.note(row("c", 1, status="failed", reason_code="submission_rejected"))
    assert spending.why_not() is None
    assert heard.told == []


def test_what_the_ceiling_cannot_see_is_told_once(tasks: TaskServer, client: GatewayClient) -> None:
    heard = Heard()
    spending = Spending([row("a", details={"task_id": "t"})], ceiling_usd=1.0, client=client, reporter=heard)
    tasks.put("t-b", "running")
    spending.begin("b", 1, "t-b")
    spending.begin("c", 1, "never-arrived")
    assert [spending.why_not(), spending.why_not()] == [None, None]
    assert heard.told == ["--max-cost-usd cannot see 3 task(s): the server does not say what they cost"]


@pytest.mark.parametrize("ceiling", [None, 100.0])
def test_a_server_whose_budget_runs_out_gets_no_new_task_and_is_told_once(
    tasks: TaskServer, client: GatewayClient, ceiling: float | None
) -> None:
    heard = Heard()
    spending = Spending(ceiling_usd=ceiling, client=client, reporter=heard)
    assert spending.why_not() is None
    tasks.state["spent_usd"] = 10.0
    assert spending.why_not() == spending.why_not() == "the server's TOTAL_BUDGET of 10 USD is spent"
    assert len(heard.told) == 1
    tasks.state["spent_usd"] = 1.0  # the operator has raised it
    assert spending.why_not() is None


def test_a_ceiling_of_zero_starts_nothing_and_a_dry_run_is_free(client: GatewayClient) -> None:
    assert Spending(ceiling_usd=0.0, client=client).why_not() is not None
    assert Spending(ceiling_usd=0.0).why_not() is None


def test_a_server_that_does_not_answer_bounds_nothing() -> None:
    with GatewayClient("http://127.0.0.1:1", deadline_sec=1) as client:
        spending = Spending(ceiling_usd=1.0, client=client)
        spending.begin("a", 1, "t")
        assert spending.why_not() is None
        assert spending.document()["server"]["spent_usd_at_end"] is None


def test_the_record_of_the_run_holds_the_servers_own_view(tasks: TaskServer, client: GatewayClient) -> None:
    tasks.state["spent_usd"] = 3.5
    spending = Spending(
        [row("a", 1, 0.5)], ceiling_usd=2.0, client=client, budget_at_start=ServerBudget(10.0, 3.0, 7.0)
    )
    document = json.loads(json.dumps(spending.document()))
    assert document["ceiling_usd"] == 2.0
    assert document["server"] == {"total_budget_usd": 10.0, "spent_usd_at_start": 3.0, "spent_usd_at_end": 3.5}
    assert spending.document(ask_server=False)["server"]["spent_usd_at_end"] is None
