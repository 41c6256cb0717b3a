"""Situations in which the checkout is not one, is another one, or cannot be read."""

import os
from pathlib import Path

from tests.conftest import git
from tests.seeds.checkouts import expecting, make_repository


@expecting("seed_identity_unavailable")
def no_repository(repo: Path) -> Path:
    plain = repo.parent / "plain"
    plain.mkdir()
    return plain


@expecting("seed_identity_unavailable")
def no_directory(repo: Path) -> Path:
    return repo.parent / "missing"


@expecting("seed_identity_unavailable")
def a_name_that_no_system_call_takes(repo: Path) -> Path:
    return repo.parent / "nul\0"


@expecting("seed_identity_unavailable")
def no_commit_yet(repo: Path) -> Path:
    git(repo.parent, "init", "-q", "young")
    return repo.parent / "young"


@expecting("seed_identity_unavailable")
def a_configuration_that_cannot_be_read(repo: Path) -> None:
    (repo / ".git/config").write_text("[core\n")


@expecting("seed_identity_unavailable")
def a_commit_whose_object_is_gone(repo: Path) -> None:
    head = git(repo, "rev-parse", "HEAD")
    (repo / ".git/objects" / head[:2] / head[2:]).unlink()


@expecting("seed_identity_unavailable")
def a_head_that_never_answers(repo: Path) -> None:
    (repo / ".git/HEAD").unlink()
    os.mkfifo(repo / ".git/HEAD")


@expecting("seed_not_toplevel")
def a_directory_of_a_checkout(repo: Path) -> Path:
    return repo / "pkg"


@expecting("seed_not_toplevel")
def an_untracked_copy_in_another_checkout(repo: Path) -> Path:
    (repo / "copy").mkdir()
    (repo / "copy/VERSION").write_text("6.75.0\n")
    return repo / "copy"


@expecting("seed_not_toplevel")
def the_git_directory_itself(repo: Path) -> Path:
    return repo / ".git"


@expecting("seed_not_toplevel")
def a_work_tree_that_is_another_directory(repo: Path) -> None:
    git(repo, "clone", "-q", ".", "../clean")
    git(repo, "config", "core.worktree", str(repo.parent / "clean"))


@expecting("seed_status_unavailable")
def a_bare_repository(repo: Path) -> Path:
    git(repo, "clone", "-q", "--bare", ".", "../bare.git")
    return repo.parent / "bare.git"


@expecting("seed_status_unavailable")
def a_checkout_that_calls_itself_bare(repo: Path) -> None:
    git(repo, "config", "core.bare", "true")


@expecting("seed_status_unavailable")
def an_index_that_is_damaged(repo: Path) -> None:
    index = repo / ".git/index"
    index.write_bytes(index.read_bytes()[:100])


@expecting("seed_status_unavailable")
def rules_that_never_end(repo: Path) -> None:
    (repo / ".git/info/exclude").unlink(missing_ok=True)
    os.mkfifo(repo / ".git/info/exclude")


@expecting("seed_status_unavailable")
def attributes_that_never_end(repo: Path) -> None:
    os.mkfifo(repo / ".git/info/attributes")


@expecting("seed_status_unavailable")
def a_submodule_that_git_cannot_open(repo: Path) -> None:
    from tests.seeds.seen import with_submodule

    (with_submodule(repo) / ".git").write_text("gitdir: /nowhere\n")


@expecting("seed_dirty")
def an_index_that_is_gone(repo: Path) -> None:
    (repo / ".git/index").unlink()


@expecting("seed_dirty")
def a_worktree_that_is_changed(repo: Path) -> Path:
    git(repo, "worktree", "add", "-q", "../tree")
    (repo.parent / "tree/pkg/core.py").write_text("answer = 43\n")
    return repo.parent / "tree"


def make_young(directory: Path) -> Path:
    """Return a checkout with a history of three commits."""
    make_repository(directory)
    for step in range(2):
        git(directory, "commit", "-q", "--allow-empty", "-m", f"Step {step}")
    return directory
