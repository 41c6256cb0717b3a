"""The accounts of a run's instances: attempts and money that a final success must not hide."""

import json
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.files import write_json
from obo_bench.core.ledger import Ledger, Row
from obo_bench.core.redact import Redactor
from obo_bench.gateway.checkpoint import TaskCheckpoint
from obo_bench.programbench.evaluation.accounts import read_accounts
from obo_bench.programbench.evaluation.instance_account import InstanceAccount

IID = "a__b.0000001"
SHA = "ab" * 32


class Run:
    """A run root that is written as `run` writes it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.invocations = 0
        (root / IID).mkdir()

    def invocation(self, **harness: Any) -> str:
        """Admit another invocation: the manifest of the one before is set aside."""
        self.invocations += 1
        name, current = f"inv-{self.invocations}", self.root / "run_manifest.json"
        if current.exists():
            earlier = json.loads(current.read_text(encoding="utf-8"))
            (self.root / "manifests").mkdir(exist_ok=True)
            current.rename(self.root / "manifests" / f"{earlier['invocation']}.json")
        outcome = harness.pop("outcome", "completed")
        manifest = {"invocation": name, "created_at_unix": float(self.invocations), "harness": harness}
        write_json(current, manifest | {"extra": {"outcome": outcome}})
        return name

    def row(self, status: str, reason: str, attempt: int = 1, *, usd: float | None = 1.0, **more: Any) -> None:
        details = {"infrastructure": more.pop("infrastructure", False), "degraded": more.pop("degraded", False)}
        if more.pop("task", True):
            details["task_id"] = f"obo-n-b-{attempt}"
        cost = {} if usd is None else {"usd": usd, "final": True, "lower_bound": False}
        fields = {"benchmark": "programbench", "instance_id": IID, "status": status, "reason_code": reason}
        row = Row.model_validate(fields | {"attempt": attempt, "details": details, "cost": cost} | more)
        Ledger(self.root, f"inv-{self.invocations}", Redactor()).append(row)

    def done(self, attempt: int, **more: Any) -> None:
        self.row("completed", "submission_prepared", attempt, submission_sha256=more.pop("sha", SHA), **more)

    def checkpoint(self, place: str, attempt: int) -> None:
        task = TaskCheckpoint(task_id=f"obo-n-b-{attempt}", attempt=attempt)
        path = self.root / IID / place / "ouroboros_task_checkpoint.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, task.document())

    def account(self) -> InstanceAccount:
        accounts = read_accounts(self.root, [IID])
        assert accounts is not None
        return accounts[IID]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    run = Run(tmp_path)
    run.invocation()
    return run


def repeats(account: InstanceAccount) -> tuple[int, int, int]:
    return account.repeats_after_infrastructure, account.repeats_asked_for, account.repeats_undeclared


def test_one_clean_attempt(run: Run) -> None:
    run.done(1)
    account = run.account()
    assert (account.status, account.reason_code, account.degraded) == ("completed", "submission_prepared", False)
    assert (account.solve_attempts, account.known_usd, account.unknown_costs, account.lower_bound) == (1, 1.0, 0, False)
    assert repeats(account) == (0, 0, 0)


def test_an_attempt_after_an_infrastructure_failure_is_counted_and_paid(run: Run) -> None:
    run.row("failed", "executor_lost", 1, usd=None, infrastructure=True)
    run.done(2)
    account = run.account()
    assert (account.solve_attempts, account.known_usd, account.unknown_costs, account.lower_bound) == (2, 1.0, 1, True)
    assert repeats(account) == (1, 0, 0)


@pytest.mark.parametrize("how", [{"redo_existing": True}, {"retry": ["task_not_completed"]}])
def test_another_attempt_that_was_asked_for_is_declared(run: Run, how: dict[str, Any]) -> None:
    run.row("failed", "task_not_completed", 1)
    run.invocation(**how)
    run.done(2)
    assert repeats(run.account()) == (0, 1, 0)


@pytest.mark.parametrize(
    "how", [{}, {"redo_existing": False, "retry": []}, {"redo_existing": True, "outcome": "refused"}]
)
def test_another_attempt_that_nobody_asked_for_is_undeclared(run: Run, how: dict[str, Any]) -> None:
    """As when an operator deletes a finished submission and resumes."""
    run.done(1)
    run.invocation(**how)
    run.invocation()
    run.done(2, sha="cd" * 32)
    account = run.account()
    assert repeats(account) == (0, 0, 1)
    assert account.known_usd == 2.0


def test_a_request_of_a_later_invocation_does_not_declare_an_earlier_attempt(run: Run) -> None:
    run.done(1)
    run.invocation()
    run.done(2)
    run.invocation(redo_existing=True)
    run.row("skipped", "skipped_existing_submission", 2, submission_sha256=SHA, task=False)
    assert repeats(run.account()) == (0, 0, 1)


def test_an_attempt_that_a_killed_invocation_was_asked_for_is_declared(run: Run) -> None:
    run.done(1)
    run.invocation(redo_existing=True)
    run.invocation()
    run.done(2)
    assert repeats(run.account()) == (0, 1, 0)


def test_finished_work_that_was_given_up_is_no_infrastructure_failure(run: Run) -> None:
    run.invocation(redo_existing=True)
    run.row("failed", "superseded", 1, infrastructure=True)
    run.done(2)
    assert repeats(run.account()) == (0, 1, 0)


def test_an_attempt_of_which_only_a_checkpoint_is_left_counts_with_an_unknown_cost(run: Run) -> None:
    run.checkpoint("attempts/01", 1)
    run.checkpoint(".", 2)
    run.done(2)
    account = run.account()
    assert (account.solve_attempts, account.unknown_costs, account.lower_bound) == (2, 1, True)
    assert repeats(account) == (0, 0, 1)


def test_attempts_that_no_task_was_made_for_do_not_count(run: Run) -> None:
    run.row("blocked", "image_pull_failed", 1, usd=None, task=False, infrastructure=True)
    run.row("completed", "dry_run", 1, usd=None, task=False)
    run.row("not_attempted", "stopped_budget", 2, usd=None, task=False)
    account = run.account()
    assert (account.solve_attempts, account.known_usd, account.unknown_costs) == (0, 0.0, 0)
    assert (account.status, account.reason_code, account.infrastructure) == ("not_attempted", "stopped_budget", False)


def test_rows_that_repeat_an_ending_are_no_attempts(run: Run) -> None:
    run.row("failed", "task_not_completed", 1)
    for _ in range(3):
        run.invocation()
        run.row("failed", "task_not_completed", 1, task=False)
    account = run.account()
    assert (account.solve_attempts, account.known_usd) == (1, 1.0)


def test_a_degraded_solve_stays_degraded_in_an_invocation_that_skips_it_or_does_not_come_to_it(run: Run) -> None:
    run.done(1, degraded=True)
    run.row("skipped", "skipped_existing_submission", 1, task=False, degraded=True, submission_sha256=SHA)
    assert run.account().degraded
    run.row("not_attempted", "interrupted", 1, usd=None, task=False, submission_sha256=SHA)
    assert run.account().degraded
    run.done(2)
    assert not run.account().degraded, "the same bytes from a clean solve are clean"


def test_an_instance_that_the_ledger_does_not_know_was_never_come_to(run: Run) -> None:
    run.done(1)
    accounts = read_accounts(run.root, [IID, "never__seen.0000009"]) or {}
    absent = accounts["never__seen.0000009"]
    assert (absent.status, absent.reason_code, absent.solve_attempts) == ("not_attempted", "no_ledger_row", 0)


def test_a_directory_without_a_ledger_has_no_accounts(tmp_path: Path) -> None:
    assert read_accounts(tmp_path, [IID]) is None


def test_a_submission_that_was_solved_outside_of_the_ledger_was_not_free(run: Run) -> None:
    run.done(1, usd=None, task=False)
    account = run.account()
    assert (account.solve_attempts, account.known_usd, account.unknown_costs, account.lower_bound) == (0, 0.0, 1, True)
