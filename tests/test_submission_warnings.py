"""What an operator is told of a submission: build scripts, prebuilt programs, and what the hidden tests would load."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from obo_bench.programbench.packaging.collection_rules import PYTEST_FILES
from obo_bench.programbench.packaging.prebuilt import builds_nothing, is_program
from obo_bench.programbench.packaging.pytest_influences import configures_pytest
from obo_bench.programbench.packaging.submission import CompileScriptCheck, package_workspace
from tests.submission_trees import flags, idle_container

PROGRAM = Path(sys.executable).read_bytes()[:5000]


@pytest.mark.parametrize(
    ("content", "mode", "check", "warnings"),
    [
        (b"#!/bin/sh\nmake\n", 0o755, (True, True, False, False), ()),
        (b"make", 0o755, (True, True, False, False), ()),
        (
            b"#!/bin/sh\r\nmake\r\n",
            0o644,
            (True, False, True, False),
            ("compile_script_not_executable", "compile_script_crlf"),
        ),
        (None, 0, (False, False, False, False), ("compile_script_missing",)),
        (b"#!/bin/sh\ncp src/main.sh executable\n", 0o755, (True, True, False, True), ()),
    ],
)
def test_the_build_script_is_looked_at(
    workspace: Path,
    destination: Path,
    content: bytes | None,
    mode: int,
    check: tuple[bool, bool, bool, bool],
    warnings: tuple[str, ...],
) -> None:
    (workspace / "compile.sh").unlink()
    if content is not None:
        (workspace / "compile.sh").write_bytes(content)
        (workspace / "compile.sh").chmod(mode)
    record = package_workspace(workspace, destination)
    present, executable, crlf, nothing = check
    assert record.compile_sh == CompileScriptCheck(
        present=present, executable=executable, crlf=crlf, builds_nothing=nothing
    )
    assert record.warnings == warnings


@pytest.mark.parametrize(("target", "present"), [("src/main.sh", True), ("/bin/sh", False), ("src", False)])
def test_compile_script_may_be_a_link_in_the_tree(
    workspace: Path, destination: Path, target: str, present: bool
) -> None:
    (workspace / "compile.sh").unlink()
    (workspace / "compile.sh").symlink_to(target)
    assert package_workspace(workspace, destination).compile_sh.present is present


@pytest.mark.parametrize(
    ("script", "nothing"),
    [
        ("#!/bin/sh\nset -e\ncp bin/tool executable && chmod +x executable\n", True),
        ('cd "$(dirname "$0")"\nbase64 -d < tool.b64 | gunzip > ./executable # make\nchmod 755 ./executable', True),
        ("mv prebuilt/app executable; exit 0", True),
        ("if [ -f app ]; then\n  install -m 755 \\\n app executable\nfi", True),
        ("FROM=bin/app /bin/cp $FROM executable", True),
        ("ln -s ../app executable || { echo failed; exit 1; }", True),
        ("gcc -O2 -o executable src/*.c", False),
        ("cp app executable\ncargo build --release", False),
        ("CGO_ENABLED=0 exec go build -o executable .", False),
        ("python3 build.py", False),
        ("./configure && make", False),
        ("rustc main.rs -o executable || cp app executable", False),
        ("# cp app executable", False),
        ("", False),
    ],
)  # fmt: skip
def test_a_script_that_only_copies_is_told_from_one_that_builds(script: str, nothing: bool) -> None:
    assert builds_nothing(script.encode()) is nothing


def test_a_script_that_copies_a_prebuilt_program_is_warned_about(workspace: Path, destination: Path) -> None:
    (workspace / "compile.sh").write_text("#!/bin/sh\ncp bin/tool executable\n")
    (workspace / "bin").mkdir()
    (workspace / "bin" / "tool").write_bytes(PROGRAM)
    record = package_workspace(workspace, destination)
    assert record.warnings == ("compile_script_copies_prebuilt_binary",)
    assert flags(record) == {"bin/tool": "prebuilt_binary"}


@pytest.mark.parametrize(
    ("beginning", "program"),
    [
        (PROGRAM, True),
        (b"\x7fELF", True),
        (b"\xcf\xfa\xed\xfe\x07\x00\x00\x01", True),
        (b"\xca\xfe\xba\xbe\x00\x00\x00\x02", True),
        (b"\xca\xfe\xba\xbe\x00\x00\x00\x34", False),
        (b"MZ" + bytes(58) + b"\x80\0\0\0" + bytes(64) + b"PE\0\0", True),
        (b"MZ is how this text begins" + b"." * 100, False),
        (b"!<arch>\nmain.o/", True),
        (b"#!/bin/sh\n", False),
        (b"", False),
    ],
)
def test_compiled_programs_are_known_by_their_beginning(beginning: bytes, program: bool) -> None:
    assert is_program(beginning) is program


HARMLESS = (
    "src/json.py",
    "src/conftest.py",
    "main.py",
    "json/data.txt",
    "json.txt",
    "jsonx.py",
    "sub/json/__init__.py",
)
SHADOWS = ("json.py", "pytest/__init__.py", "xdist.so", "subprocess.cpython-311-x86_64-linux-gnu.so", "random.pyc")
CONFIGURATION = {
    "pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-x'\n",
    "tox.ini": "[tox]\n[pytest]\naddopts = -x\n",
    "setup.cfg": "[metadata]\n[tool:pytest]\naddopts = -x\n",
}


def fill(root: Path, names: tuple[str, ...]) -> None:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("")


def test_what_the_hidden_tests_would_load_is_flagged(workspace: Path, destination: Path) -> None:
    fill(workspace, SHADOWS + HARMLESS)
    for name, content in CONFIGURATION.items():
        (workspace / name).write_text(content)
        (workspace / "src" / name).write_text(content)
    (workspace / "logging").symlink_to("src")
    expected = dict.fromkeys([*SHADOWS, *CONFIGURATION, "logging"], "may_affect_tests")
    assert flags(package_workspace(workspace, destination)) == expected


@pytest.mark.parametrize(
    ("name", "content", "counts"),
    [
        ("pyproject.toml", b"[project]\nname = 'pytest'\n", False),
        ("pyproject.toml", b"tool.pytest.ini_options.addopts = '-x'\n", True),
        ("pyproject.toml", b"tool = 3\n", False),
        ("pyproject.toml", b"not [ toml", True),
        ("pyproject.toml", b"\xff", True),
        ("tox.ini", b"[testenv]\ncommands = pytest\n", False),
        ("setup.cfg", b"[metadata]\nname = pytest\n", False),
    ],
)
def test_only_a_section_for_pytest_counts(name: str, content: bytes, counts: bool) -> None:
    assert configures_pytest(name, content) is counts


def test_links_to_what_is_left_out_are_flagged_and_a_lost_package_is_warned_about(
    workspace: Path, destination: Path
) -> None:
    (workspace / "eval").mkdir()
    (workspace / "eval" / "eval.go").touch()
    (workspace / "alias").symlink_to("src/../reference_executable")
    (workspace / "tests").symlink_to("eval")
    record = package_workspace(workspace, destination)
    assert flags(record) == dict.fromkeys(("alias", "tests"), "links_to_excluded_path")
    assert record.warnings == ("tests_directory_left_out",)


LOADED = "open('/tmp/loaded', 'w').close()\n"
TRY = """
rm -rf /w /tmp/loaded
mkdir -p /w/eval/tests "/w/$(dirname "{name}")"
cd /w
echo 'def test_a(): pass' >eval/tests/test_a.py
cat >"{name}" <<'END'
{content}
END
python3 -m pytest -q eval/tests/ >/dev/null 2>&1
status=$?
if [ -e /tmp/loaded ] || [ $status = 4 ]; then echo "{name}"; fi
"""
"""Starts tests as the evaluator's own task does; prints the name of a file that was executed or obeyed."""


@pytest.fixture(scope="module")
def container(practice_images: None) -> Iterator[str]:
    with idle_container() as name:
        yield name


@pytest.mark.docker
def test_the_rules_name_what_pytest_really_loads(container: str) -> None:
    modules = ["conftest.py", "json.py", "pytest/__init__.py", "logging/__init__.py", "pytest_timeout.py"]
    unseen = ["src/conftest.py", "src/json.py", "conftest/__init__.py", "setup.py"]
    ignored = {"src/pytest.ini": "[pytest]\naddopts = --absent", "eval.cfg": "[pytest]\naddopts = --absent"}
    obeyed = dict.fromkeys(("pytest.ini", ".pytest.ini"), "[pytest]\naddopts = --absent")
    obeyed |= {name: text.replace("-x", "--absent") for name, text in CONFIGURATION.items()}
    candidates = {**dict.fromkeys([*modules, *unseen], LOADED), **ignored, **obeyed}
    script = "".join(TRY.format(name=name, content=content) for name, content in candidates.items())
    command = ["docker", "exec", "-i", container, "bash", "-s"]
    done = subprocess.run(command, input=script, capture_output=True, text=True, timeout=120, check=True)
    loaded = set(done.stdout.splitlines())
    assert loaded == {*modules, *obeyed}
    # These came with a later pytest than the image has.
    assert loaded & set(PYTEST_FILES) == set(PYTEST_FILES) - set(LATER_FILES)


LATER_FILES = ("pytest.toml", ".pytest.toml")


@pytest.mark.parametrize("name", LATER_FILES)
def test_a_later_pytest_obeys_these_as_well(tmp_path: Path, name: str) -> None:
    (tmp_path / "test_a.py").write_text("def test_a(): pass\n")
    (tmp_path / name).write_text("[pytest]\naddopts = ['--absent']\n")
    command = [sys.executable, "-m", "pytest", "-q", "test_a.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 4
    assert "--absent" in done.stderr
