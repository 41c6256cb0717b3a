"""An engine that runs but may not be used: the remedy is a group, not a start."""

import pytest

from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.reporter import SilentReporter
from obo_bench.engine.daemon import remedy_of
from obo_bench.practice import engine_setup

DENIED = (
    "('Connection aborted.', PermissionError(13, 'Permission denied'))",
    "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock",
)
"""As docker's library and its command say it."""


@pytest.mark.parametrize("complaint", DENIED)
def test_a_socket_that_may_not_be_used_asks_for_the_group(complaint: str) -> None:
    assert "docker group" in str(remedy_of(complaint))


def test_other_complaints_keep_the_general_remedy() -> None:
    assert remedy_of("FileNotFoundError(2, 'No such file or directory')") is None


def test_practice_does_not_offer_to_install_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_setup, "engine_complaint", lambda: DENIED[1])
    with pytest.raises(PreflightRefused) as refused:
        engine_setup.ensure_engine(False, SilentReporter())
    assert "docker group" in refused.value.remedy
    assert "--setup" not in refused.value.remedy
