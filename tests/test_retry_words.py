"""The words of --retry: what nothing has ended with is told, and what can only be a slip is refused before it costs."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.solving.retry_words import check_retry_words
from tests.instance_case import IID, Case, instance_case


@pytest.fixture
def case(tmp_path: Path) -> Iterator[Case]:
    with instance_case(tmp_path / "run") as made:
        yield made


def check(case: Case, *words: str) -> list[str]:
    return check_retry_words(case.paths.run_root, [IID, "never__begun.0000002"], words)


def test_what_nothing_has_ended_with_is_told(case: Case) -> None:
    case.row("failed", "round_limit", infrastructure=False)
    assert check(case, "round_limit", "code_of_tomorrow", "degraded") == [
        f"--retry {word}: no instance of this run has ended with it; they ended with round_limit"
        for word in ("code_of_tomorrow", "degraded")
    ]


@pytest.mark.parametrize(
    ("word", "meant"),
    [("round_limt", "round_limit"), ("degradde", "degraded"), ("canceled_by_operator", "cancelled_by_")],
)
def test_a_slip_is_refused_with_what_is_meant(case: Case, word: str, meant: str) -> None:
    case.row("failed", "round_limit", infrastructure=False)
    with pytest.raises(
        PreflightRefused, match=rf"--retry {word} in run 'run': .*'{meant}.*is nearly the same"
    ) as raised:
        check(case, "round_limit", word)
    assert raised.value.reason == "nothing_to_retry"


def test_in_a_run_where_nothing_has_ended_it_is_refused(case: Case) -> None:
    case.row("not_attempted", "stopped_budget")
    assert check(case) == []
    with pytest.raises(PreflightRefused, match=r"--retry round_limit in run 'run': no instance .* ended yet") as raised:
        check(case, "round_limit")
    assert raised.value.reason == "nothing_to_retry"
