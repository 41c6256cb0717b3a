"""What every reason code of a ledger row means, what to do about it, and what a resume does with the instance.

The set is open: a task that ended at the server keeps the server's own code, and what was not attempted because the
run was refused or stopped carries that reason. `explain` knows those, too.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from obo_bench.core.refusal_reasons import REASONS
from obo_bench.gateway.outcome import is_infrastructure


class Resume(StrEnum):
    """What the next invocation of the run does with an instance that ended so; the value is the text for people."""

    DONE = "skips it"
    BEGINS = "begins it"
    GOES_ON = "goes on with its task"
    AGAIN = "solves it again"
    KEEPS = "keeps it; solves it again with `--retry`"
    BLOCKED = "asks again; solves it again with `--retry`"


@dataclass(frozen=True)
class RowReason:
    """One word of the vocabulary."""

    meaning: str
    """What happened, one clause."""
    remedy: str
    """What the operator can do; empty where there is nothing to do."""
    resume: Resume
    """What a resume does."""


_IMAGE_HOST = "check network, registry and disk of the engine, then resume"
_EXPORT = "look at the source, then repeat the export"

NO_ROW = "no_ledger_row"
"""Reason of an instance that the ledger does not know: it was never come to."""

ROW_REASONS: Mapping[str, RowReason] = {
    # done
    "submission_prepared": RowReason("solved and packaged", "", Resume.DONE),
    "skipped_existing_submission": RowReason("an earlier invocation had finished it", "", Resume.DONE),
    "exported": RowReason("the archive was brought into the export and verified", "", Resume.DONE),
    "already_exported": RowReason("the export held this very archive before", "", Resume.DONE),
    "dry_run": RowReason("prepared up to the task body; nothing was submitted", "run without --dry-run", Resume.BEGINS),
    # the run ended before it
    "interrupted": RowReason(
        "a signal ended the run first", "give the same command again, or cancel the run", Resume.GOES_ON
    ),
    "stopped_provenance": RowReason(
        "the run stopped: the server is not the admitted one", "see the refusal in the manifest", Resume.BEGINS
    ),
    "stopped_systemic": RowReason(
        "the run stopped: the same infrastructure trouble again and again",
        "end the trouble that harness.stopped of the manifest names, then resume",
        Resume.BEGINS,
    ),
    "stopped_budget": RowReason(
        "the run stopped at its ceiling, or at the server's budget",
        "resume with a higher --max-cost-usd, or raise the server's TOTAL_BUDGET",
        Resume.BEGINS,
    ),
    "stopped_by_error": RowReason("a bug in obo-bench ended the run", "report it, then resume", Resume.BEGINS),
    NO_ROW: RowReason("no invocation came to it, so it has no row", "resume the run", Resume.BEGINS),
    # it could not begin
    "engine_unreachable": RowReason("the Docker daemon does not answer", "start it, then resume", Resume.AGAIN),
    "engine_disk_low": RowReason("a disk is full, or nearly", "free space, then resume", Resume.AGAIN),
    "gateway_not_ready": RowReason(
        "the server had no worker for ten minutes", "look at its log and workers, then resume", Resume.AGAIN
    ),
    "image_not_found": RowReason(
        "no registry has the image", "check its name, or PROGRAMBENCH_DOCKER_ORG", Resume.KEEPS
    ),
    "image_pull_failed": RowReason("the image could not be pulled", _IMAGE_HOST, Resume.AGAIN),
    "image_pull_rate_limited": RowReason(
        "the registry counts too many pulls", "log in with `docker login`, or wait, then resume", Resume.AGAIN
    ),
    "image_not_pinned": RowReason(
        "the image is not the one that --pin-digests names",
        "fetch the pinned one with --pull always, or correct the pins",
        Resume.KEEPS,
    ),
    "image_changed": RowReason(
        "the image is another one than in an earlier invocation of the run",
        "restore the earlier image, or pass --accept-config-change",
        Resume.AGAIN,
    ),
    "image_audit_failed": RowReason(
        "a readable copy of the reference, or a stray program, is in the image, or the search did not end",
        "use an image without, or add --allow-image-findings (never waives an unfinished search)",
        Resume.KEEPS,
    ),
    "workspace_prepare_failed": RowReason(
        "the workspace could not be made from the image", "see the row's error; then resume", Resume.AGAIN
    ),
    "cleanroom_preflight_failed": RowReason(
        "the container could not be started, or is not as it must be", "see the row's error; then resume", Resume.AGAIN
    ),
    "reference_not_runnable": RowReason(
        "the reference does not run in the cleanroom", "check that the engine runs linux/amd64 programs", Resume.AGAIN
    ),
    "checkpoint_unreadable": RowReason(
        "whether a task is live cannot be known: its checkpoint is damaged", "restore the file", Resume.BLOCKED
    ),
    "task_unknown_to_server": RowReason(
        "the server had taken the task and does not know it any more",
        "start the server with the data directory that it had",
        Resume.BLOCKED,
    ),
    # the server did not take it, or its task was lost
    "submission_rejected": RowReason("the server did not take the task", "see the row's error", Resume.AGAIN),
    "workspace_not_visible": RowReason(
        "the server does not see the workspace",
        "use a server on this machine that can read the runs root, or move it with --runs-root",
        Resume.AGAIN,
    ),
    "client_poll_timeout_reattachable": RowReason(
        "the deadline passed and the server did not end the task", "resume: it is asked again", Resume.GOES_ON
    ),
    "client_poll_error_reattachable": RowReason(
        "the server stopped answering; the task may still run", "start the server, then resume", Resume.GOES_ON
    ),
    "lost": RowReason("a crash of the server lost the waiting task", "resume", Resume.AGAIN),
    "executor_lost": RowReason(
        "the container died, was removed, restarted or paused, or had a network",
        "see details.executor (exit code, out of memory); then resume",
        Resume.AGAIN,
    ),
    "executor_not_reached": RowReason(
        "the server runs commands, but not in our container: it talks to another Docker daemon",
        "give server and obo-bench the same DOCKER_HOST or context",
        Resume.AGAIN,
    ),
    "budget_exhausted": RowReason(
        "the server's budget was spent", "raise TOTAL_BUDGET of the server, then resume", Resume.AGAIN
    ),
    # it ended
    "task_not_completed": RowReason("the agent did not complete it and gave no code", "", Resume.KEEPS),
    "cancelled_by_operator": RowReason("an operator cancelled the task", "", Resume.KEEPS),
    "superseded": RowReason("its finished work was set aside, because another attempt was asked for", "", Resume.AGAIN),
    "submission_failed": RowReason(
        "the finished work could not be packaged, or --strict refused it; the workspace is kept",
        "see the row's error; then resume, which packages it without solving again",
        Resume.GOES_ON,
    ),
    "official_eval_failed": RowReason(
        "prepared, but the official evaluation gave no verdict", "grade it with `obo-bench eval`", Resume.DONE
    ),
    # an export did not bring it
    "not_submitted": RowReason("the source has no submission of it", "", Resume.BEGINS),
    "not_attempted": RowReason("the export was stopped before it", "repeat the export", Resume.BEGINS),
    "archive_missing": RowReason("the source's archive is not there any more", _EXPORT, Resume.BEGINS),
    "archive_unreadable": RowReason("the source's archive cannot be read, or is not whole", _EXPORT, Resume.BEGINS),
    "hash_differs": RowReason("the archive is not the one that the source recorded", _EXPORT, Resume.BEGINS),
    "submission_unrecorded": RowReason(
        "the source has an archive that its ledger does not vouch for", _EXPORT, Resume.BEGINS
    ),
    "destination_differs": RowReason(
        "the destination holds another archive", "choose another --dest, or add --overwrite", Resume.BEGINS
    ),
    "destination_unwritable": RowReason("the destination cannot be written", "free or mend its disk", Resume.BEGINS),
}
"""Every reason that a row of ours can carry, by what became of the instance, and that of one without a row."""

SERVER_INFRASTRUCTURE = RowReason(
    "the server's own code: provider, worker or budget failed, not the agent",
    "see details.server_reason and the server's log; then resume",
    Resume.AGAIN,
)
SERVER_OTHER = RowReason("the server's own code: the agent ended the task without completing it", "", Resume.KEEPS)


def explain(code: str) -> RowReason:
    """Return what a row's reason code means, also one that only the server or the gates know."""
    if code in ROW_REASONS:
        return ROW_REASONS[code]
    if code in REASONS:
        return RowReason("the run was refused before it came to this instance", REASONS[code].remedy, Resume.BEGINS)
    return SERVER_INFRASTRUCTURE if is_infrastructure(code) else SERVER_OTHER
