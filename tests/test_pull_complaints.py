"""Each failed try to pull an image says at once why it failed."""

import pytest

from obo_bench.core.reporter import Reporter
from obo_bench.engine import images

CAUSE = "dial tcp: lookup registry-1.docker.io: no such host"


class Told(Reporter):
    """Keeps the events."""

    def __init__(self) -> None:
        self.events: list[str] = []

    def event(self, text: str, subject: str = "") -> None:
        del subject
        self.events.append(text)


def test_the_first_failed_try_names_the_cause_on_one_short_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "_pull_once", lambda *_: f"500 Server Error {'x' * 1000}\n{CAUSE}")
    told = Told()
    with pytest.raises(images.PullAbandoned):
        images._pull(None, "a/b:c", told, "a", lambda _: None, lambda: True)  # type: ignore[arg-type]  # never asked
    [failed] = [event for event in told.events if "again in" in event]
    assert CAUSE in failed
    assert "\n" not in failed
    assert len(failed) < 400
