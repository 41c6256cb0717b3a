"""`run --strict` against a solve that took the reference away, at the level where nobody on the host can read it."""

import gzip
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from obo_bench.practice.images import image_reference
from tests.test_run import IID, Bench, assert_solved, docker, until

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]


@pytest.fixture
def bench(checkout: Path, tmp_path: Path, practice_env: dict[str, str]) -> Iterator[Bench]:
    made = Bench(checkout, tmp_path, dict(practice_env))
    yield made
    made.sweep()


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The reference as the image has it; the run gives it to nobody."""
    place = tmp_path_factory.mktemp("reference") / "executable"
    container = docker("create", image_reference(IID), "true")
    try:
        docker("cp", f"{container}:/workspace/executable", str(place))
    finally:
        docker("rm", "-f", container)
    place.chmod(0o600)
    return place.read_bytes()


def test_a_suspect_submission_is_refused_and_a_resume_without_strict_packages_it(
    bench: Bench, serve: Callable[..., str], reference: bytes
) -> None:
    url = serve(solve_delay_sec=3.0)
    process = bench.start(url, "--strict")
    until(lambda: bench.checkpoint().get("status") == "running")
    (bench.instance / "workspace" / "exact").write_bytes(reference)
    (bench.instance / "workspace" / "data.gz").write_bytes(gzip.compress(reference))
    (bench.instance / "workspace" / "close").write_bytes(reference + b"\n")
    process.communicate(timeout=90)
    assert process.returncode == 1
    row = bench.rows()[-1]
    assert (row["status"], row["reason_code"]) == ("failed", "submission_failed")
    assert row["details"]["protection"] == "os"
    refused = [
        {"path": "close", "reason": "resembles_reference"},
        {"path": "data.gz", "reason": "holds_encoded_reference"},
    ]
    assert row["details"]["refused_files"] == refused
    assert "--strict refuses 'close' (resembles_reference), 'data.gz'" in row["error"]
    assert not list(bench.instance.glob("*submission*"))
    assert (bench.instance / "workspace" / "close").exists()

    done = bench.run(url)
    assert_solved(bench, done)
    assert len(bench.tasks()) == 1
    assert "2 files may hold the reference" in done.stderr
    flagged = bench.rows()[-1]["details"]["flagged"]
    assert [note for note in flagged if note["reason"] != "prebuilt_binary"] == refused
