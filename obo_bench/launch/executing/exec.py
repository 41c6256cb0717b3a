"""`exec`: any launcher, admitted and recorded as a run of our own."""

from typing import TYPE_CHECKING

from obo_bench.core.reporter import Reporter
from obo_bench.core.session import benchmark_session
from obo_bench.core.showing import Showing
from obo_bench.launch.executing.admission import admission
from obo_bench.launch.executing.options import ExecOptions

if TYPE_CHECKING:
    from obo_bench.launch.executing.execution import ExecResult


def run_exec(options: ExecOptions, reporter: Reporter) -> "ExecResult":
    """Run a launcher as asked; every ending is in the manifest.

    Raises a Refusal before anything is started, Interrupted on a signal.
    """
    with benchmark_session(admission(options)) as session, Showing(session, reporter):
        from obo_bench.launch.executing.execution import Execution

        return Execution(session, options, reporter).run()
