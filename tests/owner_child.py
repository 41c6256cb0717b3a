"""A process that becomes an unprivileged member of the docker group, and then packs and removes a workspace.

Arguments: the instance's directory, uid and gid to become, the gid of Docker's socket. Writes one JSON object.
"""

import json
import os
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import docker.errors
import docker.types

from obo_bench.core.reporter import SilentReporter
from obo_bench.engine.daemon import connect_engine
from obo_bench.programbench.packaging.submission import SubmissionFailed, package_workspace
from obo_bench.programbench.solving.attempt import Attempt
from obo_bench.programbench.solving.reclaim import reclaim_workspace

IMAGE = "programbench/practice_1776_wordtally.0000001:task_cleanroom_v6"
LABELS = {"obo-bench.run": "ownership", "obo-bench.instance": "x", "obo-bench.nonce": "ownership"}


def pack(directory: Path) -> str | int:
    try:
        return package_workspace(directory / "workspace", directory).member_count
    except SubmissionFailed as error:
        return str(error)


def main(directory: Path, uid: int, gid: int, docker_gid: int) -> dict[str, Any]:
    assert docker.errors is not None
    assert docker.types is not None
    engine = connect_engine()
    os.setgroups([docker_gid])
    os.setgid(gid)
    os.setuid(uid)
    context = SimpleNamespace(
        engine=engine,
        reporter=SilentReporter(),
        paths=lambda _: SimpleNamespace(workspace=directory / "workspace"),
        labels=lambda _: LABELS,
        room_spec=lambda *_, **__: SimpleNamespace(image=IMAGE),
    )
    attempt = cast("Attempt", SimpleNamespace(context=context, id="x", number=1, instance=None))
    told: dict[str, Any] = {"before": pack(directory)}
    told["reclaimed"] = reclaim_workspace(attempt)
    told["after"] = pack(directory)
    told["modes"] = {
        path.name: oct(path.lstat().st_mode & 0o7777) for path in sorted((directory / "workspace").rglob("*"))
    }
    told["again"] = reclaim_workspace(attempt)
    engine.close()
    shutil.rmtree(directory / "workspace")
    return told


if __name__ == "__main__":
    json.dump(main(Path(sys.argv[1]), *map(int, sys.argv[2:5])), sys.stdout)
