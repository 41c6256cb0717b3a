"""SIGKILL at every step in the life of one instance, and what a restart makes of it. `python -m tests.soak kills`."""

from collections.abc import Iterator

import pytest

from tests.soak import kills
from tests.soak.world import World, world

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]

SERIES = 10


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with world(tmp_path_factory.mktemp("kills"), 1, *kills.SERVER, series=SERIES) as made:
        yield made


@pytest.mark.parametrize("step", kills.STEPS, ids=lambda step: step.name)
def test_one_task_and_one_submission_after_a_kill(step: kills.Step, place: World) -> None:
    killed = kills.kill_at(place, step)
    assert killed.tasks == 1
    assert (killed.restart == "left it alone: it was done") == step.done
