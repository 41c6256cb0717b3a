"""A run without engine and server, for tests of what schedules its instances."""

from pathlib import Path
from typing import Any, cast

from obo_bench.core.reporter import SilentReporter
from obo_bench.core.session import Session
from obo_bench.programbench.context import RunContext
from obo_bench.programbench.options import RunOptions


def context_of(session: Session, workers: int) -> RunContext:
    options = RunOptions(repo_dir=Path("none"), run_root=session.run_root, settings_path=Path("none"), workers=workers)
    return RunContext(
        session=session,
        options=options,
        engine=cast("Any", None),
        server=None,
        reporter=SilentReporter(),
        nonce="n",
        cpus=1.0,
        memory_bytes=1 << 30,
    )
