"""Hand a workspace back to the operator: in a container, files can come to belong to others, or be closed to all.

A container's root may do what the operator may not, so a short-lived one of our own does it: no network, nothing
mounted but that directory, no rights but those over files.
"""

from collections.abc import Mapping
from pathlib import Path

from obo_bench.engine.cleanroom_spec import WORKSPACE
from obo_bench.engine.daemon import Engine
from obo_bench.engine.images import PLATFORM

_DEADLINE_SEC = 600
_RIGHTS = ("CHOWN", "DAC_OVERRIDE", "FOWNER")
# Links themselves change hands, nothing is followed; the modes of what its owner can read stay as they are.
_SCRIPT = (
    f'chown -Rh "$1" {WORKSPACE} && find {WORKSPACE} -type d ! -perm -700 -exec chmod u+rwx {{}} + && '
    f'find {WORKSPACE} -type f ! -perm -400 ! -path "$2" -exec chmod u+r {{}} +'
)


class HandBackFailed(RuntimeError):
    """The workspace still belongs to others; the message says what the engine answered."""


def hand_back(
    engine: Engine, image: str, workspace: Path, owner: str, labels: Mapping[str, str], *, closed: str = ""
) -> None:
    """Make `owner` (uid:gid as the container has them) the owner of all in `workspace`, able to read and remove it.

    `image` is the one that the task had, so that it is present. `closed` is the relative path of a file that its owner
    may run but not read. Raises HandBackFailed.
    """
    from docker.errors import DockerException
    from docker.types import Mount

    try:
        container = engine.client.containers.create(
            image,
            entrypoint=["sh", "-c", _SCRIPT, "sh", owner, f"{WORKSPACE}/{closed}"],
            user="0:0",
            network_mode="none",
            cap_drop=["ALL"],
            cap_add=list(_RIGHTS),
            security_opt=["no-new-privileges"],
            read_only=True,
            init=True,
            pids_limit=64,
            mounts=[Mount(WORKSPACE, str(workspace), type="bind")],
            working_dir="/",
            labels=dict(labels),
            platform=PLATFORM,
        )
        try:
            container.start()
            status = container.wait(timeout=_DEADLINE_SEC)["StatusCode"]
            said = container.logs(tail=5)[-500:].decode("utf-8", "replace") if status else ""
        finally:
            container.remove(force=True)
    except (DockerException, OSError) as error:
        raise HandBackFailed(f"{str(workspace)!r} cannot be handed back: {error}") from error
    if status:
        raise HandBackFailed(f"{str(workspace)!r} cannot be handed back: status {status}: {said.strip()}")
