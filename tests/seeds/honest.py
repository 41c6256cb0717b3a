"""Situations in which the checkout is what its commit says, however odd it looks."""

import os
import shutil
from pathlib import Path

from tests.conftest import git
from tests.seeds.checkouts import commit, expecting, make_old, make_repository, write
from tests.seeds.seen import with_submodule
from tests.seeds.shapes import make_young
from tests.seeds.unseen import BY_TIME, CHECKED, compiled


@expecting(None)
def nothing_done(repo: Path) -> None:
    pass


@expecting(None)
def touched_files(repo: Path) -> None:
    for file in repo.glob("**/*.py"):
        os.utime(file, (1, 1))


@expecting(None)
def a_rewritten_file_of_the_same_contents(repo: Path) -> None:
    write(repo, {"pkg/core.py": (repo / "pkg/core.py").read_text()})


@expecting(None)
def a_worktree(repo: Path) -> Path:
    git(repo, "worktree", "add", "-q", "--detach", "../tree")
    return repo.parent / "tree"


@expecting(None)
def an_initialised_submodule(repo: Path) -> None:
    with_submodule(repo)


@expecting(None)
def a_submodule_as_the_checkout(repo: Path) -> Path:
    return with_submodule(repo)


@expecting(None)
def a_shallow_clone(repo: Path) -> Path:
    young = make_young(repo.parent / "young")
    git(repo, "clone", "-q", "--depth=1", f"file://{young}", "../shallow")
    return repo.parent / "shallow"


@expecting(None)
def a_clone_that_borrows_objects(repo: Path) -> Path:
    git(repo, "clone", "-q", "--shared", ".", "../borrower")
    return repo.parent / "borrower"


@expecting(None)
def a_detached_head(repo: Path) -> None:
    git(repo, "checkout", "-q", "--detach")


@expecting(None)
def names_that_are_hard_to_write(repo: Path) -> None:
    for name in (b"with space", b"new\nline", b"tab\there", b'"quoted"', b"not \xff utf-8", b"-n", b"\xc3\xa4.py"):
        (repo / os.fsdecode(name)).write_text("x")
    commit(repo)


@expecting(None)
def a_checkout_whose_own_name_is_hard_to_write(repo: Path) -> Path:
    odd = repo.parent / os.fsdecode(b"a \xff\nb")
    repo.rename(odd)
    return odd


@expecting(None)
def a_link_to_the_checkout(repo: Path) -> Path:
    (repo.parent / "link").symlink_to(repo)
    return repo.parent / "link"


@expecting(None)
def what_a_server_leaves_behind(repo: Path) -> None:
    compiled(repo / "pkg/__pycache__/core.cpython-311.pyc", BY_TIME)
    compiled(repo / "pkg/__pycache__/__init__.cpython-311.pyc", CHECKED)
    write(repo, {"data/state.json": "{}", "data/deep/x.py": "", ".venv/lib/site.py": "", "build/lib/core.py": ""})
    (repo / "data/link").symlink_to(repo)
    os.mkfifo(repo / "data/fifo")


@expecting(None)
def ignored_modules_that_win_over_nothing(repo: Path) -> None:
    write(repo, {"local_tool.py": "", "pkg/local_helper.py": "", "pkg/fast.so": "", "docs.so": ""})
    compiled(repo / "pkg/core.pyc", BY_TIME)


@expecting(None)
def attributes_that_change_no_contents(repo: Path) -> None:
    (repo / ".git/info/attributes").write_text("# filter=none\n*.py diff=python\n*.md merge=union\n")


@expecting(None)
def files_that_the_commit_gives_to_a_filter(repo: Path) -> None:
    git(repo, "config", "filter.big.clean", "sed s/contents/pointer/")
    git(repo, "config", "filter.big.smudge", "sed s/pointer/contents/")
    write(repo, {".gitattributes": "*.bin filter=big\n", "large.bin": "contents\n"})
    make_old(repo / "large.bin")
    commit(repo)


@expecting(None)
def a_split_index(repo: Path) -> None:
    git(repo, "update-index", "--split-index")


@expecting(None)
def a_sparse_checkout_that_was_ended(repo: Path) -> None:
    git(repo, "sparse-checkout", "set", "--cone", "docs")
    git(repo, "sparse-checkout", "disable")


@expecting(None)
def an_empty_directory(repo: Path) -> None:
    (repo / "empty").mkdir()


@expecting(None)
def packed_and_unpacked(repo: Path) -> None:
    git(repo, "gc", "-q")
    git(repo, "pack-refs", "--all")


@expecting(None)
def a_copy_of_the_whole_checkout(repo: Path) -> Path:
    shutil.copytree(repo, repo.parent / "copied", symlinks=True)
    return repo.parent / "copied"


@expecting(None)
def a_checkout_in_an_ignored_directory_of_another(repo: Path) -> Path:
    return make_repository(repo / "data/inner")
