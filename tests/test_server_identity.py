"""Which server answers: the pure comparison by table and property, then real servers that are replaced under a run."""

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from obo_bench.core.refusals import RuntimeAttestationRefused
from obo_bench.core.reporter import SilentReporter
from obo_bench.gateway.admitted import AdmittedServer
from obo_bench.gateway.client import GatewayClient
from obo_bench.gateway.errors import GatewayUnreachable
from obo_bench.gateway.identity import Change, ServerIdentity, compare, read_identity, successor
from tests.place import Place
from tests.scripted_server import READY, answering_json, health

BASE = ServerIdentity("6.75.0", 1000.0, "abc", 8770, monotonic_sec=50.0, wall_sec=9_000.0, latency_sec=0.1)


CLOCKS: dict[str, Any] = {"monotonic_sec": 0.0, "wall_sec": 0.0, "latency_sec": 0.0}
"""What depends on when a server was asked."""


def after(seconds: float, *, slept: float = 0.0, set_by: float = 0.0, **changes: Any) -> ServerIdentity:
    """The same server later; `slept` seconds stopped our monotonic clock, and our wall clock was set meanwhile."""
    assert BASE.uptime_sec is not None
    later = {
        "uptime_sec": float(int(BASE.uptime_sec + seconds)),
        "monotonic_sec": BASE.monotonic_sec + seconds - slept,
        "wall_sec": BASE.wall_sec + seconds + set_by,
    }
    return replace(BASE, **(later | changes))


TABLE: dict[str, tuple[ServerIdentity, Change]] = {
    "at once": (after(0), Change.SAME),
    "six hours later": (after(21600), Change.SAME),
    "after a night asleep": (after(30000, slept=28800), Change.SAME),
    "asleep, and its uptime slept, too": (after(30000, slept=28800, uptime_sec=2200.0), Change.SAME),
    "the clock was set back": (after(600, set_by=-3600), Change.SAME),
    "the clock was set forward": (after(600, set_by=3600), Change.SAME),
    "another version": (after(60, runtime_version="6.75.1"), Change.CHANGED),
    "another commit": (after(60, sha="abd"), Change.CHANGED),
    "another port": (after(60, bind_port=8771), Change.CHANGED),
    "restarted as another version": (after(60, runtime_version="6.80.0", uptime_sec=3.0), Change.CHANGED),
    "restarted from another commit": (after(60, sha="abd", uptime_sec=3.0), Change.CHANGED),
    "a little older than possible": (after(60, uptime_sec=1119.0), Change.SAME),
    "older than possible": (after(60, uptime_sec=1122.0), Change.CHANGED),
    "much older": (after(60, uptime_sec=1e300), Change.CHANGED),
    "restarted": (after(60, uptime_sec=2.0), Change.RESTARTED),
    "restarted long ago": (after(21600, uptime_sec=20000.0), Change.RESTARTED),
    "a slow answer": (after(10, uptime_sec=1000.0, latency_sec=10.0), Change.SAME),
    "uptime unknown": (after(60, uptime_sec=None), Change.SAME),
    "commit unknown": (after(60, sha=None), Change.SAME),
    "port unknown": (after(60, bind_port=None), Change.SAME),
    "restarted, the rest unknown": (after(60, sha=None, bind_port=None, uptime_sec=1.0), Change.RESTARTED),
}


@pytest.mark.parametrize(("now", "change"), TABLE.values(), ids=TABLE)
def test_the_same_a_restarted_and_another_server(now: ServerIdentity, change: Change) -> None:
    verdict = compare(BASE, now)
    assert verdict.change is change
    assert bool(verdict.detail) is (change is not Change.SAME)


@pytest.mark.parametrize("name", ["sha", "bind_port", "uptime_sec"])
def test_what_was_unknown_at_admission_is_not_different_later(name: str) -> None:
    unknown: dict[str, Any] = {name: None}
    assert compare(replace(BASE, **unknown), after(60)).change is Change.SAME


seconds = st.floats(0, 1e6)


@given(uptime=seconds, elapsed=seconds, slept=seconds, latency=st.floats(0, 30))
def test_a_server_that_goes_on_is_always_the_same(uptime: float, elapsed: float, slept: float, latency: float) -> None:
    admitted = replace(BASE, uptime_sec=float(int(uptime)), latency_sec=latency)
    for counts_sleep in (True, False):
        now = replace(
            admitted,
            uptime_sec=float(int(uptime + elapsed + (slept if counts_sleep else 0.0))),
            monotonic_sec=admitted.monotonic_sec + elapsed,
            wall_sec=admitted.wall_sec + elapsed + slept,
        )
        assert compare(admitted, now).change is Change.SAME


@given(uptime=st.floats(5, 1e6), elapsed=seconds, fresh=st.floats(0, 1))
def test_a_restart_is_always_seen_once_and_then_expected(uptime: float, elapsed: float, fresh: float) -> None:
    admitted = replace(BASE, uptime_sec=uptime)
    now = replace(
        admitted,
        uptime_sec=fresh * elapsed,
        monotonic_sec=admitted.monotonic_sec + elapsed,
        wall_sec=admitted.wall_sec + elapsed,
    )
    assert compare(admitted, now).change is Change.RESTARTED
    expected = successor(admitted, replace(now, sha=None))
    assert (expected.uptime_sec, expected.sha) == (now.uptime_sec, admitted.sha)
    assert compare(expected, now).change is Change.SAME


def test_odd_answers_are_unknown() -> None:
    answers: dict[str, Any] = {"/api/health": health(), "/api/state": {}, "/api/settings": {}}
    with answering_json(answers) as url, GatewayClient(url) as client:
        for uptime in (None, "soon", -5, math.nan, math.inf, [1]):
            answers["/api/state"] = {**READY, "uptime": uptime, "sha": " "}
            assert replace(read_identity(client), **CLOCKS) == ServerIdentity("6.75.0")
        metas: list[Any] = [None, [], {"bind_port": "8770"}, {"bind_port": True}, {}]
        for meta in metas:
            answers["/api/settings"] = {"_meta": meta}
            assert replace(read_identity(client), **CLOCKS) == ServerIdentity("6.75.0")


def test_a_server_that_keeps_its_state_to_itself_still_has_a_version() -> None:
    answers = {"/api/health": health(), "/api/state": (401, {"error": "x"}), "/api/settings": (500, "x")}
    with answering_json(answers) as url, GatewayClient(url) as client:
        assert read_identity(client).runtime_version == "6.75.0"


def test_a_server_that_goes_away_meanwhile_is_unreachable() -> None:
    with GatewayClient("http://127.0.0.1:1") as client, pytest.raises(GatewayUnreachable):
        read_identity(client)


@pytest.fixture
def place(checkout: Path, tmp_path: Path) -> Iterator[Place]:
    made = Place(checkout, tmp_path / "data")
    made.start()
    yield made
    made.stop()


@contextmanager
def admitted(
    place: Place, version: str = "6.75.0", *, outage_sec: float = 0.5, older: float = 0.0
) -> Iterator[tuple[AdmittedServer, list[dict[str, Any]]]]:
    """The server at the place as a run admits it; `older` makes it one that had been running for so many seconds."""
    events: list[dict[str, Any]] = []
    with GatewayClient(place.url, deadline_sec=5) as client:
        AdmittedServer.of_attested(client, version, SilentReporter(), events.append)
        found = read_identity(client)
        identity = replace(found, uptime_sec=(found.uptime_sec or 0.0) + older)
        yield AdmittedServer(client, identity, SilentReporter(), events.append, outage_sec=outage_sec), events


def test_the_same_server_is_confirmed_without_an_event(place: Place) -> None:
    with admitted(place) as (server, events):
        relied_upon = [server.relied_upon]
        assert server.confirm(threading.Event())
        relied_upon.append(server.relied_upon)
        assert relied_upon == [False, True]
        assert events == []


def test_a_restart_of_the_same_version_is_one_event_and_not_fatal(place: Place) -> None:
    with admitted(place, older=300) as (server, events):
        place.replace()
        assert server.confirm(threading.Event())
        assert server.confirm(threading.Event())
        [event] = events
        assert event["event"] == "restarted"
        assert abs(event["ts_unix"] - time.time()) < 60
        assert event["admitted"]["uptime_sec"] >= 300
        assert event["now"]["uptime_sec"] < 60
        # Back to the server of before the restart: by now that is another one.
        with pytest.raises(RuntimeAttestationRefused, match="started before"):
            server._judge(replace(read_identity(server.client), uptime_sec=400.0))


CHANGES: dict[str, Callable[[Place], None]] = {
    "another version": lambda place: place.replace(version="6.80.0"),
    "another commit": lambda place: place.replace(sha="beef"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_another_server_is_refused_and_recorded(place: Place, change: Callable[[Place], None]) -> None:
    place.replace(sha="cafe")
    with admitted(place) as (server, events):
        change(place)
        with pytest.raises(RuntimeAttestationRefused) as raised:
            server.confirm(threading.Event())
        assert raised.value.reason == "runtime_changed"
        assert raised.value.evidence["admitted"]["runtime_version"] == "6.75.0"
        assert [event["event"] for event in events] == ["changed"]


def test_a_server_that_was_replaced_during_admission_is_refused(place: Place) -> None:
    place.replace(version="6.80.0")
    with (
        pytest.raises(RuntimeAttestationRefused, match=r"'6\.75\.0' at admission, now it is '6\.80\.0'"),
        admitted(place),
    ):
        pass


def test_what_no_longer_says_its_version_is_refused(place: Place) -> None:
    with admitted(place) as (server, _):
        place.replace(version=" ")
        with pytest.raises(RuntimeAttestationRefused) as raised:
            server.confirm(threading.Event())
        assert raised.value.reason == "runtime_version_absent"


def test_an_outage_is_waited_for(place: Place) -> None:
    with admitted(place, outage_sec=60, older=300) as (server, events):
        place.stop()
        back = threading.Timer(1.0, place.start)
        back.start()
        assert server.confirm(threading.Event())
        back.join()
        assert [event["event"] for event in events] == ["restarted"]


def test_an_outage_without_an_end_is_fatal(place: Place) -> None:
    with admitted(place, outage_sec=0.5) as (server, _):
        place.stop()
        with pytest.raises(RuntimeAttestationRefused, match="Connection refused") as raised:
            server.confirm(threading.Event())
        assert raised.value.reason == "runtime_unreachable"


def test_the_end_of_the_run_does_not_wait_for_an_outage(place: Place) -> None:
    stop = threading.Event()
    with admitted(place, outage_sec=60) as (server, _):
        place.stop()
        threading.Timer(0.3, stop.set).start()
        started = time.monotonic()
        assert not server.confirm(stop)
        assert time.monotonic() - started < 10
