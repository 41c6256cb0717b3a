"""The server's clock against ours, by the `Date` header of its answer (RFC 9110, section 6.6.1: whole seconds)."""

import time
from email.utils import parsedate_to_datetime
from urllib.parse import urlsplit

from obo_bench.gateway.errors import GatewayError
from obo_bench.gateway.http import BoundedHttp
from obo_bench.programbench.doctor.verdict import CannotLook, Verdict, ok, warn
from obo_bench.programbench.doctor.world import World

LARGEST_SKEW_SEC = 5.0
"""More makes the times of records and of the server's log hard to match."""
_SMALL = 4 * 1024 * 1024


def clock(world: World) -> Verdict:
    """Say how far the server's clock is off."""
    world.health.need()
    skew = skew_of(world.options.url, world.call_sec)
    told = f"the server's clock is {abs(skew):.0f} s {'ahead of' if skew > 0 else 'behind'} ours"
    if abs(skew) > LARGEST_SKEW_SEC:
        where = urlsplit(world.options.url).hostname
        return warn(told, f"set both clocks by NTP (here and at {where}); a virtual machine that slept needs it, too")
    return ok(f"the server's clock and ours agree within {LARGEST_SKEW_SEC:g} s")


def skew_of(url: str, deadline_sec: float) -> float:
    """Return by how many seconds the server's clock is ahead; raises CannotLook when it does not tell the time."""
    asked = time.time()
    try:
        with BoundedHttp(url, deadline_sec=deadline_sec) as http:
            stated = http.exchange("GET", "/api/health", limit=_SMALL).headers.get("date", "")
    except GatewayError as error:
        raise CannotLook(f"the server does not tell its time: {error}") from error
    answered = time.time()
    try:
        theirs = parsedate_to_datetime(stated).timestamp()
    except ValueError as error:
        raise CannotLook("the server's answers have no Date") from error
    # The header drops the fraction of a second; the answer was made somewhere between our two looks.
    early, late = theirs - answered, theirs + 1.0 - asked
    return 0.0 if early <= 0.0 <= late else min(early, late, key=abs)
