"""What a container left behind for others can be packed, and removed, by an operator without any rights."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from obo_bench.engine.daemon import Engine, connect_engine
from obo_bench.engine.ownership import HandBackFailed, hand_back

IMAGE = "programbench/practice_1776_wordtally.0000001:task_cleanroom_v6"
LABELS = {"obo-bench.run": "ownership", "obo-bench.instance": "x", "obo-bench.nonce": "ownership"}
OPERATOR = 54321
SOCKET = Path("/var/run/docker.sock")

pytestmark = [
    pytest.mark.docker,
    pytest.mark.usefixtures("practice_images"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else"),
    pytest.mark.skipif(not SOCKET.exists(), reason="Docker's socket is elsewhere"),
]


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory of the operator's, outside of root's own temporary directory."""
    made = Path(tempfile.mkdtemp(prefix="obo-bench-ownership-"))
    (made / "workspace").mkdir()
    os.chown(made, OPERATOR, OPERATOR)
    os.chown(made / "workspace", OPERATOR, OPERATOR)
    yield made
    shutil.rmtree(made, ignore_errors=True)


def put(path: Path, mode: int, owner: int) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(path.name)
    path.chmod(mode)
    os.chown(path, owner, owner)


def as_operator(place: Path) -> dict[str, Any]:
    group = SOCKET.stat().st_gid
    child = [sys.executable, "-m", "tests.owner_child", str(place), str(OPERATOR), str(OPERATOR), str(group)]
    done = subprocess.run(child, capture_output=True, timeout=120, check=False, cwd=Path(__file__).parents[1])
    assert done.returncode == 0, done.stderr.decode()
    told = json.loads(done.stdout)
    assert isinstance(told, dict)
    return told


def test_files_of_others_and_closed_ones_are_handed_back(place: Path) -> None:
    workspace = place / "workspace"
    put(workspace / "plain", 0o644, OPERATOR)
    put(workspace / "of_root", 0o600, 0)
    put(workspace / "read_only", 0o444, OPERATOR)
    put(workspace / "nobody_may", 0o000, OPERATOR)
    put(workspace / "closed" / "inner", 0o644, 4242)
    put(workspace / "reference_executable", 0o111, OPERATOR)
    (workspace / "closed").chmod(0o000)
    (workspace / "link").symlink_to("/etc/passwd")
    before = Path("/etc/passwd").stat()
    told = as_operator(place)
    assert "can't pack" in told["before"]
    assert told["reclaimed"] is True
    assert told["after"] == 7
    assert told["again"] is False
    assert told["modes"]["read_only"] == "0o444"
    assert told["modes"]["nobody_may"] == "0o400"
    assert told["modes"]["reference_executable"] == "0o111"
    assert not workspace.exists()
    assert (Path("/etc/passwd").stat().st_uid, Path("/etc/passwd").stat().st_mode) == (before.st_uid, before.st_mode)


def test_a_workspace_that_is_all_the_operators_is_left_alone(place: Path) -> None:
    put(place / "workspace" / "plain", 0o600, OPERATOR)
    put(place / "workspace" / "reference_executable", 0o111, OPERATOR)
    told = as_operator(place)
    assert told["reclaimed"] is False
    assert told["after"] == 2


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = connect_engine()
    yield made
    made.close()


def test_links_change_hands_and_what_they_lead_to_does_not(engine: Engine, place: Path) -> None:
    put(place / "outside", 0o600, 0)
    (place / "workspace" / "link").symlink_to(place / "outside")
    hand_back(engine, IMAGE, place / "workspace", f"{OPERATOR}:{OPERATOR}", LABELS)
    assert (place / "workspace" / "link").lstat().st_uid == OPERATOR
    assert (place / "outside").stat().st_uid == 0
    assert stat.S_IMODE((place / "outside").stat().st_mode) == 0o600


def test_a_failure_is_typed_and_leaves_no_container(engine: Engine, place: Path) -> None:
    with pytest.raises(HandBackFailed, match=r"cannot be handed back: status \d+: .*chown"):
        hand_back(engine, IMAGE, place / "workspace", "no-such-user", LABELS)
    with pytest.raises(HandBackFailed, match="cannot be handed back"):
        hand_back(engine, "obo-bench-test/none:none", place / "workspace", "1:1", LABELS)
    chosen: dict[str, Any] = {"label": "obo-bench.nonce=ownership"}
    assert engine.client.containers.list(all=True, filters=chosen) == []
