"""Measure reading a ledger of a million rows: `python -m benchmarks.ledger`.

Prints what finding the latest row of each instance takes, beside a plain `json.loads` of every line, and ends with 1
when the budget is broken: 5 seconds and 200 MB. Reading every row as a model, and checking the ledger, are shown too.
Each contender is a process of its own. Needs Linux, for the peak of its memory.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from obo_bench.core.files import line_bytes
from obo_bench.core.ledger import LEDGER_NAME, Row, latest_rows, read_rows
from obo_bench.core.ledger_check import ledger_notices

ROWS = 1_000_000
INSTANCES = 200
LONGEST_SEC = 5.0
MOST_MEMORY = 200_000_000
ROUNDS = 3


def build(path: Path) -> None:
    """Write the ledger: rows as a run writes them, instance after instance; their hashes are none."""
    lines = [line_bytes(_row(f"owner__project-{at:03}.{at:07x}").document()) for at in range(INSTANCES)]
    with path.open("wb") as stream:
        for _ in range(ROWS // INSTANCES):
            stream.writelines(lines)


def _row(instance_id: str) -> Row:
    return Row(
        ts_unix=time.time(),
        benchmark="programbench",
        instance_id=instance_id,
        status="completed",
        reason_code="submission_prepared",
        prediction_written=True,
        output_paths={name: f"{instance_id}/{name}.json" for name in ("submission", "task_body", "task_result")},
        details={"task_id": f"obo-0123abcd-{instance_id}-1", "infrastructure": False, "protection": "os"},
        invocation="20260101-000000-abcdef",
        seq=1,
        prev_sha256="0" * 64,
        submission_sha256="f" * 64,
        durations={"prepare": 1.203, "queued": 0.502, "solve": 3600.25, "package": 0.751},
        cost={"usd": 1.25, "final": True, "source": "task_cost_finalized", "unknown_unmetered_calls": 0},
    )


def plain(path: Path) -> None:
    """Parse every line, as a script would."""
    latest = {}
    with path.open("rb") as stream:
        for line in stream:
            row = json.loads(line)
            latest[row["instance_id"]] = row


def latest(path: Path) -> None:
    """Find the latest row of each instance."""
    if len(latest_rows(path)) != INSTANCES:
        raise AssertionError("instances are missing")


def every(path: Path) -> None:
    """Read every row as a model."""
    for _ in read_rows(path):
        pass


def check(path: Path) -> None:
    """Check damage, chain and copies."""
    ledger_notices(path.parent)


CONTENDERS: dict[str, Callable[[Path], None]] = {
    "plain json.loads": plain,
    "latest rows": latest,
    "every row": every,
    "check": check,
}


def measure(name: str, path: Path) -> None:
    """Run one contender in this process, and print its seconds and the peak of its memory in bytes."""
    started = time.perf_counter()
    CONTENDERS[name](path)
    seconds = time.perf_counter() - started
    status = Path("/proc/self/status").read_text()
    peak = next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("VmHWM"))
    print(seconds, peak)  # noqa: T201


def main() -> int:
    """Print the measurements; returns 1 when the budget is broken."""
    seconds: dict[str, float] = {}
    memory: dict[str, int] = {}
    with tempfile.TemporaryDirectory(prefix="obo-bench-ledger-") as place:
        path = Path(place) / LEDGER_NAME
        build(path)
        print(f"{ROWS} rows of {INSTANCES} instances, {path.stat().st_size >> 20} MB; best of {ROUNDS}")  # noqa: T201
        for name in CONTENDERS:
            for _ in range(ROUNDS):
                command = [sys.executable, "-m", "benchmarks.ledger", name, str(path)]
                took, peak = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
                seconds[name] = min(float(took), seconds.get(name, float("inf")))
                memory[name] = max(int(peak), memory.get(name, 0))
            print(_line(name, seconds, memory), flush=True)  # noqa: T201
    kept = seconds["latest rows"] <= LONGEST_SEC and memory["latest rows"] <= MOST_MEMORY
    print("budget kept" if kept else f"BUDGET BROKEN: {LONGEST_SEC:g} s and {MOST_MEMORY / 1e6:.0f} MB")  # noqa: T201
    return 0 if kept else 1


def _line(name: str, seconds: dict[str, float], memory: dict[str, int]) -> str:
    ratio = seconds[name] / seconds["plain json.loads"]
    speed = f"{seconds[name]:6.2f} s ({ratio:.2f}x), {ROWS / seconds[name]:9,.0f} rows/s"
    return f"{name + ':':18} {speed}, peak {memory[name] / 1e6:.0f} MB"


if __name__ == "__main__":
    if len(sys.argv) == 1:
        sys.exit(main())
    measure(sys.argv[1], Path(sys.argv[2]))
