"""After a task: its workspace is the operator's again, so that it can be packaged, moved and removed."""

import os
import stat
from collections.abc import Iterator
from pathlib import Path

from obo_bench.engine.cleanroom import operator_user
from obo_bench.engine.ownership import HandBackFailed, hand_back
from obo_bench.programbench.solving.attempt import Attempt
from obo_bench.programbench.solving.workspace import REFERENCE

_OWN_DIRECTORY = stat.S_IRWXU


def reclaim_workspace(attempt: Attempt) -> bool:
    """Hand the workspace back where something in it belongs to others or is closed; says whether that was needed.

    A failure is told; what cannot be read then fails by name when it is packaged.
    """
    context, workspace = attempt.context, attempt.context.paths(attempt.id).workspace
    uid = os.geteuid()
    if uid == 0 or not any(_is_kept_from(uid, path) for path in _entries(workspace) if path != workspace / REFERENCE):
        return False
    image = context.room_spec(attempt.instance, attempt.number, protected=False).image
    try:
        hand_back(
            context.engine,
            image,
            workspace,
            operator_user(context.engine, uid, os.getegid()),
            context.labels(attempt.id),
            closed=REFERENCE,
        )
    except HandBackFailed as error:
        context.reporter.event(str(error), attempt.id)
        return False
    context.reporter.event("the workspace was handed back to its owner", attempt.id)
    return True


def _entries(top: Path) -> Iterator[Path]:
    """Yield everything in the tree; a directory that cannot be listed is yielded all the same."""
    waiting = [top]
    while waiting:
        directory = waiting.pop()
        yield directory
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    path = Path(entry.path)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(path)
                    else:
                        yield path
        except OSError:
            continue


def _is_kept_from(uid: int, path: Path) -> bool:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return False
    except OSError:
        return True
    if status.st_uid != uid:
        return True
    if stat.S_ISDIR(status.st_mode):
        return status.st_mode & _OWN_DIRECTORY != _OWN_DIRECTORY
    return stat.S_ISREG(status.st_mode) and not status.st_mode & stat.S_IRUSR
