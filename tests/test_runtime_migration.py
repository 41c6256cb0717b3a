"""The checkout's own rules for model names: asked in its own interpreter, and without a trace in the checkout."""

import json
import os
import sys
import time
from pathlib import Path

import pytest

from obo_bench.gateway.admission import runtime_migration
from obo_bench.gateway.admission.model_slots import migrate_model_value
from obo_bench.gateway.admission.runtime_migration import (
    MigrationUnavailable,
    ModelNames,
    ask_checkout,
    find_module,
)
from tests.conftest import git
from tests.scripted_server import server
from tests.test_refusals import assert_refused, run, settings_file

OWN_RULES = """
def migrate_model_value(provider, value):
    return f"{provider}=={value}"
"""


def program(checkout: Path, text: str, module: str = "ouroboros/model_names.py") -> Path:
    """Give the checkout an interpreter of its own and a module that defines the function."""
    path = checkout / module
    path.parent.mkdir(parents=True, exist_ok=True)
    (path.parent / "__init__.py").touch()
    path.write_text(text)
    (checkout / ".venv" / "bin").mkdir(parents=True, exist_ok=True)
    (checkout / ".venv" / "bin" / "python").symlink_to(sys.executable)
    return checkout


def photograph(directory: Path) -> dict[str, tuple[int, int, int]]:
    found = [directory, *directory.rglob("*")]
    return {str(path): (path.lstat().st_mtime_ns, path.lstat().st_size, path.lstat().st_mode) for path in found}


def ask(checkout: Path, *names: str) -> list[str]:
    interpreter = runtime_migration.find_interpreter(checkout)
    return ask_checkout(checkout, interpreter, find_module(checkout), [("openai", name) for name in names])


def test_the_checkouts_own_function_decides_and_the_record_says_so(tmp_path: Path) -> None:
    names = ModelNames(program(tmp_path, OWN_RULES))
    assert names.normalize("some-new-provider", ["a", "ü"]) == {
        "a": "some-new-provider==a",
        "ü": "some-new-provider==ü",
    }
    assert names.checked_with.document() == {
        "with": "checkout", "module": "ouroboros.model_names",
        "interpreter": str(tmp_path / ".venv" / "bin" / "python"), "why": "",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import no_such_module_anywhere\n" + OWN_RULES, "no_such_module_anywhere"),
        ("def migrate_model_value(provider, value):\n    return None\n", "did not answer with 1 names"),
        ("def migrate_model_value(provider, value):\n    return 'x' * 3_000_000\n", "did not answer with JSON"),
        ("def migrate_model_value(provider, value):\n    raise SystemExit(0)\n", "did not answer with JSON"),
        ("def migrate_model_value(provider, value):\n    import os; os.abort()\n", "status -6"),
        ("import sys\nsys.stderr.write('x' * 9_000_000)\n" + OWN_RULES, "status"),
        ("# def migrate_model_value(\n", "no module"),
    ],
)
def test_what_cannot_be_asked_leaves_the_table_and_the_record_says_why(tmp_path: Path, text: str, why: str) -> None:
    names = ModelNames(program(tmp_path, text))
    assert names.normalize("openai", ["openai/a"]) == {"openai/a": "openai::a"}
    record = names.checked_with.document()
    assert record["with"] == "table"
    assert why in record["why"]
    assert len(record["why"]) < 600


def test_a_module_that_prints_and_leaves_threads_and_exit_handlers_still_answers(tmp_path: Path) -> None:
    noise = """
import atexit, sys, threading, time
print("[]", flush=True)
threading.Thread(target=time.sleep, args=(600,)).start()
atexit.register(lambda: open("/dev/full", "w").write("x"))
"""
    assert ask(program(tmp_path, noise + OWN_RULES), "a") == ["openai==a"]


def test_a_module_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hang = "import time\ntime.sleep(600)\n"
    monkeypatch.setattr(runtime_migration, "DEADLINE_SEC", 1.5)
    names = ModelNames(program(tmp_path, hang + OWN_RULES))
    begun = time.monotonic()
    assert names.normalize("openai", ["openai/a"]) == {"openai/a": "openai::a"}
    assert time.monotonic() - begun < 10
    # Now it would answer with its own rules, but is not asked a second time.
    (tmp_path / "ouroboros" / "model_names.py").write_text(OWN_RULES)
    assert names.normalize("openai", ["openai/b"]) == {"openai/b": "openai::b"}
    assert "1.5 s" in names.checked_with.why
    assert not [entry for entry in Path("/proc").glob("[0-9]*/cmdline") if _runs(entry, tmp_path)]


def _runs(cmdline: Path, interpreter_below: Path) -> bool:
    try:
        return str(interpreter_below).encode() in cmdline.read_bytes()
    except OSError:
        return False


WRITES = [
    "open(HERE / 'new.txt', 'w')",
    "open(__file__, 'a').write('# more')",
    "os.truncate(__file__, 0)",
    "os.utime(__file__)",
    "os.chmod(__file__, 0o600)",
    "os.remove(__file__)",
    "os.rename(__file__, __file__ + 'x')",
    "os.mkdir(HERE / 'new')",
    "os.symlink('x', HERE / 'new')",
    "os.open('new', os.O_CREAT | os.O_WRONLY, dir_fd=os.open(HERE, os.O_RDONLY))",
    "os.system(f'touch {HERE}/new')",
    "subprocess.run(['touch', str(HERE / 'new')])",
    "os.fork() or (HERE / 'new').touch()",
    "sqlite3.connect(HERE / 'new.db')",
    "socket.create_connection(('127.0.0.1', PORT), 2)",
]


@pytest.mark.parametrize("deed", WRITES)
def test_nothing_that_an_import_does_changes_the_checkout(tmp_path: Path, deed: str) -> None:
    head = "import os, socket, sqlite3, subprocess\nfrom pathlib import Path\nHERE = Path(__file__).parent\n"
    with server() as url:
        attempt = f"PORT = {url.rpartition(':')[2]}\ntry:\n    {deed}\nexcept PermissionError:\n    DENIED = 'denied'\n"
        rules = "def migrate_model_value(provider, value):\n    return DENIED\n"
        checkout = program(tmp_path / "checkout", head + attempt + rules)
        before = photograph(checkout)
        assert ask(checkout, "a") == ["denied"]
        assert photograph(checkout) == before


def test_an_import_finds_a_home_of_its_own_and_no_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    text = """
import json, os, pathlib, sys
pathlib.Path.home().joinpath("note").write_text("mine")
def migrate_model_value(provider, value):
    return json.dumps([dict(os.environ), os.getcwd(), sys.path, sys.stdin.read() or sys.dont_write_bytecode])
"""
    environment, directory, path, rest = json.loads(ask(program(tmp_path / "checkout", text), "a")[0])
    assert set(environment) - {"LC_CTYPE"} == {"PATH", "HOME", "TMPDIR", "LC_ALL"}
    assert environment["HOME"] == directory
    assert not Path(directory).exists()
    assert str(tmp_path) not in path
    assert rest is True


def test_only_one_definition_of_the_checkout_itself_is_believed(tmp_path: Path) -> None:
    program(tmp_path, OWN_RULES)
    for place in (".hidden", "venv/lib", "tests", "node_modules", "own_env", "own_env/lib"):
        (tmp_path / place).mkdir(parents=True, exist_ok=True)
        (tmp_path / place / "copy.py").write_text(OWN_RULES)
    (tmp_path / "own_env" / "pyvenv.cfg").touch()
    (tmp_path / "link.py").symlink_to(tmp_path / "ouroboros" / "model_names.py")
    (tmp_path / "method.py").write_text("class A:\n    def migrate_model_value(self): ...\n")
    os.mkfifo(tmp_path / "pipe.py")
    assert find_module(tmp_path) == "ouroboros.model_names"
    (tmp_path / "second.py").write_text(OWN_RULES)
    with pytest.raises(MigrationUnavailable, match=r"second\.py"):
        find_module(tmp_path)


def test_a_module_that_has_no_importable_name_is_not_asked(tmp_path: Path) -> None:
    with pytest.raises(MigrationUnavailable, match="cannot be imported"):
        find_module(program(tmp_path, OWN_RULES, "ouro-boros/names.py"))


def test_a_run_asks_the_checkout_and_leaves_it_clean(checkout: Path, tmp_path: Path) -> None:
    (checkout / ".gitignore").write_text(".venv/\n")
    program(checkout, OWN_RULES)
    git(checkout, "add", ".")
    git(checkout, "commit", "-qm", "rules")
    settings = settings_file(tmp_path)
    settings.write_text(json.dumps({"OPENAI_API_KEY": "sk-canary", "OUROBOROS_MODEL": "gpt-5.5"}))
    before = {path: state for path, state in photograph(checkout).items() if ".git" not in Path(path).parts}
    with server() as url:
        done = run(checkout, tmp_path, url, "--settings-path", settings)
    assert_refused(done, 5, "model_slot_invalid", "openai==gpt-5.5")
    assert done.manifest["harness"]["model_slots_checked_with"]["with"] == "checkout"
    after = photograph(checkout)
    assert {path: state for path, state in after.items() if ".git" not in Path(path).parts} == before
    assert git(checkout, "status", "--porcelain", "--ignored") == "!! .venv/"


def test_the_table_and_a_checkout_with_the_same_rules_agree(tmp_path: Path) -> None:
    source = Path(migrate_model_value.__code__.co_filename).read_text()
    checkout = program(tmp_path, source)
    for provider in ("openai", "anthropic", "cloudru", "gigachat"):
        name = f"{provider}/claude-opus-4.8"
        assert ModelNames(checkout).normalize(provider, [name])[name] == migrate_model_value(provider, name)
