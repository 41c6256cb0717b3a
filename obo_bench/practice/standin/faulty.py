"""Carries out faults between the socket and the gateway, and answers `/stand-in/faults`, which no real server has."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from obo_bench.core.refusals import UsageError
from obo_bench.practice.standin.fault_book import FaultBook
from obo_bench.practice.standin.faults import EXCHANGES, Fault, parse_fault
from obo_bench.practice.standin.gateway import Answer, Request, error_answer, json_answer

FAULTS_PATH = "/stand-in/faults"
"""GET tells what is in force, POST adds one fault a line, PUT replaces all, DELETE ends them; from loopback only."""

_LOOPBACK = ("127.0.0.1", "::1")
_PAGE = b"<!doctype html><html><head><title>Sign in</title></head><body><form>Password</form></body></html>"
_ROUTES = {
    name: (target.partition(" ")[0], re.compile(re.sub("ID|NAME", "[^/]+", target.partition(" ")[2])))
    for name, target in EXCHANGES.items()
}
_TASK_ID = re.compile(r"/api/tasks/([^/]+)")


class FaultyGateway:
    """Stands where the gateway would, and lets through what no fault strikes."""

    def __init__(self, inner: Callable[[Request], Answer], book: FaultBook, wait: Callable[[float], object]) -> None:
        """`wait` waits so many seconds, or until the server goes down."""
        self._inner = inner
        self._book = book
        self._wait = wait

    def answer(self, request: Request) -> Answer:
        """Answer one request, well or badly."""
        if request.path == FAULTS_PATH and request.peer in _LOOPBACK:
            return self._administer(request)
        faults = self._book.strike(exchange_of(request))
        for fault in faults:
            if fault.action.before and (early := self._before(fault)) is not None:
                return early
        answer = self._inner(request)
        for fault in faults:
            if not fault.action.before:
                answer = self._after(fault, request, answer)
        return answer

    def _before(self, fault: Fault) -> Answer | None:
        if fault.what == "delay":
            self._wait(float(fault.value))
            return None
        if fault.what == "drop":
            return Answer(200, b"", cut_after=0)
        status = int(fault.value)
        return error_answer(status, "supervisor is still starting" if status == 503 else "a fault was asked for")

    def _after(self, fault: Fault, request: Request, answer: Answer) -> Answer:
        if fault.what == "delay-answer":
            self._wait(float(fault.value))
            return answer
        whole = answer.body if isinstance(answer.body, bytes) else b""
        changed: Mapping[str, Callable[[], Answer]] = {
            "drop-answer": lambda: replace(answer, cut_after=0),
            "cut": lambda: replace(answer, body=whole, cut_after=len(whole) // 2),
            "not-json": lambda: replace(answer, body=whole[: len(whole) // 2] + b'{"'),
            "html": lambda: Answer(200, _PAGE, "text/html; charset=utf-8"),
            "wrong-types": lambda: _with_object(answer, _retyped),
            "patch": lambda: _with_object(answer, lambda value: value | _patch(fault, request)),
            "pad": lambda: _with_object(answer, lambda value: value | {"padding": "0" * int(fault.value)}),
        }
        return changed[fault.what]()

    def _administer(self, request: Request) -> Answer:
        if request.method not in ("GET", "HEAD", "POST", "PUT", "DELETE"):
            return Answer(405, b"Method Not Allowed", "text/plain; charset=utf-8")
        try:
            lines = request.body.decode("utf-8", "replace").splitlines()
            faults = [parse_fault(line) for line in lines if line.strip()]
        except UsageError as error:
            return error_answer(400, str(error))
        if request.method in ("PUT", "DELETE"):
            self._book.clear()
        if request.method in ("PUT", "POST"):
            self._book.add(faults)
        return json_answer(self._book.document())


def exchange_of(request: Request) -> str:
    """Return the short name of an exchange, empty for one that the server does not know."""
    method = "GET" if request.method == "HEAD" else request.method
    return next((name for name, (verb, path) in _ROUTES.items() if verb == method and path.fullmatch(request.path)), "")


def _with_object(answer: Answer, change: Callable[[dict[str, Any]], dict[str, Any]]) -> Answer:
    """Return the answer with another JSON object; one that holds none stays as it is."""
    try:
        value = json.loads(answer.body) if isinstance(answer.body, bytes) else None
    except ValueError:
        return answer
    return replace(answer, body=json_answer(change(value)).body) if isinstance(value, dict) else answer


def _retyped(value: dict[str, Any]) -> dict[str, Any]:
    """Texts become numbers, everything else a list of itself."""
    return {name: 7 if isinstance(inner, str) else [inner] for name, inner in value.items()}


def _patch(fault: Fault, request: Request) -> dict[str, Any]:
    found = _TASK_ID.match(request.path)
    patch = json.loads(fault.value.replace("{task_id}", found[1] if found else ""))
    assert isinstance(patch, dict)
    return patch
