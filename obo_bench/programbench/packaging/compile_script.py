"""What can be said of the build script without running it."""

import os
import stat
from pathlib import Path

from obo_bench.programbench.packaging.collection_rules import COMPILE_SCRIPT
from obo_bench.programbench.packaging.prebuilt import builds_nothing
from obo_bench.programbench.packaging.pytest_influences import names_pytest_setup
from obo_bench.programbench.packaging.record import CompileScriptCheck
from obo_bench.programbench.packaging.tree import resolve

_BYTES_READ = 1 << 20


def check_compile_script(root: Path) -> CompileScriptCheck:
    """Look at compile.sh in the workspace `root`; never raises OSError."""
    missing = CompileScriptCheck(present=False, executable=False, crlf=False)
    leads_to = resolve(root, COMPILE_SCRIPT)
    if leads_to is None:
        return missing
    try:
        descriptor = os.open(root / leads_to, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return missing
    try:
        mode = os.fstat(descriptor).st_mode
        if not stat.S_ISREG(mode):
            return missing
        content = os.pread(descriptor, _BYTES_READ, 0)
        return CompileScriptCheck(
            present=True,
            executable=bool(mode & 0o111),
            crlf=b"\r\n" in content,
            builds_nothing=builds_nothing(content),
            names_pytest_setup=names_pytest_setup(content),
        )
    finally:
        os.close(descriptor)
