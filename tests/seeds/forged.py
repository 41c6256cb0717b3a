"""Situations in which the repository stores something else under a name than the commit means by it."""

import shutil
from pathlib import Path

from tests.conftest import git
from tests.seeds.checkouts import commit, expecting, write
from tests.seeds.seen import with_submodule
from tests.seeds.unseen import lie_to_the_index


def forge(repo: Path, real: str, false: str) -> None:
    """Store the object `false` under the name of `real`; git looks at the name only."""
    target, source = (Path(git(repo, "rev-parse", "--git-path", f"objects/{each[:2]}/{each[2:]}")) for each in
                      (real, false))  # fmt: skip
    (repo / target).chmod(0o644)
    shutil.copyfile(repo / source, repo / target)


def forge_tree(repo: Path, tree: str, file: str) -> None:
    """Change a file together with the stored tree that names it, and nothing else."""
    real = git(repo, "rev-parse", f"HEAD:{tree}")
    write(repo, {file: "answer = 43\n"})
    git(repo, "add", file)
    forge(repo, real, git(repo, "rev-parse", f"{git(repo, 'write-tree')}:{tree}"))
    git(repo, "read-tree", "HEAD")
    git(repo, "update-index", "--refresh")


@expecting("seed_hidden_changes", fools_git=True)
def a_tree_stored_under_the_name_of_another(repo: Path) -> None:
    forge_tree(repo, "pkg", "pkg/core.py")


@expecting("seed_hidden_changes", fools_git=True)
def a_forged_tree_in_a_submodule(repo: Path) -> None:
    lib = with_submodule(repo)
    write(lib, {"inner/mod.py": "mod = 1\n"})
    git(lib, "add", "--all")
    git(lib, "commit", "-q", "-m", "A step")
    git(repo, "commit", "-q", "-a", "-m", "A step")
    forge_tree(lib, "inner", "inner/mod.py")


@expecting("seed_identity_unavailable")
def a_commit_stored_under_the_name_of_another(repo: Path) -> None:
    real = git(repo, "rev-parse", "HEAD")
    write(repo, {"pkg/core.py": "answer = 43\n"})
    git(repo, "commit", "-q", "-a", "-m", "Another step")
    false = git(repo, "rev-parse", "HEAD")
    git(repo, "update-ref", "HEAD", real)
    forge(repo, real, false)


@expecting("seed_hidden_changes", fools_git=True)
def a_module_that_the_commit_gives_to_a_filter(repo: Path) -> None:
    write(repo, {".gitattributes": "*.py filter=store\n"})
    commit(repo)
    lie_to_the_index(repo)
    (repo / ".git/info/attributes").unlink()
    git(repo, "config", "--remove-section", "filter.lie")
