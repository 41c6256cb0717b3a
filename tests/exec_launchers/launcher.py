"""A launcher that does what its first argument says; `ready` in its working directory tells that it is about to."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SECRET = "hunter2-0123456789-abcdefghij"
"""The value of a variable whose name says that it is a secret."""


def claim(**fields: Any) -> None:
    path = Path(os.environ["OBO_BENCH_OUTCOME_FILE"])
    temporary = path.with_name("new-outcome")
    temporary.write_text(json.dumps({"schema": "obo_bench.child_outcome.v1", **fields}))
    temporary.replace(path)


def row(**fields: Any) -> None:
    with Path(os.environ["OBO_BENCH_LEDGER"]).open("a") as stream:
        stream.write(json.dumps(fields) + "\n")


def sleep() -> None:
    Path("ready").touch()
    time.sleep(120)
    Path("archived").touch()


def ignoring() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    sleep()


def secrets() -> None:
    for piece in (
        f"the key is {SECRET[:14]}",
        SECRET[14:],
        "\n",
        f"API_TOKEN={SECRET}\n",
        "OTHER_PASSWORD=swordfish1\n",
    ):
        os.write(1, piece.encode())
        time.sleep(0.5)
    os.write(2, b"bytes \xff\xfe that are no text, no end")


def fork() -> None:
    subprocess.Popen(["sleep", "121"])
    subprocess.Popen(["sleep", "122"], start_new_session=True)


def storm() -> None:
    for _ in range(40):
        if os.fork() == 0:
            os.fork()
            time.sleep(120)


def fatal_claim() -> None:
    claim(outcome="refused", refusal_reason=sys.argv[2], message="the volume is another one")
    sleep()


def fatal_row() -> None:
    row(instance_id="t1", status="blocked", reason_code=sys.argv[2])
    sleep()


def spend() -> None:
    claim(outcome="completed", cost_usd=3.5)
    sleep()


def spend_in_rows() -> None:
    row(instance_id="t1", status="completed", reason_code="solved", cost={"usd": 2.0})
    row(instance_id="t2", status="completed", reason_code="solved", cost={"usd": 2.0})
    sleep()


def close_outputs() -> None:
    os.close(1)
    os.close(2)
    time.sleep(0.3)


def stopped() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def fatal_line() -> None:
    os.write(2, f"SOLVE_INFRA_SUSPECT reason={sys.argv[2]}\n".encode())
    sleep()


def misplaced() -> None:
    path = os.environ["OBO_BENCH_OUTCOME_FILE"]
    match sys.argv[2]:
        case "fifo":
            os.mkfifo(path)
        case "link":
            Path("elsewhere").write_text('{"schema": "obo_bench.child_outcome.v1", "outcome": "completed"}')
            Path(path).symlink_to(Path("elsewhere").absolute())
        case "directory":
            Path(path).mkdir()
        case "huge":
            with Path(path).open("wb") as stream:
                stream.truncate(1 << 30)
        case "torn":
            Path(path).write_text('{"schema": "obo_bench.child_out')
        case "word":
            claim(outcome="splendid")


def rows() -> None:
    row(instance_id="t1", status="completed", reason_code="solved", seq=99, benchmark="other", prev_sha256="x")
    row(instance_id="unknown", status="completed", reason_code="solved")
    row(instance_id="t2", status="splendid", reason_code="solved")
    with Path(os.environ["OBO_BENCH_LEDGER"]).open("a") as stream:
        stream.write('[1]\n\n{"instance_id": "t2", "status": "comp')
    claim(outcome="completed", completed_count=3)


def tamper() -> None:
    Path(os.environ["OBO_BENCH_MANIFEST"]).write_text('{"extra": {"outcome": "completed", "exit_code": 0}}')
    raise SystemExit(5)


DEEDS: dict[str, Callable[[], None]] = {
    name: each for name, each in globals().items() if callable(each) and getattr(each, "__module__", "") == __name__
}


def main() -> None:
    deed = sys.argv[1]
    if deed == "exit":
        raise SystemExit(int(sys.argv[2]))
    if deed == "kill":
        os.kill(os.getpid(), int(sys.argv[2]))
    elif deed == "claim":
        claim(outcome=sys.argv[2])
        raise SystemExit(int(sys.argv[3]))
    else:
        DEEDS[deed]()


if __name__ == "__main__":
    main()
