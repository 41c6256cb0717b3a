"""How to repeat a command that was killed and goes on by being repeated: of a launcher, an export, an attestation."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from obo_bench.core.redact import MASK, process_redactor
from obo_bench.core.roots import without_dots
from obo_bench.programbench.leftovers.resuming import needed_variables, recorded_resume
from obo_bench.report.launched import BENCHMARK_RUN, EXEC, again
from obo_bench.report.status.document import ResumeStatus
from obo_bench.report.status.record import Record, mapping


def repeated(record: Record) -> ResumeStatus:
    """Return the command line; none where a part of it was not recorded, so that nothing can be started by mistake."""
    argv = record.manifest.get("argv")
    words = [str(word) for word in argv] if isinstance(argv, list) else []
    command = record.manifest.get("command")
    if command == BENCHMARK_RUN:
        note = f"{again(BENCHMARK_RUN, record.root)}; its command line was: {shlex.join(words)}"
        return ResumeStatus(command=[], shell="", steps={}, notes=[note])
    if command == EXEC:
        return _launch(record, words)
    return _shown(["obo-bench", *words[1:]], "", [])


def _launch(record: Record, words: Sequence[str]) -> ResumeStatus:
    """Go on with a launcher where it was started, with our options as they hold in any directory."""
    launcher = mapping(record.harness.get("launcher"))
    own, theirs = _parted(words, launcher)
    repo_dir = mapping(record.manifest.get("source")).get("repo_dir")
    source = {"repo_dir": str(without_dots(Path(str(repo_dir))))} if repo_dir else {}
    command = recorded_resume({**record.manifest, "argv": own, "source": source}, record.root)
    notes = []
    if variables := needed_variables(record.manifest):
        notes.append(f"set what came from the environment as it was: {', '.join(variables)}")
    return _shown([*command, "--", *theirs], str(launcher.get("cwd") or ""), notes)


def _parted(words: Sequence[str], launcher: Mapping[str, Any]) -> tuple[list[str], list[str]]:
    """Part a command line into our words and the launcher's own, which are its last."""
    told = launcher.get("command")
    count = len(told) if isinstance(told, list) else 0
    at = max(0, len(words) - count)
    own = list(words[:at])
    return own[:-1] if own[-1:] == ["--"] else own, list(words[at:])


def _shown(words: list[str], cwd: str, notes: list[str]) -> ResumeStatus:
    # What is a secret of the reader's environment is masked when the line is shown, so it is looked for here.
    command = [process_redactor().text(word) for word in words]
    if any(MASK in word for word in command):
        missing = list(dict.fromkeys(_masked(command)))
        named = f": {', '.join(missing)}" if missing else ""
        place = f" in {shlex.quote(cwd)}" if cwd else ""
        note = (
            f"the command line held what must not be recorded, so it cannot be given whole: repeat it{place} as "
            f"`argv` of run_manifest.json has it, and fill in every {MASK}{named}"
        )
        return ResumeStatus(command=[], shell="", steps={}, notes=[note, *notes])
    enter = f"cd {shlex.quote(cwd)} && " if cwd else ""
    return ResumeStatus(command=command, shell=f"{enter}{shlex.join(command)}", steps={}, notes=notes)


def _masked(command: Sequence[str]) -> Iterator[str]:
    """Yield the options whose values are missing."""
    for before, word in pairwise(command):
        if MASK in word:
            option = (word if word.startswith("-") else before).partition("=")[0]
            yield from [option] if option.startswith("-") else []
