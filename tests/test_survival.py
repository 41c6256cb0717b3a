"""Small forms of the long proofs: kills, interrupts, faults, several processes. `python -m tests.soak --help`."""

from pathlib import Path

import pytest

from tests.soak import interrupts, many, random_kills, together
from tests.soak.invariants import Broken, check_end
from tests.soak.world import Run, world

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]


def silent(_: str) -> None:
    pass


def test_random_kills_of_the_run_and_its_server_lose_nothing(tmp_path: Path) -> None:
    with world(tmp_path, 3, *random_kills.SERVER, series=11) as place:
        tally = random_kills.random_kills(place, 4, 7, 0.5, silent)
    assert tally.kills == 4


def test_interrupts_at_random_moments_leave_one_submission_each(tmp_path: Path) -> None:
    with world(tmp_path, 3, *interrupts.SERVER, series=12) as place:
        assert sum(interrupts.interrupts(place, 3, 1, silent).values()) == 3


def test_random_faults_end_as_planned(tmp_path: Path) -> None:
    with world(tmp_path, 8, *many.server_options(4, 0.1, 3), series=13) as place:
        ended = many.many(place, 4, 0.1, 3, silent)
    assert ended[-1].peak_mib < many.MOST_MIB


def test_two_runs_at_once_do_not_touch_each_other_and_one_run_is_one_process(tmp_path: Path) -> None:
    with world(tmp_path, 2, *random_kills.SERVER, series=14) as place:
        together.two_runs(place)
        together.one_run_twice(place)
        # The proofs are worth something only if they can fail.
        run = Run(place, "one")
        ledger = run.root / "result_index.jsonl"
        ledger.write_bytes(b"".join(ledger.read_bytes().splitlines(keepends=True)[:-1]))
        with pytest.raises(Broken):
            check_end(run)
