"""Situations that git itself would report, were it not for the configuration that keeps it from doing so."""

import os
import subprocess
import time
from pathlib import Path

import pytest

from tests.conftest import git
from tests.seeds.checkouts import commit, edit_in_place, expecting, make_old, make_repository, program, write


@expecting("seed_dirty")
def a_changed_file(repo: Path) -> None:
    write(repo, {"pkg/core.py": "answer = 43\n"})


@expecting("seed_dirty")
def an_untracked_file(repo: Path) -> None:
    write(repo, {"pkg/new.py": ""})


@expecting("seed_dirty")
def a_deleted_file(repo: Path) -> None:
    (repo / "pkg/core.py").unlink()


@expecting("seed_dirty")
def a_staged_change_whose_file_was_put_back(repo: Path) -> None:
    write(repo, {"pkg/core.py": "answer = 43\n"})
    git(repo, "add", "pkg/core.py")
    write(repo, {"pkg/core.py": "answer = 42\n"})


@expecting("seed_dirty")
def a_staged_rename(repo: Path) -> None:
    git(repo, "mv", "pkg/core.py", "pkg/kern.py")


@expecting("seed_dirty")
def a_merge_conflict(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "other")
    write(repo, {"pkg/core.py": "answer = 1\n"})
    commit(repo)
    git(repo, "checkout", "-q", "main")
    write(repo, {"pkg/core.py": "answer = 2\n"})
    commit(repo)
    with pytest.raises(subprocess.CalledProcessError):
        git(repo, "merge", "-q", "other")


@expecting("seed_dirty")
def a_file_that_became_a_link_to_its_copy(repo: Path) -> None:
    copy = repo.parent / "copy.py"
    (repo / "pkg/core.py").rename(copy)
    (repo / "pkg/core.py").symlink_to(copy)


@expecting("seed_dirty", fools_git=True)
def a_link_that_became_a_file_where_git_believes_in_no_links(repo: Path) -> None:
    (repo / "link.py").symlink_to("server.py")
    commit(repo)
    git(repo, "config", "core.symlinks", "false")
    (repo / "link.py").unlink()
    (repo / "link.py").write_text("server.py")


@expecting("seed_dirty", fools_git=True)
def a_mode_that_git_was_told_to_overlook(repo: Path) -> None:
    git(repo, "config", "core.fileMode", "false")
    (repo / "server.py").chmod(0o755)


@expecting("seed_dirty", fools_git=True)
def an_edit_with_its_time_set_back_where_git_was_told_to_look_at_less(repo: Path) -> None:
    git(repo, "config", "core.trustctime", "false")
    git(repo, "config", "core.checkStat", "minimal")
    make_old(repo / "pkg/core.py")
    git(repo, "update-index", "--refresh")
    # Most builds of git compare whole seconds.
    time.sleep(1.1)
    edit_in_place(repo / "pkg/core.py", "answer = 43\n")


@expecting("seed_dirty", fools_git=True)
def untracked_files_that_git_was_told_not_to_show(repo: Path) -> None:
    git(repo, "config", "status.showUntrackedFiles", "no")
    write(repo, {"pkg/new.py": ""})


@expecting("seed_dirty", fools_git=True)
def an_exclude_file_named_by_the_checkout(repo: Path) -> None:
    rules = repo.parent / "rules"
    rules.write_text("new.py\n")
    git(repo, "config", "core.excludesFile", str(rules))
    write(repo, {"pkg/new.py": ""})


@expecting("seed_dirty", fools_git=True)
def a_name_that_differs_in_case_where_git_was_told_that_this_is_nothing(repo: Path) -> None:
    git(repo, "config", "core.ignoreCase", "true")
    write(repo, {"SERVER.py": "evil = 1\n"})


@expecting("seed_dirty", fools_git=True)
def a_file_monitor_that_lies(repo: Path) -> None:
    monitor = program(repo.parent / "monitor", f"touch {repo.parent / 'executed'}; printf 'token\\0'")
    git(repo, "config", "core.fsmonitor", str(monitor))
    git(repo, "update-index", "--fsmonitor")
    git(repo, "status")
    write(repo, {"pkg/core.py": "answer = 43, 'and more'\n"})


@expecting("seed_dirty", fools_git=True)
def an_untracked_cache_that_lies(repo: Path) -> None:
    git(repo, "config", "core.trustctime", "false")
    git(repo, "config", "core.untrackedCache", "true")
    for place in (repo, repo / "pkg", repo / "docs", repo / "space"):
        make_old(place)
    git(repo, "update-index", "--force-untracked-cache")
    git(repo, "status")
    time.sleep(1.1)
    git(repo, "status")
    write(repo, {"pkg/new.py": ""})
    make_old(repo / "pkg")


@expecting("seed_dirty", fools_git=True)
def another_commit_in_the_place_of_the_commit(repo: Path) -> None:
    honest = git(repo, "rev-parse", "HEAD")
    write(repo, {"pkg/core.py": "answer = 43\n"})
    evil = commit(repo)
    git(repo, "reset", "-q", "--soft", honest)
    git(repo, "replace", honest, evil)


@expecting("seed_dirty")
def a_fifo_where_the_version_was(repo: Path) -> None:
    (repo / "VERSION").unlink()
    os.mkfifo(repo / "VERSION")


def with_submodule(repo: Path) -> Path:
    """Add a submodule `lib` to the checkout; returns its work tree."""
    origin = make_repository(repo.parent / "lib", {"lib.py": "library = 1\n"})
    git(repo, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(origin), "lib")
    commit(repo)
    return repo / "lib"


@expecting("seed_dirty", fools_git=True)
def a_changed_submodule_that_git_was_told_to_overlook(repo: Path) -> None:
    write(with_submodule(repo), {"lib.py": "library = 2\n"})
    git(repo, "config", "submodule.lib.ignore", "all")


@expecting("seed_dirty", fools_git=True)
def a_moved_submodule_that_the_commit_says_to_overlook(repo: Path) -> None:
    lib = with_submodule(repo)
    git(repo, "config", "-f", ".gitmodules", "submodule.lib.ignore", "all")
    commit(repo)
    write(lib, {"lib.py": "library = 2\n"})
    commit(lib)


@expecting("seed_dirty")
def an_untracked_file_in_a_submodule(repo: Path) -> None:
    write(with_submodule(repo), {"new.py": ""})


@expecting("seed_dirty")
def a_repository_in_the_repository(repo: Path) -> None:
    make_repository(repo / "inner", {"x.py": ""})
