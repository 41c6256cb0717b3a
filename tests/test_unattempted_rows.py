"""The last row of an instance that an invocation did not come to: what was finished before stays in sight."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from obo_bench.core.ledger import Ledger, latest_rows
from obo_bench.core.redact import Redactor
from obo_bench.core.reporter import SilentReporter
from obo_bench.core.row_counts import counts_of
from obo_bench.programbench.context import RunContext
from obo_bench.programbench.rows import append_row
from tests.instance_case import IID, Case, instance_case


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    with instance_case(tmp_path / "run") as made:
        yield made


def context_of(case: Case) -> RunContext:
    root = case.paths.run_root
    session = SimpleNamespace(run_root=root, ledger=Ledger(root, "later", Redactor()), redactor=Redactor())
    return RunContext(
        session=cast("Any", session), options=case.options, engine=cast("Any", None), server=None,
        reporter=SilentReporter(), nonce="n", cpus=1.0, memory_bytes=1 << 30,
    )  # fmt: skip


@pytest.mark.parametrize("status", ["not_attempted", "blocked"])
def test_a_run_that_ends_before_a_finished_instance_does_not_hide_its_archive(case: Case, status: Any) -> None:
    case.done()
    digest = latest_rows(case.paths.run_root / "result_index.jsonl")[IID].submission_sha256
    for _ in range(2):
        append_row(context_of(case), IID, status, "interrupted", attempt=1)
        last = latest_rows(case.paths.run_root / "result_index.jsonl")[IID]
        assert (last.status, last.prediction_written, last.submission_sha256) == (status, True, digest)
    assert case.step()[0] == "skip"


def test_an_archive_that_is_gone_is_not_claimed(case: Case) -> None:
    case.done()
    case.paths.submission.unlink()
    row = append_row(context_of(case), IID, "not_attempted", "interrupted", attempt=1)
    assert (row.prediction_written, row.submission_sha256) == (False, "")


def test_what_was_done_counts_as_completed_where_a_resume_did_not_come_to_it(case: Case) -> None:
    case.done(degraded=True)
    done = append_row(context_of(case), IID, "not_attempted", "interrupted", attempt=1)
    never = done.model_copy(update={"instance_id": "b", "submission_sha256": ""})
    assert counts_of([done, never]) == {
        "completed": 1, "failed": 0, "skipped": 0, "not_attempted": 2, "degraded": 0,
    }  # fmt: skip
