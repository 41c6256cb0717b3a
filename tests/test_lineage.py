"""The line of descent: proven by history, never by equality, and never by what somebody put beside the history."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

import obo_bench
from obo_bench.core.admission import SeedDemands
from obo_bench.core.seed.gate import SeedReport, examine_seed
from obo_bench.core.seed.lineage import STAMP_NAME, commit_lineage_ok
from tests.conftest import git
from tests.seeds.checkouts import commit, make_repository


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "seed")


def report(repo: Path, **demands: object) -> SeedReport:
    return examine_seed(repo, SeedDemands(**demands), timeout=5.0)  # type: ignore[arg-type]


def reason(repo: Path, **demands: object) -> str | None:
    found = report(repo, **demands)
    if found.objection is not None and found.lineage is not None:
        assert found.lineage.reason in {found.objection.reason, None}
    return found.objection.reason if found.objection else None


def grown(repo: Path, steps: int = 2) -> str:
    """Add commits; returns the one that was the last before."""
    seed = git(repo, "rev-parse", "HEAD")
    for _ in range(steps):
        commit(repo)
    return seed


def stranger(repo: Path) -> str:
    """Add a commit that is nobody's ancestor."""
    return git(repo, "commit-tree", "-m", "Stranger", "HEAD^{tree}")


def stamp(repo: Path, text: str) -> None:
    (repo / ".git" / STAMP_NAME).write_text(text)


def test_nobody_asks(repo: Path) -> None:
    assert report(repo).lineage is None


@pytest.mark.parametrize("write", [str, str.upper, lambda seed: seed[:9]])
def test_a_descendant_and_the_commit_itself(repo: Path, write: Callable[[str], str]) -> None:
    seed = grown(repo)
    for named in (seed, git(repo, "rev-parse", "HEAD")):
        found = report(repo, seed_commit=write(named).lower())
        assert found.objection is None
        assert found.lineage is not None
        assert (found.lineage.ok, found.lineage.head) == (True, git(repo, "rev-parse", "HEAD"))
        assert commit_lineage_ok(repo, write(named))


def test_a_merged_commit_is_an_ancestor(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "side")
    side = commit(repo)
    git(repo, "checkout", "-q", "main")
    commit(repo)
    git(repo, "merge", "-q", "--no-ff", "-m", "Merge", "side")
    assert reason(repo, seed_commit=side) is None


def test_a_commit_of_another_line(repo: Path) -> None:
    other = stranger(repo)
    assert reason(repo, seed_commit=other) == "lineage_broken"
    descendant = grown(repo, 1)
    git(repo, "reset", "-q", "--hard", descendant)
    later = commit(repo)
    git(repo, "reset", "-q", "--hard", descendant)
    assert reason(repo, seed_commit=later) == "lineage_broken"


def test_a_commit_that_is_nowhere(repo: Path) -> None:
    assert reason(repo, seed_commit="deadbeef" * 5) == "lineage_unknown"
    assert reason(repo, seed_commit="deadbeef") == "lineage_unknown"


def test_the_name_of_a_tree_or_of_a_tag_is_not_the_name_of_a_commit(repo: Path) -> None:
    git(repo, "tag", "-a", "-m", "Release", "v1")
    for name in ("HEAD^{tree}", "v1"):
        assert reason(repo, seed_commit=git(repo, "rev-parse", name)) == "lineage_unknown"


def test_a_branch_that_is_called_like_a_commit(repo: Path) -> None:
    other = stranger(repo)
    for name in (other[:8], "deadbeef"):
        git(repo, "branch", name)
        assert reason(repo, seed_commit=name) == "lineage_unknown"
    git(repo, "branch", other)
    assert reason(repo, seed_commit=other) == "lineage_broken"


def test_a_shallow_clone_that_was_cut_too_early(repo: Path) -> None:
    seed = grown(repo, 4)
    git(repo, "clone", "-q", "--depth=2", f"file://{repo}", "../shallow")
    shallow = repo.parent / "shallow"
    assert reason(shallow) is None
    assert reason(shallow, seed_commit=seed) == "lineage_unknown"
    assert reason(shallow, seed_commit=git(repo, "rev-parse", "HEAD~1")) is None
    other = stranger(shallow)
    assert reason(shallow, seed_commit=other) == "seed_shallow"
    git(shallow, "fetch", "-q", "--unshallow")
    assert reason(shallow, seed_commit=seed) is None
    assert reason(shallow, seed_commit=other) == "lineage_broken"


def grafts(repo: Path, head: str, other: str) -> None:
    (repo / ".git/info/grafts").write_text(f"{head} {other}\n")


def replacement(repo: Path, head: str, other: str) -> None:
    git(repo, "replace", "--graft", head, other)


def forged_commit_graph(repo: Path, head: str, other: str) -> None:
    """Change a parent in git's cache of the history (gitformat-commit-graph(5): rows of 36 bytes by name)."""
    git(repo, "commit-graph", "write", "--reachable")
    file = repo / ".git/objects/info/commit-graph"
    names = sorted(git(repo, "rev-list", "--all").split())
    data = bytearray(file.read_bytes())
    rows = data.find(bytes.fromhex(git(repo, "rev-parse", f"{names[0]}^{{tree}}")))
    parent = rows + 36 * names.index(head) + 20
    data[parent : parent + 4] = names.index(other).to_bytes(4, "big")
    file.chmod(0o644)
    file.write_bytes(data)


@pytest.mark.parametrize("forge", [grafts, replacement, forged_commit_graph])
def test_what_lies_beside_the_history_proves_nothing(repo: Path, forge: Callable[[Path, str, str], None]) -> None:
    other = stranger(repo)
    git(repo, "branch", "other", other)
    middle, head = commit(repo), commit(repo)
    forge(repo, middle, other)
    git(repo, "merge-base", "--is-ancestor", other, head)  # git itself believes it
    assert reason(repo, seed_commit=other) == "lineage_broken"


def test_a_promise_of_objects_is_not_fetched(repo: Path) -> None:
    seed = grown(repo)
    git(repo, "config", "uploadpack.allowFilter", "true")
    git(repo, "clone", "-q", "--filter=tree:0", "--no-checkout", f"file://{repo}", "../partial")
    partial = repo.parent / "partial"
    git(partial, "config", "protocol.file.allow", "always")
    missing = commit(repo)
    assert reason(partial, seed_commit=missing, allow_dirty=True) == "lineage_unknown"
    assert reason(partial, seed_commit=seed, allow_dirty=True) is None


def test_a_stamp_that_holds(repo: Path) -> None:
    seed = grown(repo)
    stamp(repo, f"{seed.upper()}\n")
    assert reason(repo, require_stamp=True) is None
    assert reason(repo, require_stamp=True, seed_commit=seed[:10]) is None
    found = report(repo)
    assert found.lineage is not None
    assert (found.lineage.stamp, found.lineage.ok) == (seed, None)


def test_a_worktree_has_the_stamp_of_its_repository_or_its_own(repo: Path) -> None:
    seed = grown(repo)
    stamp(repo, seed)
    git(repo, "worktree", "add", "-q", "--detach", "../tree")
    tree = repo.parent / "tree"
    assert reason(tree, require_stamp=True) is None
    (repo / ".git/worktrees/tree" / STAMP_NAME).write_text(stranger(repo))
    assert reason(tree, require_stamp=True) == "lineage_broken"


def test_a_stamp_of_another_line(repo: Path) -> None:
    stamp(repo, stranger(repo))
    assert reason(repo, require_stamp=True) == "lineage_broken"
    assert reason(repo) is None


def test_a_stamp_of_a_commit_that_is_nowhere(repo: Path) -> None:
    stamp(repo, "deadbeef" * 5)
    assert reason(repo, require_stamp=True) == "lineage_unknown"


def test_stamp_and_named_commit_must_be_the_same(repo: Path) -> None:
    seed = grown(repo)
    stamp(repo, seed)
    assert reason(repo, seed_commit=git(repo, "rev-parse", "HEAD")) == "seed_mismatch"


@pytest.mark.parametrize("content", [None, b"", b"HEAD\n", b"\xff\xfe", b"deadbeef", b"x" * 10_000_000, b"a" * 41])
def test_a_stamp_that_names_no_commit(repo: Path, content: bytes | None) -> None:
    if content is not None:
        (repo / ".git" / STAMP_NAME).write_bytes(content)
    assert reason(repo, require_stamp=True) == "stamp_absent"
    assert reason(repo) is None


def test_a_stamp_that_is_not_there_is_told_from_one_that_is_none(repo: Path) -> None:
    place = repo / ".git" / STAMP_NAME
    missing = report(repo, require_stamp=True).objection
    place.write_text("HEAD\n")
    wrong = report(repo, require_stamp=True).objection
    assert missing is not None
    assert wrong is not None
    assert missing.message == f"there is no {str(place)!r}"
    assert wrong.message == f"{str(place)!r} does not hold the whole name of a commit"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_a_stamp_that_is_no_file_is_never_waited_for(repo: Path, make: Callable[[Path], None]) -> None:
    make(repo / ".git" / STAMP_NAME)
    assert reason(repo, require_stamp=True) == "stamp_absent"


def test_without_a_commit_no_line_can_be_followed(repo: Path, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.mkdir()
    git(tmp_path, "init", "-q", "young")
    for place in (plain, tmp_path / "young"):
        assert reason(place, seed_commit="deadbeef", allow_dirty=True) == "seed_head_unreadable"
        assert commit_lineage_ok(place, "deadbeef").reason == "seed_head_unreadable"


def test_the_public_answer_is_true_only_when_proven(repo: Path) -> None:
    seed = grown(repo)
    assert obo_bench.commit_lineage_ok is commit_lineage_ok
    for ancestor, descendant, expected in (
        (seed, "HEAD", None),
        ("HEAD", seed, "lineage_unknown"),
        (seed, seed, None),
        (stranger(repo), "HEAD", "lineage_broken"),
        ("--help", "HEAD", "lineage_unknown"),
        ("main", "HEAD", "lineage_unknown"),
        ("", "HEAD", "lineage_unknown"),
        (seed, "deadbeef", "lineage_unknown"),
    ):
        answer = commit_lineage_ok(str(repo), ancestor, descendant)
        assert (bool(answer), answer.reason) == (expected is None, expected)
        assert answer.detail or answer
