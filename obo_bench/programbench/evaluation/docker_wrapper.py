"""Puts our labels on every container and image that the official evaluator makes, and removes what carries them.

The evaluator's docker client is replaced by a thin script that adds the labels and then becomes the real client.
"""

import json
import shlex
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from obo_bench.core.process import ask

_CALL_TIMEOUT_SEC = 120.0
_POLL_SEC = 0.25
_DEADLINE_SEC = 60.0


def write_wrapper(path: Path, docker: str, labels: Mapping[str, str]) -> None:
    """Write the executable script at `path` that stands in for the client `docker` (an absolute path)."""
    real = shlex.quote(docker)
    on_run = " ".join(f"--label {shlex.quote(f'{key}={value}')}" for key, value in labels.items())
    on_commit = " ".join(f"--change {shlex.quote(_label_instruction(key, labels[key]))}" for key in labels)
    path.write_text(
        "#!/bin/sh\n"
        'case "${1-}" in\n'
        f'  run) shift; exec {real} run {on_run} "$@" ;;\n'
        f'  commit) shift; exec {real} commit {on_commit} "$@" ;;\n'
        "esac\n"
        f'exec {real} "$@"\n',
        encoding="utf-8",
    )
    path.chmod(0o700)


def _label_instruction(key: str, value: str) -> str:
    def quoted(text: str) -> str:
        return json.dumps(text, ensure_ascii=False).replace("$", "\\$")

    return f"LABEL {quoted(key)}={quoted(value)}"


def remove_labelled(docker: str, environ: Mapping[str, str], labels: Mapping[str, str], quiet_sec: float) -> list[str]:
    """Remove all containers and images that carry all `labels`; return what could not be done, in words.

    The engine may still be finishing an order of a client that was killed, so the search goes on until nothing
    was found for `quiet_sec` seconds. Never raises for a failing engine.
    """
    if not labels:
        raise ValueError("no labels are given: without one, every container of the engine would be removed")
    filters = [word for key, value in labels.items() for word in ("--filter", f"label={key}={value}")]
    started = last_seen = time.monotonic()
    while True:
        problems: list[str] = []
        found = _remove_all(docker, environ, ["ps", "-aq", "--no-trunc", *filters], ["rm", "-f", "-v"], problems)
        found |= _remove_all(docker, environ, ["images", "-q", "--no-trunc", *filters], ["rmi", "-f"], problems)
        now = time.monotonic()
        last_seen = now if found else last_seen
        if now - started > _DEADLINE_SEC or (not found and (problems or now - last_seen >= quiet_sec)):
            return problems
        time.sleep(_POLL_SEC)


def _remove_all(
    docker: str, environ: Mapping[str, str], listing: list[str], removal: list[str], problems: list[str]
) -> bool:
    listed = _call([docker, *listing], environ, problems)
    ids = list(dict.fromkeys(listed.split()))
    if ids:
        _call([docker, *removal, *ids], environ, problems)
    return bool(ids)


def _call(argv: list[str], environ: Mapping[str, str], problems: list[str]) -> str:
    try:
        done = ask(argv, environ, _CALL_TIMEOUT_SEC)
    except (OSError, subprocess.TimeoutExpired) as error:
        problems.append(f"`docker {argv[1]}`: {error}")
        return ""
    if done.returncode:
        problems.append(f"`docker {argv[1]}`: {done.stderr[-300:].decode('utf-8', 'replace').strip()}")
    return done.stdout.decode("utf-8", "replace")
