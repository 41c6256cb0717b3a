"""What surrounds the checkout - environment, user, owner, rights, demands - and what of it reaches the record."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from obo_bench.core.admission import SeedDemands
from obo_bench.core.seed.gate import SeedReport, examine_seed
from obo_bench.core.seed.remotes import secrets_of, without_secrets
from tests.conftest import git
from tests.seeds.checkouts import commit, edit_in_place, make_repository, plain_status, write
from tests.seeds.seen import with_submodule

OTHER_USER = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a directory to somebody else")


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    return make_repository(tmp_path / "seed")


def examined(directory: Path, **demands: object) -> SeedReport:
    return examine_seed(directory, SeedDemands(**demands), timeout=10.0)  # type: ignore[arg-type]


def reason(directory: Path, **demands: object) -> str | None:
    objection = examined(directory, **demands).objection
    return objection.reason if objection else None


def redirections(other: Path) -> list[dict[str, str]]:
    rules = other / ".git/rules"
    rules.write_text("*\n")
    shutil.copy(rules, other / ".git/info/exclude")
    return [
        {"GIT_DIR": f"{other}/.git", "GIT_WORK_TREE": str(other)},
        {"GIT_DIR": f"{other}/.git"},
        {"GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "core.excludesFile", "GIT_CONFIG_VALUE_0": str(rules)},
        {"GIT_CONFIG_PARAMETERS": "'status.showUntrackedFiles'='no'"},
    ]


@pytest.mark.parametrize("at", range(4))
def test_the_environment_redirects_nothing(repo: Path, monkeypatch: pytest.MonkeyPatch, at: int) -> None:
    git(repo, "clone", "-q", ".", "../other")
    write(repo, {"new.py": ""})
    for name, value in redirections(repo.parent / "other")[at].items():
        monkeypatch.setenv(name, value)
    assert plain_status(repo) == ""
    assert reason(repo) == "seed_dirty"


def test_the_environment_lends_no_index_and_no_objects(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = git(repo, "rev-parse", "HEAD")
    write(repo, {"pkg/core.py": "answer = 43\n"})
    evil = commit(repo)
    shutil.copy(repo / ".git/index", repo.parent / "index")
    git(repo, "reset", "-q", "--soft", head)
    git(repo, "reset", "-q")
    monkeypatch.setenv("GIT_INDEX_FILE", str(repo.parent / "index"))
    monkeypatch.setenv("GIT_REPLACE_REF_BASE", "refs/heads/")
    assert reason(repo) == "seed_dirty"
    monkeypatch.setenv("GIT_ALTERNATE_OBJECT_DIRECTORIES", str(repo / ".git/objects"))
    git(repo.parent, "init", "-q", "thief")
    (repo.parent / "thief/.git/refs/heads/main").write_text(f"{evil}\n")
    (repo.parent / "thief/.git/HEAD").write_text("ref: refs/heads/main\n")
    assert reason(repo.parent / "thief") == "seed_identity_unavailable"


@pytest.mark.parametrize("place", [".gitconfig", ".config/git/config"])
def test_the_user_configuration_hides_nothing(repo: Path, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
    home = repo.parent / "home"
    write(home, {place: "[status]\n\tshowUntrackedFiles = no\n"})
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    write(repo, {"new.py": ""})
    assert plain_status(repo) == ""
    assert reason(repo) == "seed_dirty"


def test_a_broken_user_configuration_is_not_read(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(repo.parent / "home", {".gitconfig": "[broken"})
    monkeypatch.setenv("HOME", str(repo.parent / "home"))
    assert reason(repo) is None


@needs_root
def test_a_foreign_owner_is_named_with_its_remedy_and_trusted_where_declared(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = repo.parent / "home"
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("SUDO_UID", raising=False)
    for path in (repo, *repo.rglob("*")):
        os.chown(path, OTHER_USER, OTHER_USER)
    report = examined(repo)
    assert report.objection is not None
    assert report.objection.reason == "seed_identity_unavailable"
    remedy = f"git config --global --add safe.directory {repo}"
    assert remedy in (report.objection.remedy or "")
    assert list(home.iterdir()) == []
    subprocess.run(remedy.split(), check=True)
    assert reason(repo) is None
    write(repo, {"new.py": ""})
    assert reason(repo) == "seed_dirty"
    (home / ".gitconfig").write_text("[safe]\n\tdirectory = *\n\tdirectory =\n")
    assert reason(repo) == "seed_identity_unavailable"


def without_privileges(repo: Path) -> "subprocess.CompletedProcess[str]":
    """Examine as a process for which the rights of files count, even when it belongs to root."""
    script = (
        "import sys; from pathlib import Path; from obo_bench.core.seed.gate import examine_seed;"
        "from obo_bench.core.admission import SeedDemands;"
        "report = examine_seed(Path(sys.argv[1]), SeedDemands()); print(report.objection and report.objection.reason)"
    )
    drop = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    argv = [*drop, sys.executable, "-c", script, str(repo)]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=True)


@pytest.mark.skipif(os.geteuid() == 0 and not shutil.which("setpriv"), reason="root needs setpriv to lose its rights")
@pytest.mark.parametrize("place", ["hidden", ".git/info/attributes", "pkg/__pycache__"])
def test_what_cannot_be_read_is_not_clean(repo: Path, place: str) -> None:
    assert without_privileges(repo).stdout == "None\n"
    write(repo, {"hidden/new.py": "", ".git/info/attributes": "", "pkg/__pycache__/core.cpython-311.pyc": ""})
    if place != "hidden":
        shutil.rmtree(repo / "hidden")
    (repo / place).chmod(0)
    try:
        assert without_privileges(repo).stdout == "seed_status_unavailable\n"
    finally:
        (repo / place).chmod(0o700)


def test_an_edit_within_the_second_of_the_index_is_read(repo: Path) -> None:
    """Whole seconds are all that most builds of git compare; this may need more than one try to fall into one."""
    for attempt in range(5):
        file = repo / f"quick_{attempt}.py"
        file.write_text("answer = 42\n")
        os.utime(file, (1, 1))
        commit(repo)
        edit_in_place(file, "answer = 43\n")
        assert reason(repo) in {"seed_dirty", "seed_hidden_changes"}
        edit_in_place(file, "answer = 42\n")


def test_a_probe_without_an_answer_ends_in_time_and_leaves_no_process(repo: Path) -> None:
    (repo / ".git/info/exclude").unlink(missing_ok=True)
    os.mkfifo(repo / ".git/info/exclude")
    started = time.monotonic()
    report = examine_seed(repo, SeedDemands(), timeout=0.5)
    assert time.monotonic() - started < 5
    assert report.objection is not None
    assert report.objection.reason == "seed_status_unavailable"
    assert "0.5 s" in report.objection.message
    # Nobody is left that waits for a writer.
    with pytest.raises(OSError, match="No such device"):
        os.open(repo / ".git/info/exclude", os.O_WRONLY | os.O_NONBLOCK)


def test_only_a_git_directory_can_be_mounted(repo: Path) -> None:
    git(repo, "worktree", "add", "-q", "--detach", "../tree")
    lib = with_submodule(repo)
    moved = make_repository(repo.parent / "moved")
    (moved / ".git").rename(repo.parent / "elsewhere.git")
    (moved / ".git").symlink_to(repo.parent / "elsewhere.git")
    kinds = {repo: "directory", repo.parent / "tree": "worktree", lib: "submodule", moved: "elsewhere"}
    for place, kind in kinds.items():
        report = examined(place)
        assert (report.objection, report.source.git_dir_kind) == (None, kind)
        assert reason(place, require_git_directory=True) == (
            None if kind == "directory" else "seed_is_not_a_git_directory"
        )


def test_what_cannot_be_waived_does_not_hide_behind_what_was(repo: Path) -> None:
    write(repo, {"new.py": ""})
    assert reason(repo, allow_dirty=True, expect="deadbeef") == "seed_mismatch"
    assert reason(repo, allow_dirty=True, expect="6.75.0") is None
    assert reason(repo, allow_dirty=True, seed_commit="deadbeef") == "lineage_unknown"
    assert reason(repo.parent, allow_dirty=True, require_git_directory=True) == "seed_is_not_a_git_directory"


def test_a_remedy_can_be_pasted_into_a_shell(repo: Path) -> None:
    write(repo, {"a b.py": ""})
    commit(repo)
    git(repo, "update-index", "--assume-unchanged", "a b.py")
    git(repo, "update-index", "--skip-worktree", "server.py")
    write(repo, {"pkg/core.so": ""})
    objection = examined(repo).objection
    assert objection is not None
    assert objection.remedy is not None
    subprocess.run(objection.remedy, shell=True, check=True)
    assert reason(repo) is None


def test_ignored_modules_are_recorded(repo: Path) -> None:
    write(repo, {"local_tool.py": "", "data/deep/tool.py": "", "data/not-a-name/x.py": "", ".venv/x.py": ""})
    source = examined(repo).source
    assert (source.ignored_importable, source.ignored_importable_count) == (["local_tool.py", "data/deep/tool.py"], 2)


def test_names_that_are_no_text_reach_the_record(repo: Path) -> None:
    (repo / os.fsdecode(b"not \xff utf-8")).write_text("")
    report = examined(repo)
    assert report.source.status_entries == ["?? not \\xff utf-8"]
    json.dumps(report.source.model_dump(mode="json")).encode()


@pytest.mark.parametrize(
    ("url", "recorded", "secret"),
    [
        ("https://user:s3cret-pw@host:8443/a/b.git?token=t0ken-1#part", "https://host:8443/a/b.git", "s3cret-pw"),
        ("https://host.example/a.git?token=t0ken-1", "https://host.example/a.git", "t0ken-1"),
        ("https://ghp_abcdef@github.com/a/b", "https://github.com/a/b", "ghp_abcdef"),
        ("https://user:s3%2Fcret@host/a", "https://host/a", "s3/cret"),
        ("https://user:s3/cret@host/a", "https://[redacted]", None),
        ("ssh://git@host/a", "ssh://host/a", None),
        ("git@github.com:a/b.git", "git@github.com:a/b.git", None),
        ("user:s3cret@host:a/b.git", "host:a/b.git", None),
        ("/srv/a@b/c.git", "/srv/a@b/c.git", None),
        ("../other", "../other", None),
        ("ext::sh -c 'curl -H s3cret'", "ext::[redacted]", None),
    ],
)  # fmt: skip
def test_no_secret_of_a_remote_is_recorded(repo: Path, url: str, recorded: str, secret: str | None) -> None:
    git(repo, "config", "remote.origin.url", url)
    report = examined(repo)
    assert report.source.remotes == {"origin": recorded} == {"origin": without_secrets(url)}
    assert secret is None or secret in report.secrets


def test_secrets_beside_the_remotes_are_learnt() -> None:
    config = [
        ("url.https://t0ken-2@github.com/.insteadof", "https://github.com/"),
        ("remote.origin.pushurl", "https://me:pushpass@host/x"),
        ("http.https://host/.extraheader", "AUTHORIZATION: basic aGVsbG8="),
        ("core.editor", "vi"),
    ]
    assert secrets_of(config) == ["t0ken-2", "pushpass", "aGVsbG8="]
