"""What a worker does before it touches anything of an earlier task: it makes sure whom it speaks to."""

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from obo_bench.core.ledger import Ledger
from obo_bench.core.redact import Redactor
from obo_bench.core.refusals import PreflightRefused, RuntimeAttestationRefused
from obo_bench.core.reporter import SilentReporter
from obo_bench.gateway.admitted import AdmittedServer
from obo_bench.gateway.checkpoint import CheckpointFile, TaskCheckpoint
from obo_bench.gateway.client import GatewayClient
from obo_bench.gateway.identity import read_identity
from obo_bench.programbench.context import RunContext
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.options import RunOptions
from obo_bench.programbench.solving.attempt import Attempt
from obo_bench.programbench.solving.instance import _rejected, run_instance
from obo_bench.programbench.solving.schedule import Schedule
from obo_bench.programbench.solving.scheduler import confirm_at_end
from tests.place import Place

INSTANCE = Instance("a__b.0000001", "c", "easy", "a/b", "0" * 40, "image", ())


@pytest.fixture
def place(checkout: Path, tmp_path: Path) -> Iterator[Place]:
    made = Place(checkout, tmp_path / "data")
    made.start()
    yield made
    made.stop()


@pytest.fixture
def context(place: Place, checkout: Path, tmp_path: Path) -> Iterator[RunContext]:
    """A run on an engine that nobody may touch; its one instance has submitted a task."""
    root = tmp_path / "run"
    root.mkdir()
    session = SimpleNamespace(run_root=root, ledger=Ledger(root, "test", Redactor()), redactor=Redactor())
    reporter = SilentReporter()
    with GatewayClient(place.url, deadline_sec=5) as client:
        made = RunContext(
            session=cast("Any", session),
            options=RunOptions(repo_dir=checkout, run_root=root, settings_path=Path("none")),
            engine=cast("Any", None),
            server=AdmittedServer(client, read_identity(client), reporter, lambda _: None, outage_sec=0.5),
            reporter=reporter,
            nonce="n",
            cpus=1.0,
            memory_bytes=1 << 30,
        )
        made.paths(INSTANCE.instance_id).directory.mkdir()
        CheckpointFile(made.paths(INSTANCE.instance_id).checkpoint).write(TaskCheckpoint(task_id="obo-n-1"))
        yield made


def test_a_live_task_is_left_alone_when_another_server_says_that_it_is_unknown(
    context: RunContext, place: Place
) -> None:
    place.replace(version="6.80.0")
    with pytest.raises(RuntimeAttestationRefused) as raised:
        run_instance(context, INSTANCE)
    assert raised.value.reason == "runtime_changed"


def test_a_server_that_is_away_is_waited_for_before_anything_is_decided(context: RunContext, place: Place) -> None:
    place.stop()
    with pytest.raises(RuntimeAttestationRefused) as raised:
        run_instance(context, INSTANCE)
    assert raised.value.reason == "runtime_unreachable"


def test_a_run_that_ends_meanwhile_leaves_the_instance_unattempted(context: RunContext, place: Place) -> None:
    place.stop()
    context.halt("stopped_systemic")
    context.halt("interrupted")
    row = run_instance(context, INSTANCE)
    assert (row.status, row.reason_code) == ("not_attempted", "stopped_systemic")


@pytest.mark.parametrize("relied_upon", [True, False])
def test_only_a_server_that_got_something_is_asked_at_the_end(
    context: RunContext, place: Place, relied_upon: bool
) -> None:
    place.replace(version="6.80.0")
    context.admitted.relied_upon = relied_upon
    schedule = Schedule()
    confirm_at_end(context, schedule)
    assert schedule.stopped == ("stopped_provenance" if relied_upon else "")
    assert (schedule.refusal is not None) is relied_upon


def test_the_first_provenance_refusal_is_the_one_that_counts() -> None:
    schedule = Schedule()
    for text in ("first", "second"):
        schedule.stop_for(RuntimeAttestationRefused("runtime_changed", text))
    assert schedule.detail == "first"


SAID = {
    "workspace_root is not a directory: /w": True,
    "workspace_root must be a git worktree root": True,
    "workspace_root must be the git worktree root: /": True,
    "workspace_root must not overlap the Ouroboros data drive": False,
    "description is required": False,
}


@pytest.mark.parametrize(("said", "unseen"), SAID.items())
def test_which_refusals_mean_that_no_workspace_is_seen(context: RunContext, said: str, unseen: bool) -> None:
    attempt = Attempt(context, INSTANCE, 1)
    (context.paths(INSTANCE.instance_id).workspace / ".git").mkdir(parents=True)
    if unseen:
        with pytest.raises(PreflightRefused, match="does not see the workspace") as raised:
            _rejected(attempt, said)
        assert raised.value.reason == context.halted_by == "workspace_not_visible"
        context.halted_by, context.stop = "", threading.Event()
    else:
        assert _rejected(attempt, said).reason_code == "submission_rejected"
    # Once a task was taken, one that is not is the trouble of its instance alone.
    context.workspaces_seen = True
    later = Attempt(context, INSTANCE, 1)
    assert _rejected(later, said).reason_code == ("workspace_not_visible" if unseen else "submission_rejected")
    assert not context.stop.is_set()


def test_a_workspace_that_is_really_none_is_no_verdict_on_the_server(context: RunContext) -> None:
    row = _rejected(Attempt(context, INSTANCE, 1), "workspace_root is not a directory: /w")
    assert row.reason_code == "submission_rejected"
