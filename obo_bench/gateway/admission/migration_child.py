"""The process that asks the checkout for its model names: `python -I -B migration_child.py < request > answer`.

It runs in the checkout's interpreter, so it uses the standard library alone and nothing newer than Python 3.8. The
request is a JSON object: `repo_dir`, `module`, `scratch` (the only place that may be written) and `pairs`; the answer
a JSON list. Importing a module runs foreign code: an audit hook denies it files, processes and connections.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from typing import Any

ANSWER_LIMIT = 1024 * 1024
"""Bytes that any file written here may have."""

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_DENIED_FILES = (
    "os.chflags", "os.chmod", "os.chown", "os.link", "os.mkdir", "os.remove", "os.removexattr", "os.rename", "os.rmdir",
    "os.setxattr", "os.symlink", "os.truncate", "os.utime", "shutil.rmtree", "sqlite3.connect",
)  # fmt: skip
_DENIED_PROCESSES = (
    "os.exec", "os.fork", "os.forkpty", "os.kill", "os.killpg", "os.posix_spawn", "os.spawn", "os.startfile",
    "os.system", "pty.spawn", "subprocess.Popen", "webbrowser.open",
)  # fmt: skip
_DENIED_NETWORK = (
    "socket.bind", "socket.connect", "socket.getaddrinfo", "socket.gethostbyname", "socket.sendmsg", "socket.sendto",
)  # fmt: skip
_DENIED = frozenset(_DENIED_FILES + _DENIED_PROCESSES + _DENIED_NETWORK)


class _Guard:
    """The audit hook; what it denies looks to the importing module like a missing permission."""

    def __init__(self, scratch: str) -> None:
        self._scratch = os.path.realpath(scratch) + os.sep

    def __call__(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            path, _, flags = arguments
            denied = bool((flags or 0) & _WRITING) and not self._may_write(path)
        else:
            denied = event in _DENIED
        if denied:
            raise PermissionError(f"{event} is denied while model names are asked for: {str(arguments)[:200]}")

    def _may_write(self, path: Any) -> bool:
        if isinstance(path, int) or path == os.devnull:
            return True
        text = os.fsdecode(path)
        # A relative path may belong to a directory descriptor that the event does not show.
        return text.startswith(os.sep) and os.path.realpath(text).startswith(self._scratch)


def main() -> None:
    """Answer the request on the standard output, whatever the imported module prints there itself."""
    answer_to = os.dup(1)
    os.dup2(2, 1)
    _bound_files()
    request = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    sys.addaudithook(_Guard(request["scratch"]))
    sys.path.insert(0, request["repo_dir"])
    migrate = importlib.import_module(request["module"]).migrate_model_value
    answers = [migrate(provider, name) for provider, name in request["pairs"]]
    os.write(answer_to, json.dumps(answers).encode("ascii"))
    # Neither threads nor exit handlers of the imported module may hold or change anything any more.
    os._exit(0)


def _bound_files() -> None:
    import resource

    resource.setrlimit(resource.RLIMIT_FSIZE, (ANSWER_LIMIT, ANSWER_LIMIT))


if __name__ == "__main__":
    main()
