"""Situations that no configuration of git would show: bits, stale indexes, foreign rules, and Python's preferences."""

from pathlib import Path

from tests.conftest import git
from tests.seeds.checkouts import commit, expecting, make_old, make_repository, program, write
from tests.seeds.seen import with_submodule

UNCHECKED, CHECKED, BY_TIME = 1, 3, 0


def compiled(file: Path, flags: int) -> None:
    """Write the head of a .pyc (PEP 552)."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(b"\xa7\r\r\n" + flags.to_bytes(4, "little") + bytes(8) + b"code")


@expecting("seed_hidden_changes", fools_git=True)
def a_file_assumed_unchanged(repo: Path) -> None:
    git(repo, "update-index", "--assume-unchanged", "pkg/core.py")
    write(repo, {"pkg/core.py": "answer = 43\n"})


@expecting("seed_hidden_changes", fools_git=True)
def a_file_to_be_skipped(repo: Path) -> None:
    git(repo, "update-index", "--skip-worktree", "pkg/core.py")
    write(repo, {"pkg/core.py": "answer = 43\n"})


@expecting("seed_hidden_changes", fools_git=True)
def a_file_with_both_bits(repo: Path) -> None:
    git(repo, "update-index", "--skip-worktree", "pkg/core.py")
    git(repo, "update-index", "--assume-unchanged", "pkg/core.py")
    write(repo, {"pkg/core.py": "answer = 43\n"})


@expecting("seed_hidden_changes", fools_git=True)
def a_sparse_checkout(repo: Path) -> None:
    git(repo, "sparse-checkout", "set", "--cone", "docs")


@expecting("seed_hidden_changes", fools_git=True)
def a_sparse_index(repo: Path) -> None:
    git(repo, "sparse-checkout", "set", "--cone", "--sparse-index", "docs")


@expecting("seed_hidden_changes", fools_git=True)
def an_index_filled_through_a_filter_that_lies(repo: Path) -> None:
    lie_to_the_index(repo)
    (repo / ".git/info/attributes").unlink()
    git(repo, "config", "--remove-section", "filter.lie")


@expecting("seed_hidden_changes", fools_git=True)
def a_filter_that_lies(repo: Path) -> None:
    lie_to_the_index(repo)


def lie_to_the_index(repo: Path) -> None:
    """Make git believe that a changed file has the committed contents."""
    honest = repo.parent / "honest.py"
    honest.write_text((repo / "pkg/core.py").read_text())
    liar = program(repo.parent / "liar", f"touch {repo.parent / 'executed'}; cat > /dev/null; cat {honest}")
    (repo / ".git/info/attributes").write_text("# Rules of our own\npkg/core.py  filter=lie\n")
    git(repo, "config", "filter.lie.clean", str(liar))
    git(repo, "config", "filter.lie.required", "true")
    write(repo, {"pkg/core.py": "answer = 43, 'and more'\n"})
    make_old(repo / "pkg/core.py")
    git(repo, "add", "pkg/core.py")


@expecting("seed_hidden_changes", fools_git=True)
def attributes_that_the_commit_does_not_hold(repo: Path) -> None:
    (repo / ".git/info/exclude").write_text(".gitattributes\n")
    write(repo, {"pkg/.gitattributes": "* text\n", "pkg/core.py": "answer = 42\r\n"})
    git(repo, "add", "--update")


@expecting("seed_hidden_changes", fools_git=True)
def a_submodule_that_is_not_there(repo: Path) -> None:
    with_submodule(repo)
    git(repo, "submodule", "deinit", "-q", "-f", "lib")


@expecting("seed_hidden_changes", fools_git=True)
def other_files_in_the_place_of_a_submodule(repo: Path) -> None:
    with_submodule(repo)
    git(repo, "submodule", "deinit", "-q", "-f", "lib")
    write(repo, {"lib/lib.py": "library = 3\n"})


@expecting("seed_hidden_changes", fools_git=True)
def a_bit_in_a_submodule(repo: Path) -> None:
    lib = with_submodule(repo)
    git(lib, "update-index", "--assume-unchanged", "lib.py")
    write(lib, {"lib.py": "library = 2\n"})


@expecting("seed_hidden_changes", fools_git=True)
def a_bit_in_a_submodule_of_a_submodule(repo: Path) -> None:
    origin = make_repository(repo.parent / "outer", {"outer.py": ""})
    with_submodule(origin)
    allow = ("-c", "protocol.file.allow=always", "submodule")
    git(repo, *allow, "add", "-q", str(origin), "outer")
    git(repo, *allow, "update", "-q", "--init", "--recursive")
    commit(repo)
    git(repo / "outer/lib", "update-index", "--skip-worktree", "lib.py")


@expecting("seed_hidden_changes", fools_git=True)
def an_ignored_extension_beside_a_module(repo: Path) -> None:
    write(repo, {"pkg/core.cpython-311-x86_64-linux-gnu.so": ""})


@expecting("seed_hidden_changes", fools_git=True)
def an_ignored_extension_as_the_start_of_a_package(repo: Path) -> None:
    write(repo, {"pkg/__init__.abi3.so": ""})


@expecting("seed_hidden_changes", fools_git=True)
def an_excluded_package_beside_a_module(repo: Path) -> None:
    (repo / ".git/info/exclude").write_text("/server/\n")
    write(repo, {"server/__init__.py": "evil = 1\n"})


@expecting("seed_hidden_changes", fools_git=True)
def an_ignored_link_to_a_package_beside_a_module(repo: Path) -> None:
    (repo / ".git/info/exclude").write_text("/server\n")
    write(repo.parent / "elsewhere", {"__init__.py": "evil = 1\n"})
    (repo / "server").symlink_to(repo.parent / "elsewhere")


@expecting("seed_hidden_changes", fools_git=True)
def an_excluded_module_beside_a_directory_of_modules(repo: Path) -> None:
    (repo / ".git/info/exclude").write_text("/space.py\n")
    write(repo, {"space.py": "evil = 1\n"})


@expecting("seed_hidden_changes", fools_git=True)
def a_start_for_a_directory_of_modules(repo: Path) -> None:
    (repo / ".git/info/exclude").write_text("/space/__init__.py\n")
    write(repo, {"space/__init__.py": "evil = 1\n"})


@expecting("seed_hidden_changes", fools_git=True)
def an_ignored_compiled_module_beside_a_directory_of_modules(repo: Path) -> None:
    compiled(repo / "space.pyc", BY_TIME)


@expecting("seed_hidden_changes", fools_git=True)
def compiled_code_that_python_never_compares_with_its_source(repo: Path) -> None:
    compiled(repo / "pkg/__pycache__/core.cpython-311.pyc", UNCHECKED)
