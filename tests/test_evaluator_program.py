"""Which official evaluator is found, how it is refused early, and how its client is wrapped."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.evaluation.docker_wrapper import remove_labelled, write_wrapper
from obo_bench.programbench.evaluation.evaluator_program import find_evaluator, preflight_evaluator
from obo_bench.programbench.evaluation.evaluator_settings import container_cpus
from tests.evaluation_case import INSTANCE, script

BASE = {"PATH": os.environ["PATH"], "PROGRAMBENCH_DOCKER_EXECUTABLE": "/bin/true"}
PROGRAMBENCH = Path(sys.executable).with_name("programbench")


def test_the_evaluator_of_our_own_interpreter_comes_first() -> None:
    identity = preflight_evaluator(BASE)
    assert (identity.python, identity.command[0]) == (sys.executable, sys.executable)
    assert (identity.tasks_dir / INSTANCE / "task.yaml").is_file()
    assert identity.image_name(INSTANCE, "t") == "programbench/testorg_1776_calculator.abc1234:t"


def test_a_package_named_by_pythonpath_and_the_image_prefix_are_those_of_the_evaluator(tmp_path: Path) -> None:
    package = tmp_path / "programbench"
    (package / "cli").mkdir(parents=True)
    (package / "__init__.py").write_text("__version__ = '9.9.9'", encoding="utf-8")
    (package / "cli" / "__init__.py").touch()
    (package / "cli" / "main.py").touch()
    (package / "constants.py").write_text("TASKS_DIR = '/tasks'\nDOCKER_ORG = 'mine'", encoding="utf-8")
    identity = find_evaluator({**BASE, "PYTHONPATH": str(tmp_path)})
    assert (identity.version, identity.tasks_dir, identity.image_prefix) == ("9.9.9", Path("/tasks"), "mine")


def without_package(tmp_path: Path) -> dict[str, str]:
    """Return an environment in which no interpreter of its own finds the package."""
    broken = tmp_path / "broken" / "programbench"
    broken.mkdir(parents=True)
    (broken / "__init__.py").write_text("raise ImportError('no programbench here')", encoding="utf-8")
    return {**BASE, "PATH": str(tmp_path / "bin"), "PYTHONPATH": str(broken.parent)}


def other_python(tmp_path: Path, name: str, text: str) -> Path:
    (tmp_path / "bin").mkdir(exist_ok=True)
    return script(tmp_path / "bin" / name, text)


def test_another_python_on_the_path_is_used_when_ours_lacks_the_package(tmp_path: Path) -> None:
    environ = without_package(tmp_path)
    other_python(tmp_path, "python3.12", "echo too broken >&2; exit 3")
    good = other_python(tmp_path, "python3.11", f'unset PYTHONPATH; exec {sys.executable} "$@"')
    identity = find_evaluator(environ)
    assert identity.command[0] == str(good)
    assert identity.python == sys.executable, "what it is, is what it says itself"
    assert (identity.tasks_dir / INSTANCE).is_dir()


def test_what_was_tried_is_told_when_no_python_will_do(tmp_path: Path) -> None:
    environ = without_package(tmp_path)
    old = other_python(tmp_path, "python3.12", 'echo "ImportError: cannot import name Self" >&2; exit 1')
    with pytest.raises(PreflightRefused, match="cannot import name Self") as caught:
        find_evaluator(environ)
    assert caught.value.reason == "evaluator_unavailable"
    assert list(caught.value.evidence["tried"]) == [sys.executable, str(old)]
    assert "PROGRAMBENCH_PYTHON" in caught.value.remedy


def test_a_python_that_was_named_is_the_only_one_tried(tmp_path: Path) -> None:
    named = other_python(tmp_path, "named", "exit 4")
    with pytest.raises(PreflightRefused, match="status 4") as caught:
        find_evaluator({**BASE, "PROGRAMBENCH_PYTHON": str(named)})
    assert list(caught.value.evidence["tried"]) == [str(named)]


def test_a_command_line_that_was_named_is_run_and_the_package_is_its_own(tmp_path: Path) -> None:
    launcher = tmp_path / "my tools" / "programbench"
    launcher.parent.mkdir()
    launcher.write_bytes(PROGRAMBENCH.read_bytes())
    launcher.chmod(0o755)
    identity = preflight_evaluator({**BASE, "PROGRAMBENCH_CLI": f"'{launcher}'"})
    assert identity.command[-2:] == ("--command", str(launcher))
    assert Path(identity.python).samefile(sys.executable)
    words = preflight_evaluator({**BASE, "PROGRAMBENCH_CLI": f"{sys.executable} -m programbench.cli.main"}).command
    assert words[-3:] == (sys.executable, "-m", "programbench.cli.main")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"PATH": "/nonexistent", "PROGRAMBENCH_DOCKER_EXECUTABLE": ""}, "'docker' is not an executable"),
        ({"PROGRAMBENCH_DOCKER_EXECUTABLE": "/bin/false"}, "ended with status 1"),
        ({"PROGRAMBENCH_DOCKER_CPUS": "many"}, "PROGRAMBENCH_DOCKER_CPUS is 'many'"),
        ({"PROGRAMBENCH_DOCKER_CP_TIMEOUT": "0"}, "PROGRAMBENCH_DOCKER_CP_TIMEOUT is '0'"),
        ({"PROGRAMBENCH_CLI": "'half"}, "is not a command line"),
        ({"PROGRAMBENCH_CLI": "/nowhere/programbench"}, "'/nowhere/programbench' is not an executable"),
        ({"PROGRAMBENCH_CLI": "/bin/sh"}, "name the interpreter that has the package with PROGRAMBENCH_PYTHON"),
        ({"PROGRAMBENCH_CLI": "/bin/false", "PROGRAMBENCH_PYTHON": sys.executable}, "/bin/false ended with status 1"),
    ],
)
def test_an_evaluator_that_cannot_run_is_refused(changes: dict[str, str], words: str) -> None:
    with pytest.raises(PreflightRefused, match=words) as caught:
        preflight_evaluator({**BASE, **changes})
    assert caught.value.reason == "evaluator_unavailable"


@pytest.mark.parametrize(
    ("asked", "variable", "engine", "cpus"),
    [(None, None, 2, 2), (None, None, 64, 4), (None, "3", 64, 3), (9, "3", 8, 8)],
)
def test_a_container_gets_the_cores_asked_for_within_the_engines(
    asked: int | None, variable: str | None, engine: int, cpus: int
) -> None:
    environ = {"PROGRAMBENCH_DOCKER_CPUS": variable} if variable else {}
    assert container_cpus(asked, environ, engine) == cpus


def test_the_wrapper_labels_what_is_made_and_nothing_else(tmp_path: Path) -> None:
    real, wrapper = tmp_path / "real client", tmp_path / "docker"
    script(real, 'printf "%s\\n" "$@"')
    write_wrapper(wrapper, str(real), {"a": "it's $HOME", "b": "2"})
    assert stat.S_IMODE(wrapper.stat().st_mode) == 0o700

    def said(*argv: str) -> list[str]:
        done = subprocess.run([wrapper, *argv], capture_output=True, text=True, check=True, timeout=10)
        return done.stdout.splitlines()

    assert said("run", "-d", "image x") == ["run", "--label", "a=it's $HOME", "--label", "b=2", "-d", "image x"]
    changes = ["--change", 'LABEL "a"="it\'s \\$HOME"', "--change", 'LABEL "b"="2"']
    assert said("commit", "id", "ref") == ["commit", *changes, "id", "ref"]
    assert said("exec", "run", "commit") == ["exec", "run", "commit"]


def test_without_labels_nothing_is_removed() -> None:
    with pytest.raises(ValueError, match="every container"):
        remove_labelled("/bin/false", {}, {}, 0.0)
