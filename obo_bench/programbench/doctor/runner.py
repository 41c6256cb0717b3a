"""Runs checks side by side: each on its own, all within one deadline, none able to hide another."""

import os
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from obo_bench.core.redact import process_redactor
from obo_bench.core.refusals import Refusal
from obo_bench.programbench.doctor.report import CheckResult
from obo_bench.programbench.doctor.verdict import CannotLook, Verdict, fail

Check = Callable[[], Verdict]
_HANGING = "find out why it hangs, then run doctor again"


@dataclass
class _Running:
    """One check at work."""

    verdict: Verdict | None = None
    """What it said; None as long as it says nothing."""
    seconds: float = 0.0
    """How long it took."""


def run_checks(
    checks: Mapping[str, Check], patience_sec: float, when_hanging: Mapping[str, str] | None = None
) -> list[CheckResult]:
    """Return the result of each check, in the order of `checks`, after at most `patience_sec` seconds.

    A check that hangs is left behind in a thread that does not keep the process alive; `when_hanging` says for some
    what to do then.
    """
    started = time.monotonic()
    running = {name: _Running() for name in checks}
    threads = [
        threading.Thread(target=_run, args=(check, running[name]), name=f"check {name}", daemon=True)
        for name, check in checks.items()
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(max(0.0, started + patience_sec - time.monotonic()))
    remedies = when_hanging or {}
    return [_result(name, found, patience_sec, remedies.get(name, _HANGING)) for name, found in running.items()]


def _run(check: Check, found: _Running) -> None:
    started = time.monotonic()
    verdict = judged(check)
    found.seconds = time.monotonic() - started
    found.verdict = verdict


def judged(check: Check) -> Verdict:
    """Return what a check says; whatever it raises is a verdict, too."""
    try:
        return check()
    except CannotLook as why:
        return Verdict("skipped", str(why))
    except Refusal as refusal:
        refusal.settle()
        return fail(refusal.message, refusal.remedy)
    except OSError as error:
        return fail(str(error), f"make that possible for uid {os.geteuid()}, or name another place")
    except Exception as error:  # noqa: BLE001  # one check must not hide the others
        return fail(f"the check itself failed: {type(error).__name__}: {error}", "report this as a bug of obo-bench")


def _result(name: str, found: _Running, patience_sec: float, remedy: str) -> CheckResult:
    verdict = found.verdict or fail(f"no answer within {patience_sec:g} s", remedy)
    seconds = found.seconds if found.verdict else patience_sec
    return result_of(name, verdict, seconds)


def result_of(name: str, verdict: Verdict, seconds: float) -> CheckResult:
    """Return a verdict as it is written, secrets redacted."""
    redact = process_redactor().text
    return CheckResult(
        id=name,
        status=verdict.status,
        finding=redact(verdict.finding),
        remedy=redact(verdict.remedy),
        seconds=round(seconds, 3),
    )
