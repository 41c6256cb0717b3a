"""What `practice` hands on is its child's status, and the child has told why."""

import pytest

from obo_bench.__main__ import main
from obo_bench.practice import main_job


@pytest.mark.parametrize("status", [0, 1, 5, 70, 130])
def test_a_childs_status_is_handed_on_without_a_word(
    status: int, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(main_job, "practise", lambda *_: status)
    assert main(["practice", "--json"]) == status
    assert capfd.readouterr() == ("", "")
