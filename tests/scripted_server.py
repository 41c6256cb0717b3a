"""A server of which a test decides what it says about itself; and settings as a real one shows them."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.conftest import answering

READY = {"supervisor_ready": True, "supervisor_error": None, "workers_alive": 2, "workers_total": 2, "uptime": 5}
ROUTED = {"OPENROUTER_API_KEY": "sk-or-v1...", "OUROBOROS_MODEL": "anthropic/claude-opus-4.8"}
"""Settings of a server that reaches its models through OpenRouter."""


def health(version: str = "6.75.0") -> dict[str, Any]:
    return {"version": version, "runtime_version": version}


@contextmanager
def answering_json(answers: Mapping[str, Any], seen: list[dict[str, str]] | None = None) -> Iterator[str]:
    """Serve GET with `answers` by path: a document (200), or a pair of status and document or text; gives the URL."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if seen is not None:
                seen.append({"path": self.path, **{name.lower(): value for name, value in self.headers.items()}})
            found = answers.get(self.path, (404, "Not Found"))
            status, value = found if isinstance(found, tuple) else (200, found)
            body = (value if isinstance(value, str) else json.dumps(value)).encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain" if isinstance(value, str) else "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    with answering(Answer) as host:
        yield f"http://{host}"


@contextmanager
def server(settings: Any = ROUTED, state: Any = READY) -> Iterator[str]:
    """Run a server of version 6.75.0 with these answers."""
    with answering_json({"/api/health": health(), "/api/state": state, "/api/settings": settings}) as url:
        yield url
