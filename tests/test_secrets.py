"""The canary: secrets put wherever they are in real life are in no file of the run, on no screen, on no container.

Each place has a value of its own, so that knowing one of them hides none of the others. The server is the stand-in
behind a proxy that echoes what it was sent, in every form that servers use.
"""

import base64
import http.client
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

import pytest

from tests.conftest import answering, git
from tests.test_run import Bench, bench, docker

__all__ = ["bench"]  # the fixture

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]

Serve = Callable[..., str]
SETTINGS = {
    "OPENROUTER_API_KEY": "sk-or-v1-canary-settings-7c1f0e9b2d4a6885731c0f9e",
    "ANTHROPIC_API_KEY": "canary-anthropic-9Qz4tV",
    "GITHUB_TOKEN": 'canary github "quoted" \\ back / é€ <&> 51',
    "TELEGRAM_BOT_TOKEN": "canary-telegram+4/7=",
}
ENVIRONMENT = {
    "OPENAI_API_KEY": "canary-openai-env-3fB8",
    "OUROBOROS_NETWORK_PASSWORD": 'canary-pass "wörd" \\ 8/8 & more',
    "MY_DEPLOY_SECRET": "canary-deploy-77aa88bb99cc",
    "AWS_SECRET_ACCESS_KEY": "canaryAWS/abc+def/0123456789abcdefghijkl",
}
IN_URL = "canary-userinfo-60d1"
IN_REMOTE = "canary-remote-b41e"
EVERY = [*SETTINGS.values(), *ENVIRONMENT.values(), IN_URL, IN_REMOTE]


def escaped(secret: str) -> set[str]:
    """The forms in which texts hold a secret."""
    once = {json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    twice = {json.dumps(text)[1:-1] for text in once}
    return {secret, quote(secret), quote(secret, safe=""), secret.encode().hex(), repr(secret)[1:-1], *once, *twice}


def in_base64(secret: str) -> list[str]:
    """The secret after nothing, one and two bytes: each gives other letters."""
    return [base64.b64encode(before + secret.encode()).decode() for before in (b"", b"x", b"xx")]


def forms(secret: str) -> set[str]:
    """The forms in which a secret would be of use to who finds it; of base64 what is the same in longer text."""
    return escaped(secret) | {text.rstrip("=")[4 * (at > 0) : -3] for at, text in enumerate(in_base64(secret))}


def leaks(text: str) -> list[str]:
    """What of any canary is in the text; a long one also when only its first two thirds are."""
    cut = [secret[: len(secret) * 2 // 3] for secret in EVERY if len(secret) > 24]
    return [form for secret in EVERY for form in forms(secret) if form in text] + [part for part in cut if part in text]


def told(sent: str) -> str:
    """All canaries, as a careless server or agent tells them, some of them where a text is cut off."""
    shown = [form for secret in EVERY for form in [*sorted(escaped(secret)), *in_base64(secret)]]
    padding = "x" * (500 - len("env: ") - 30)
    return f"env: {padding}{SETTINGS['OPENROUTER_API_KEY']} {sent} {' '.join(shown)} {json.dumps(SETTINGS)}"


class Proxy:
    """Forwards to the stand-in, and echoes secrets in results and errors."""

    def __init__(self, upstream: str) -> None:
        self.upstream = urlsplit(upstream).netloc
        self.refuse_tasks = False
        self.sent: set[str] = set()

    def handler(self) -> type[BaseHTTPRequestHandler]:
        proxy = self

        class Forward(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                authorization = self.headers.get("Authorization", "")
                proxy.sent.add(authorization)
                decoded = base64.b64decode(authorization.partition(" ")[2]).decode("utf-8", "replace")
                echo = told(f"Authorization: {authorization} ({decoded}, {quote(decoded)})")
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                if proxy.refuse_tasks and self.command == "POST" and self.path == "/api/tasks":
                    self.answer(400, json.dumps({"error": echo}).encode())
                    return
                upstream = http.client.HTTPConnection(proxy.upstream, timeout=60)
                upstream.request(self.command, self.path, body, {"Content-Type": "application/json"})
                answer = upstream.getresponse()
                data = answer.read()
                upstream.close()
                self.answer(answer.status, with_echo(data, echo), answer.headers.get("Content-Type", ""))

            do_POST = do_GET  # noqa: N815  # the name is the protocol's

            def answer(self, status: int, body: bytes, kind: str = "application/json") -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                pass

        return Forward


def with_echo(data: bytes, echo: str) -> bytes:
    """Put the echo into the record of a task, as the agent's last word and in fields that nobody knows."""
    try:
        record = json.loads(data)
    except ValueError:
        return data
    if not isinstance(record, dict) or "task_id" not in record or "result" not in record:
        return data
    dump = {"environment": dict(zip(ENVIRONMENT, ENVIRONMENT.values(), strict=True)), "api_key": "canary-unknown-1"}
    record |= {"result": echo, "review_note": [echo, {"stdout": echo}], "debug": dump, echo[:60]: echo}
    return json.dumps(record).encode()


@pytest.fixture
def proxy(serve: Serve) -> Iterator[tuple[Proxy, str]]:
    made = Proxy(serve(solve_delay_sec=1.0))
    with answering(made.handler()) as host:
        yield made, f"http://operator:{quote(IN_URL)}@{host}"


@pytest.fixture
def talkative(bench: Bench, tmp_path: Path) -> Bench:
    """Canaries in settings, environment and remote, and an evaluator that shows its environment."""
    settings = tmp_path / "conf" / "settings.json"
    settings.parent.mkdir()
    settings.write_text(json.dumps(SETTINGS))
    git(bench.checkout, "remote", "add", "origin", f"https://operator:{IN_REMOTE}@example.invalid/x.git")
    hook = tmp_path / "hook"
    hook.mkdir()
    (hook / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if any('official_child' in part for part in sys.orig_argv):\n"
        "    print('environment:', dict(os.environ), file=sys.stderr)\n"
        "    print(*(value for name, value in os.environ.items()))\n"
    )
    bench.env |= {**ENVIRONMENT, "PYTHONPATH": f"{hook}{os.pathsep}{bench.env['PYTHONPATH']}"}
    bench.env["OUROBOROS_SETTINGS_PATH"] = str(settings)
    return bench


class Spy:
    """Sees the containers of a run and the command lines of what it starts, while it runs."""

    def __init__(self) -> None:
        self.containers: set[str] = set()
        self.commands: set[str] = set()
        self._done = threading.Event()

    def watch(self, process: "subprocess.Popen[bytes]") -> None:
        # A child shows its parent's command line, which the operator typed, until it has one of its own.
        typed = Path(f"/proc/{process.pid}/cmdline").read_text()
        while not self._done.wait(0.1):
            for container in docker("ps", "-aq", "--filter", "label=obo-bench.run=r").split():
                seen = subprocess.run(["docker", "inspect", container], capture_output=True, check=False, text=True)
                self.containers.add(seen.stdout)
            for place in Path("/proc").glob("[0-9]*"):
                try:
                    ours = f"\nPPid:\t{process.pid}\n" in (place / "status").read_text()
                    command = (place / "cmdline").read_text()
                    if ours and command != typed:
                        self.commands.add(command)
                except OSError:
                    continue

    def stop(self) -> None:
        self._done.set()


def run(bench: Bench, url: str, *more: str) -> tuple[int, str, Spy]:
    """Run to the end under the eyes of the spy; returns the status and all that was shown."""
    spy = Spy()
    process = bench.start(url, *more)
    watching = threading.Thread(target=spy.watch, args=(process,))
    watching.start()
    try:
        stdout, stderr = process.communicate(timeout=240)
    finally:
        spy.stop()
        watching.join()
    return process.returncode, f"{stdout.decode()}\n{stderr.decode()}", spy


def assert_clean(bench: Bench, shown: str, spy: Spy) -> None:
    assert leaks(shown) == []
    assert leaks(unquote(shown)) == []
    written = [path for path in bench.root.rglob("*") if path.is_file() and "workspace" not in path.parts]
    assert len(written) > 8
    for path in written:
        text = path.read_bytes().decode("utf-8", "replace")
        assert leaks(text) == [], path
        assert not leaks(str(path)), path
        if path.suffix == ".json":
            assert leaks(json.dumps(json.loads(text), ensure_ascii=False)) == [], path
        assert "canary-unknown-1" not in text, path
    assert spy.containers
    for seen in spy.containers | spy.commands:
        assert leaks(seen) == []


def test_no_canary_is_on_disk_or_screen_or_containers(talkative: Bench, proxy: tuple[Proxy, str]) -> None:
    echoing, url = proxy
    status, shown, spy = run(talkative, url, "--eval")
    assert status == 0, shown
    assert any(echoing.sent), "the server was sent no password"
    logs = [path.read_text() for path in (talkative.root / "eval").rglob("practice__*.std*.log")]
    assert [text for text in logs if "environment:" in text], "the evaluator did not talk"
    assert_clean(talkative, shown, spy)

    echoing.refuse_tasks = True
    status, shown, spy = run(talkative, url, "--redo-existing")
    assert status != 0
    assert "[redacted]" in talkative.rows()[-1]["error"]
    assert_clean(talkative, shown, spy)


def test_the_detector_sees_what_it_looks_for() -> None:
    for secret in EVERY:
        assert all(leaks(f"x{form}y") for form in forms(secret))
    assert leaks(json.dumps({"a": told("")}))
    assert sys.executable
