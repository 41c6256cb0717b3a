"""An image's workspace is seeded as data: links are not followed, devices not made, and no amount is too much."""

import itertools
import os
import stat
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from obo_bench.core.files import sha256_file
from obo_bench.engine import seed_source
from obo_bench.engine.daemon import Engine, connect_engine
from obo_bench.programbench.packaging.submission import package_workspace
from obo_bench.programbench.solving.workspace import WorkspacePrepareFailed, private_scratch, seed_workspace

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]

IMAGE = "programbench/practice_1776_wordtally.0000001:task_cleanroom_v6"
LABELS = {"obo-bench.run": "hostile", "obo-bench.instance": "x", "obo-bench.nonce": "hostile"}
_numbers = itertools.count()

HOSTILE = r"""
cd /workspace
ln -s / outside; ln -s ../../../../etc/passwd passwd; ln -s /workspace/docs inside
mkfifo fifo; mknod null c 1 3
cp /bin/true setuid; chmod 6755 setuid
mkdir closed; echo x > closed/file; chmod 000 closed/file closed
: > "$(printf 'caf\351')"; : > "$(printf 'a\nb\033[31m')"; : > -rf
mkdir -p sub/.git; echo '[core]' > sub/.git/config
"""


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = connect_engine()
    yield made
    made.close()


@pytest.fixture
def image(engine: Engine) -> Iterator[Callable[[str], str]]:
    """Make an image by running a script as root in the practice image."""
    made: list[str] = []

    def make(script: str) -> str:
        made.append(f"obo-bench-test/hostile:{os.getpid()}-{next(_numbers)}")
        container = engine.client.containers.run(
            IMAGE, entrypoint=["sh", "-ec", script], user="0:0", detach=True, network_mode="none"
        )
        try:
            assert container.wait(timeout=60)["StatusCode"] == 0, container.logs()
            container.commit(*made[-1].split(":"))
        finally:
            container.remove(force=True)
        return made[-1]

    yield make
    for name in made:
        engine.client.images.remove(name, force=True)


def seed(engine: Engine, image: str, place: Path) -> Path:
    place.mkdir()
    with private_scratch(place) as scratch:
        seed_workspace(engine, image, place / "workspace", scratch, LABELS, None)
    return place / "workspace"


def test_what_is_no_file_stays_out_and_links_stay_links(
    engine: Engine, image: Callable[[str], str], tmp_path: Path
) -> None:
    workspace = seed(engine, image(HOSTILE), tmp_path / "place")
    names = {os.fsencode(entry.name) for entry in workspace.iterdir()}
    assert {b"caf\xe9", b"a\nb\x1b[31m", b"-rf", b"setuid", b"closed"} <= names
    assert not {b"fifo", b"null"} & names
    assert (workspace / "outside").is_symlink()
    assert str((workspace / "passwd").readlink()) == "../../../../etc/passwd"
    assert stat.S_IMODE((workspace / "setuid").stat().st_mode) == 0o755
    assert (workspace / "closed" / "file").read_text() == "x\n"
    assert all(entry.lstat().st_uid == os.geteuid() for entry in workspace.rglob("*"))


def test_a_reference_that_is_another_name_of_an_earlier_file_is_found(
    engine: Engine, image: Callable[[str], str], tmp_path: Path
) -> None:
    linked = image("cd /workspace; ln executable aaa; ln executable zzz")
    place = tmp_path / "place"
    place.mkdir()
    with private_scratch(place) as scratch:
        seeded = seed_workspace(engine, linked, place / "workspace", scratch, LABELS, None)
    assert sha256_file(place / "workspace" / "reference_executable") == seeded.reference.sha256
    assert sha256_file(place / "workspace" / "aaa") == seeded.reference.sha256
    assert not (place / "workspace" / "executable").exists()


def test_the_seeded_tree_can_be_packaged_and_its_links_do_not_lead_out(
    engine: Engine, image: Callable[[str], str], tmp_path: Path
) -> None:
    workspace = seed(engine, image(HOSTILE), tmp_path / "place")
    record = package_workspace(workspace, tmp_path / "place")
    left_out = {note.path for note in record.excluded}
    assert {"outside", "passwd"} <= left_out
    assert "inside" not in left_out


def test_a_sparse_file_larger_than_any_workspace_is_a_typed_failure(
    engine: Engine, image: Callable[[str], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seed_source, "LARGEST_WORKSPACE", 50_000_000)
    with pytest.raises(WorkspacePrepareFailed, match="has more than 50000000 bytes"):
        seed(engine, image("truncate -s 300M /workspace/huge"), tmp_path / "place")
    assert not (tmp_path / "place" / "workspace").exists()
    left = subprocess.run(
        ["docker", "ps", "-aq", "--filter", "label=obo-bench.nonce=hostile"], capture_output=True, check=True
    )
    assert left.stdout == b""
