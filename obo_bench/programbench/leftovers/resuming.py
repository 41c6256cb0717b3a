"""The command line that goes on with a recorded run."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_NOT_AGAIN = frozenset({"--redo-existing"})
"""Flags that a resume must not repeat: this one would cancel what still runs and solve it again."""
_PRACTICE = "practice__"
"""How the instances of a practice are called."""


def resuming(arguments: Sequence[str], run_id: str) -> list[str]:
    """Return the command line that goes on with a run: the operator's own, with the run's id."""
    kept = [argument for argument in arguments if argument not in _NOT_AGAIN]
    named = any(argument == "--run-id" or argument.startswith("--run-id=") for argument in kept)
    return kept if named else [*kept, "--run-id", run_id]


def is_practice(manifest: Mapping[str, Any]) -> bool:
    """Say whether all of its instances are practice programs, which only `practice` can solve and grade."""
    ids = manifest.get("requested_task_ids") or []
    return bool(ids) and all(str(name).startswith(_PRACTICE) for name in ids)


def _began_it(manifest: Mapping[str, Any], run_root: Path) -> bool:
    """Say whether `practice` began the run, and not somebody who typed the line that `practice gateway` shows."""
    return _part(manifest, "harness").get("practice") == str(run_root.parents[2])


def recorded_resume(manifest: Mapping[str, Any], run_root: Path, *, server_answers: bool = False) -> list[str]:
    """Return the command line that goes on with a run from any directory and in any environment, by its manifest.

    What the operator had named relative to his directory, or by variables, is named by its absolute path. A practice
    is gone on with by `practice`, which starts the server that it had, unless its server still answers: a second one
    on the same data would fail the tasks of the first.
    """
    if is_practice(manifest) and not server_answers and _began_it(manifest, run_root):
        return ["obo-bench", "practice", "--directory", str(run_root.parents[2]), "--run-id", run_root.name]
    command = resuming([str(word) for word in (manifest.get("argv") or [])[1:]], run_root.name)
    needed = {"--repo-dir": _text(_part(manifest, "source").get("repo_dir")), "--runs-root": str(run_root.parents[1])}
    for option, value in needed.items():
        command = _replaced(command, option, value, add=True) if value else command
    for option, value in _named_files(_part(manifest, "harness")).items():
        command = _replaced(command, option, value, add=False) if value else command
    return ["obo-bench", *command]


def needed_variables(manifest: Mapping[str, Any]) -> list[str]:
    """Return the environment variables whose values a resume needs as well, because no option repeats them."""
    origins = _part(_part(manifest, "harness"), "origins")
    taken = {name: _text(origin) for name, origin in origins.items() if name not in ("repo_dir", "runs_root", "run_id")}
    return sorted(origin.split(" ", 1)[1] for origin in taken.values() if origin.startswith("environment "))


def _named_files(harness: Mapping[str, Any]) -> dict[str, str]:
    return {
        "--settings-path": _text(_part(harness, "settings").get("path")),
        "--ids-file": _text(_part(harness, "selector").get("ids_file")),
        "--pin-digests": _text(harness.get("pin_digests")),
    }


def _replaced(command: Sequence[str], option: str, value: str, *, add: bool) -> list[str]:
    """Return the command with the option's value replaced; `add` gives it one where it had none."""
    words = list(command)
    for at, word in enumerate(words):
        if word == option and at + 1 < len(words):
            words[at + 1] = value
            return words
        if word.startswith(f"{option}="):
            words[at] = f"{option}={value}"
            return words
    return [*words, option, value] if add else words


def _part(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name)
    return found if isinstance(found, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
