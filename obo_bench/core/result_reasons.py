"""The words of ours that the rows of other launchers carry; any other reason code is the launcher's own, verbatim."""

from collections.abc import Mapping

NO_RESULT = "no_result_reported"
"""Reason of a requested instance that nothing was heard of, where results were expected."""
RESULT_REASONS: Mapping[str, str] = {
    "prediction_written": "the launcher wrote a prediction that is not blank",
    "empty_prediction": "the launcher ended the task with a blank prediction",
    "task_ended": "the launcher ended the task and left a result",
    "task_failed": "the launcher says that the task failed, without a word for why",
    "no_final_result": "the task was begun, and its result is missing",
    "result_unreadable": "the task's result is there, and is damaged or of an unknown shape",
    "infra_suspect": "the launcher suspects its own environment, and left nothing to be graded",
    "secret_opt_in_required": "the launcher wants a secret that it may not have without being allowed to",
    "libc_skip": "the launcher left the task out: the image's C library cannot run the agent",
    "verdict_missing": "the official harness could not judge the task",
}
"""The words that presets give to results, with what they mean."""
LAUNCHER_REASONS: Mapping[str, str] = {
    **RESULT_REASONS,
    NO_RESULT: "the launcher ended, and nothing was heard of the instance",
}
"""Every word, with what it means."""
