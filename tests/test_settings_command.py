"""`programbench settings`: what it shows, what it writes, and all that it leaves alone."""

import json
import os
import stat
from pathlib import Path

import jsonschema
import pytest

from obo_bench.core.json_schema import json_schema
from obo_bench.programbench.server_profile.change import SettingsChange
from obo_bench.programbench.server_profile.profile import load_profile
from tests.conftest import Done, obo

SECRET = "sk-or-v1-0123456789abcdef"
FILE = """{
    "OPENROUTER_API_KEY": "SECRET",
    "MY_TOKEN": "SECRET-mine",
    "MINE": [1.50, {"ü": null}],
    "OUROBOROS_MODEL": "x-ai/grok",
    "OUROBOROS_MAX_ROUNDS": 1000
}
""".replace("SECRET", SECRET)


def settings(file: Path, *more: str, env: dict[str, str] | None = None) -> Done:
    return obo("programbench", "settings", "--into", file, *more, env=env)


def seen(directory: Path) -> list[tuple[object, ...]]:
    """What is in a directory, and whether it was touched."""
    found = [(path.name, path.lstat(), path.read_bytes()) for path in sorted(directory.iterdir())]
    return [(name, status.st_ino, status.st_mtime_ns, status.st_mode, content) for name, status, content in found]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A server's settings file, in the form that somebody wrote by hand."""
    path = tmp_path / "data" / "settings.json"
    path.parent.mkdir()
    path.write_text(FILE, "utf-8")
    path.chmod(0o640)
    return path


def test_without_write_the_difference_is_shown_and_nothing_is_touched(file: Path) -> None:
    before = seen(file.parent)
    done = settings(file)
    assert (done.status, done.stdout) == (0, f"{file}\n")
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in done.stderr.splitlines()}
    assert rows["OUROBOROS_MODEL"] == '"x-ai/grok" "anthropic/claude-opus-4.8"'
    assert rows["OUROBOROS_TASK_REVIEW_MODE"] == '(not set) "required"'
    assert "OUROBOROS_MAX_ROUNDS" not in rows
    assert "nothing was written; --write keeps a copy" in done.stderr
    assert "not touched: MY_TOKEN, OPENROUTER_API_KEY set" in done.stderr
    assert seen(file.parent) == before


def test_it_writes_the_profile_and_keeps_everything_else_to_the_byte(file: Path) -> None:
    done = settings(file, "--write", "--json")
    change = done.envelope["result"]
    jsonschema.validate(change, json_schema(SettingsChange))
    backup = Path(change["backup"])
    assert (done.status, change["written"], backup.parent) == (0, True, file.parent)
    assert backup.read_text("utf-8") == FILE
    assert [stat.S_IMODE(path.stat().st_mode) for path in (file, backup)] == [0o640, 0o640]
    text = file.read_text("utf-8")
    for line in FILE.splitlines()[1:4]:
        assert line in text
    values = json.loads(text)
    wanted = {name: value for name, value in load_profile().items() if not name.endswith(("_KEY", "_PASSWORD"))}
    assert values == {**json.loads(FILE), **wanted}
    assert list(values)[:5] == list(json.loads(FILE))
    assert text.endswith('    "OUROBOROS_POST_TASK_EVOLUTION": "false"\n}\n')
    assert SECRET not in done.stdout + done.stderr
    assert "restart the server" in done.stderr


def test_a_key_in_the_wrong_place_is_not_shown_either(file: Path) -> None:
    file.write_text(json.dumps({"OPENROUTER_API_KEY": SECRET, "OUROBOROS_MODEL": f"model {SECRET}"}))
    for done in (settings(file), settings(file, "--write", "--json")):
        assert SECRET not in done.stdout + done.stderr
        assert "model [redacted]" in done.stdout + done.stderr


def test_a_second_time_there_is_nothing_to_change(file: Path) -> None:
    settings(file, "--write")
    before = seen(file.parent)
    done = settings(file, "--write")
    assert done.status == 0
    assert "nothing to change" in done.stderr
    assert seen(file.parent) == before


def test_the_solving_model_can_be_another_one(file: Path) -> None:
    settings(file, "--write", "--solve-model", "z-ai/glm-5")
    values = json.loads(file.read_text("utf-8"))
    assert values["OUROBOROS_MODEL"] == values["OUROBOROS_MODEL_HEAVY"] == "z-ai/glm-5"
    assert values["OUROBOROS_MODEL_LIGHT"] == "anthropic/claude-sonnet-4.6"


def test_with_one_direct_provider_the_models_are_written_as_the_runtime_asks_for_them(file: Path) -> None:
    file.write_text(json.dumps({"ANTHROPIC_API_KEY": SECRET}))
    environ = {"OPENROUTER_API_KEY": "", "OPENAI_API_KEY": "", "OPENAI_BASE_URL": ""}
    settings(file, "--write", env=environ)
    values = json.loads(file.read_text())
    assert values["OUROBOROS_MODEL"] == "anthropic::claude-opus-4-8"
    assert values["OUROBOROS_REVIEW_MODELS"] == "anthropic::claude-opus-4-8,openai/gpt-5.5,anthropic::claude-sonnet-4-6"
    assert "nothing to change" in settings(file, env=environ).stderr


def test_a_link_stays_a_link_and_a_byte_order_mark_and_line_ends_stay(file: Path, tmp_path: Path) -> None:
    raw = b'\xef\xbb\xbf{\r\n\t"A": 1,\r\n\t"OUROBOROS_MAX_WORKERS": 10}'
    file.write_bytes(raw)
    link = tmp_path / "settings.json"
    link.symlink_to(file)
    done = settings(link, "--write", "--json")
    assert done.envelope["result"]["path"] == str(file)
    assert link.is_symlink()
    text = file.read_bytes()
    assert text.startswith(b'\xef\xbb\xbf{\r\n\t"A": 1,\r\n\t"OUROBOROS_MAX_WORKERS": 4,\r\n\t"OUROBOROS_MODEL": ')
    assert text.endswith(b'"false"}')
    json.loads(text.decode("utf-8-sig"))


def test_owner_and_group_stay(file: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a file away")
    os.chown(file, 1234, 4321)
    done = settings(file, "--write", "--json")
    for path in (file, Path(done.envelope["result"]["backup"])):
        assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)


def test_a_new_file_has_the_blank_keys_to_fill_in(tmp_path: Path) -> None:
    new = tmp_path / "settings.json"
    assert "there is no such file yet" in settings(new).stderr
    assert not new.exists()
    done = settings(new, "--write", "--json")
    assert (done.status, done.envelope["result"]["backup"], done.envelope["result"]["present"]) == (0, None, False)
    assert json.loads(new.read_text()) == load_profile()
    assert stat.S_IMODE(new.stat().st_mode) == 0o600


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"a" 1}', "line 1, column 6"),
        (b'{\n "a": \xff}', "line 2, column 7"),
        (b"[1]", "a JSON object is needed"),
        (b"", "line 1, column 1"),
        (b'{"a": NaN}', "NaN is no JSON value"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_where_it_is_wrong(file: Path, content: bytes, words: str) -> None:
    file.write_bytes(content)
    done = settings(file, "--write", "--json")
    refusal = done.envelope["refusal"]
    assert (done.status, refusal["reason"]) == (5, "settings_unreadable")
    assert words in refusal["message"]
    assert file.read_bytes() == content
    assert list(file.parent.iterdir()) == [file]


def test_what_is_no_settings_file_is_refused(tmp_path: Path) -> None:
    nowhere = tmp_path / "link"
    nowhere.symlink_to(tmp_path / "gone.json")
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    for place, words in (
        (nowhere, "link to nowhere"),
        (tmp_path / "no" / "settings.json", "there is no directory"),
        (tmp_path, "not a regular file"),
        (fifo, "not a regular file"),
        (fifo / "settings.json", "Not a directory"),
    ):
        done = settings(place, "--write", "--json")
        assert (done.status, done.envelope["refusal"]["reason"]) == (5, "settings_unreadable"), place
        assert words in done.envelope["refusal"]["message"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fifo", "link"]


def test_missing_and_empty_values_are_usage_errors(file: Path) -> None:
    assert obo("programbench", "settings", "--json").envelope["outcome"] == "usage_error"
    assert settings(file, "--solve-model", "", "--json").envelope["outcome"] == "usage_error"
