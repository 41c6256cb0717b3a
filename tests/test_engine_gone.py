"""An engine that is gone when a live task is picked up again: the task is not given up, and nothing new begins."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from obo_bench.core.ledger import Ledger
from obo_bench.core.redact import Redactor
from obo_bench.core.reporter import SilentReporter
from obo_bench.engine import trouble
from obo_bench.programbench.context import RunContext
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.solving.instance import run_instance
from obo_bench.programbench.solving.schedule import Schedule
from tests.instance_case import IID, Case, instance_case

INSTANCE = Instance(IID, "c", "easy", "a/b", "0" * 40, "image", ())


class Gone:
    """A daemon whose socket nobody listens on, as the SDK shows it."""

    rootless = False

    def __getattr__(self, name: str) -> Any:
        return self

    def __call__(self, *_: Any, **__: Any) -> Any:
        from requests import ConnectionError as NoConnection

        raise NoConnection("Connection aborted: FileNotFoundError")


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    with instance_case(tmp_path / "run") as made:
        yield made


@pytest.fixture
def context(case: Case, monkeypatch: pytest.MonkeyPatch) -> RunContext:
    monkeypatch.setattr(trouble, "PATIENCE_SEC", 0.0)
    root = case.paths.run_root
    session = SimpleNamespace(run_root=root, ledger=Ledger(root, "test", Redactor()), redactor=Redactor())
    return RunContext(
        session=cast("Any", session),
        options=case.options,
        engine=cast("Any", Gone()),
        server=cast("Any", SimpleNamespace(client=case.client, confirm=lambda _: True)),
        reporter=SilentReporter(),
        nonce="n",
        cpus=1.0,
        memory_bytes=1 << 30,
    )


def test_a_live_task_is_neither_cancelled_nor_forgotten(case: Case, context: RunContext) -> None:
    case.task()
    case.server.put("t-1", "running")
    row = run_instance(context, INSTANCE)
    assert (row.status, row.reason_code) == ("failed", "client_poll_error_reattachable")
    assert row.details["engine"] == "engine_unreachable"
    assert case.server.cancelled == []
    assert case.step() == ("attach", 1)


def test_a_new_attempt_is_blocked_before_anything_is_submitted(case: Case, context: RunContext) -> None:
    row = run_instance(context, INSTANCE)
    assert (row.status, row.reason_code) == ("blocked", "engine_unreachable")
    assert case.step() == ("solve", 2)


@pytest.mark.parametrize("with_task", [True, False])
def test_one_is_enough_to_stop_the_admission(case: Case, context: RunContext, with_task: bool) -> None:
    if with_task:
        case.task()
        case.server.put("t-1", "running")
    schedule = Schedule()
    schedule.work(context, INSTANCE, run_instance)
    assert schedule.stopped == "stopped_systemic"
    assert context.closed.is_set()
    assert not context.stop.is_set()
