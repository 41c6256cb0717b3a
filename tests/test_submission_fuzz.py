"""Whatever the tree: unpacked in a container it is the tree, less what is listed; the reference never comes with it.

OBO_BENCH_TEST_FUZZ_EXAMPLES sets a larger number of trees, drawn at random; give pytest `--timeout 0` with it.
"""

import gzip
import hashlib
import json
import os
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, event, given, settings

from obo_bench.programbench.packaging.collection_rules import REFUSED_WHEN_STRICT, Exclusion
from obo_bench.programbench.packaging.submission import SubmissionRecord, package_workspace
from tests.random_trees import PROTECTED, REFERENCE, Node, grow, trees
from tests.submission_trees import idle_container
from tests.unpack_child import describe

EXAMPLES = int(os.environ.get("OBO_BENCH_TEST_FUZZ_EXAMPLES", "100"))
CHILD = Path(__file__).with_name("unpack_child.py")
Described = dict[str, list[Any]]
Unpack = Callable[[bytes], Described]
DIGEST = hashlib.sha256(REFERENCE).hexdigest()


@pytest.fixture(scope="module")
def unpack(practice_images: None) -> Iterator[Unpack]:
    """Unpack an archive in a container, as root, and describe what is there then."""
    with idle_container() as container:
        subprocess.run(["docker", "cp", CHILD, f"{container}:/child.py"], check=True, capture_output=True, timeout=60)
        command = ["docker", "exec", "-i", container, "python3", "/child.py"]
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as child:
            assert child.stdin is not None
            assert child.stdout is not None
            requests, answers = child.stdin, child.stdout

            def ask(archive: bytes) -> Described:
                requests.write(len(archive).to_bytes(8, "big") + archive)
                requests.flush()
                answer = json.loads(answers.readline())
                assert answer["status"] == 0, answer["said"]
                tree = answer["tree"]
                assert isinstance(tree, dict)
                return tree

            yield ask
            requests.close()


@pytest.mark.docker
@settings(
    max_examples=EXAMPLES,
    derandomize="OBO_BENCH_TEST_FUZZ_EXAMPLES" not in os.environ,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(nodes=trees())
def test_what_is_unpacked_is_the_tree_less_the_listed_exclusions(unpack: Unpack, nodes: list[Node]) -> None:
    with tempfile.TemporaryDirectory() as name:
        workspace, destination = Path(name, "workspace"), Path(name, "instance")
        workspace.mkdir()
        destination.mkdir()
        (workspace / "reference_executable").write_bytes(REFERENCE)
        grow(workspace, nodes)
        before = describe(os.fsencode(workspace))
        record = package_workspace(workspace, destination, protected_paths=PROTECTED)
        assert describe(os.fsencode(workspace)) == before
        check(before, unpack((destination / "submission.tar.gz").read_bytes()), record)
        check_copies(before, record, workspace)


def check(before: Described, unpacked: Described, record: SubmissionRecord) -> None:
    """Compare the two trees, and hold every exclusion against the entry that it names."""
    kept = what_is_kept(before, record)
    expected = {path: [*entry[:3], [0, 0], [name for name in entry[4] if name in kept]] for path, entry in kept.items()}
    assert unpacked == expected
    assert record.member_count == len(kept) + 1
    entries = {shown(path): entry for path, entry in before.items()}
    for note in record.excluded:
        event(str(note.reason))
        assert is_justified(note.path, entries[note.path], Exclusion(note.reason)), note


def check_copies(before: Described, record: SubmissionRecord, workspace: Path) -> None:
    """No member is the reference, and each that has its bytes, or has them compressed, is flagged."""
    flagged = {note.path for note in record.flagged if note.reason in REFUSED_WHEN_STRICT}
    for path, entry in what_is_kept(before, record).items():
        if stat.S_ISREG(entry[0]):
            content = (workspace / os.fsdecode(bytes.fromhex(path))).read_bytes()
            assert content != REFERENCE
            if REFERENCE in content or content == gzip.compress(REFERENCE, mtime=0):
                event("a close copy")
                assert flagged & set(map(shown, entry[4]))


def what_is_kept(before: Described, record: SubmissionRecord) -> Described:
    gone = {note.path for note in record.excluded}
    return {path: entry for path, entry in before.items() if not gone & set(lineage(shown(path)))}


def lineage(path: str) -> Iterator[str]:
    """Yield the path and all directories that hold it."""
    while path:
        yield path
        path = path.rpartition("/")[0]


def shown(path: str) -> str:
    """Return a path as submission.json shows it."""
    return bytes.fromhex(path).decode("utf-8", "backslashreplace")


def is_justified(path: str, entry: list[Any], reason: Exclusion) -> bool:
    """Tell by what the entry is, and by rules written down once more, whether it had to be left out."""
    name, is_directory = path.rpartition("/")[2], stat.S_ISDIR(entry[0])
    holds = {
        Exclusion.GIT: name == ".git",
        Exclusion.BUILT_PROGRAM: path == "executable",
        Exclusion.REFERENCE: path == "reference_executable",
        Exclusion.PROTECTED: path == "secret",
        Exclusion.SERVER_STATE: is_directory and name == ".ouroboros",
        Exclusion.TESTS_DIRECTORY: path == "eval",
        Exclusion.PYTEST_SETUP: path == "conftest.py",
        Exclusion.CACHE: is_directory and name == "__pycache__",
        Exclusion.SPECIAL_FILE: stat.S_ISFIFO(entry[0]) or stat.S_ISSOCK(entry[0]),
        Exclusion.LINK_LEAVES_TREE: stat.S_ISLNK(entry[0]),
        Exclusion.REFERENCE_COPY: entry[2] == DIGEST or b"secret".hex() in entry[4],
    }
    return holds[reason]
