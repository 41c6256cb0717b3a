"""What `doctor` found, as one document (wire format `obo_bench.doctor.v1`)."""

from typing import Literal

from pydantic import Field

from obo_bench.core.wire_format import LaterWord, WireModel

Status = Literal["ok", "warn", "fail", "skipped"]
"""`fail`: a run would be refused or could not work; `skipped`: not looked at, for the reason in the finding."""


class CheckResult(WireModel):
    """One precondition."""

    id: str
    """Name of the check; stable."""
    status: Status | LaterWord
    """ok, warn, fail or skipped."""
    finding: str
    """What was found, or why it was not looked at."""
    remedy: str = ""
    """What to do about it; empty where nothing needs doing."""
    seconds: float = 0.0
    """How long the check took, waiting for what it shares with others included."""


class DoctorReport(WireModel):
    """All preconditions."""

    schema_: Literal["obo_bench.doctor.v1"] = Field("obo_bench.doctor.v1", alias="schema")
    """Format name."""
    ok: bool
    """Whether no check failed."""
    checked_at_unix: float
    """Wall-clock seconds at the begin."""
    obo_bench: str
    """Version of obo-bench."""
    counts: dict[str, int]
    """Checks by status."""
    checks: list[CheckResult]
    """Every check, in a fixed order."""

    def named(self, status: Status) -> list[str]:
        """Return the ids of the checks with a status."""
        return [check.id for check in self.checks if check.status == status]

    def headline(self) -> str:
        """Return the verdict in one line."""
        failed, warned = self.named("fail"), self.named("warn")
        parts = [f"{len(failed)} of {len(self.checks)} checks failed ({', '.join(failed)})"] if failed else []
        parts += [f"{len(warned)} warning(s) ({', '.join(warned)})"] if warned else []
        return f"{'ok' if self.ok else 'fail'}: {'; '.join(parts) or f'{len(self.checks)} checks'}"


def report_of(checks: list[CheckResult], *, checked_at_unix: float, obo_bench: str) -> DoctorReport:
    """Return the report on `checks`."""
    statuses = [str(check.status) for check in checks]
    counts = {status: statuses.count(status) for status in ("ok", "warn", "fail", "skipped")}
    return DoctorReport(
        ok=not counts["fail"], checked_at_unix=checked_at_unix, obo_bench=obo_bench, counts=counts, checks=checks
    )
