"""The vocabulary of refusals: every reason, the gate that it belongs to, and what to do about it."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class Stage(StrEnum):
    """The gate that refused."""

    SEED_GATE = "seed_gate"
    SEED_SHAPE = "seed_shape"
    LINEAGE = "lineage"
    RUNTIME_ATTESTATION = "runtime_attestation"
    PREFLIGHT = "preflight"


@dataclass(frozen=True)
class Reason:
    """One row of the vocabulary."""

    stage: Stage
    """The gate it belongs to."""
    remedy: str
    """What the operator can do about it."""
    waiver: str = ""
    """The flag or variable that waives it and is then recorded; empty where nothing does."""


_DIRTY = "--allow-dirty-seed"

REASONS: Mapping[str, Reason] = {
    "seed_dirty": Reason(Stage.SEED_GATE, "commit or stash the changes listed above", _DIRTY),
    "seed_status_unavailable": Reason(Stage.SEED_GATE, "make `git status` work in the checkout", _DIRTY),
    "seed_identity_unavailable": Reason(
        Stage.SEED_GATE, "name a git checkout with at least one commit with --repo-dir", _DIRTY
    ),
    "seed_hidden_changes": Reason(
        Stage.SEED_GATE, "run the commands that the refusal names: they end what hides the changes", _DIRTY
    ),
    "seed_mismatch": Reason(Stage.SEED_GATE, "check out the expected commit, or correct --expect"),
    "seed_not_toplevel": Reason(Stage.SEED_SHAPE, "name the top directory of the checkout with --repo-dir"),
    "seed_is_not_a_git_directory": Reason(
        Stage.SEED_SHAPE,
        "use a clone: a worktree or submodule keeps its commits outside of the mounted directory",
    ),
    "seed_shallow": Reason(Stage.SEED_SHAPE, "fetch the whole history with `git fetch --unshallow`"),
    "stamp_absent": Reason(
        Stage.LINEAGE, "seed the volume again, so that `ouroboros_seed` in its git directory holds the seed's commit"
    ),
    "seed_head_unreadable": Reason(Stage.LINEAGE, "name a git checkout with at least one commit with --repo-dir"),
    "lineage_broken": Reason(
        Stage.LINEAGE, "restore the volume: its commit must descend from the one that it was seeded from"
    ),
    "lineage_unknown": Reason(
        Stage.LINEAGE,
        "fetch the commit (in a shallow clone: `git fetch --unshallow`), or correct --seed-commit",
    ),
    "runtime_unreachable": Reason(Stage.RUNTIME_ATTESTATION, "start the Ouroboros server, or correct --ouroboros-url"),
    "runtime_version_absent": Reason(
        Stage.RUNTIME_ATTESTATION, "point --ouroboros-url at an Ouroboros server; this one does not say what it runs"
    ),
    "commit_unavailable": Reason(
        Stage.RUNTIME_ATTESTATION, "name the checkout that the server runs from with --repo-dir (it needs VERSION)"
    ),
    "runtime_skew": Reason(
        Stage.RUNTIME_ATTESTATION,
        "restart the server from the checkout, or check out the version that it runs",
        "OBO_ALLOW_EVOLVED_VOLUME",
    ),
    "runtime_changed": Reason(
        Stage.RUNTIME_ATTESTATION, "find out who replaced the server; resume with the one the run was admitted with"
    ),
    "settings_unreadable": Reason(
        Stage.PREFLIGHT, "correct the settings file, or name another (--settings-path, --into)"
    ),
    "settings_changed": Reason(
        Stage.PREFLIGHT, "look at what became of the file (does the server write it?), then repeat the command"
    ),
    "model_slot_invalid": Reason(Stage.PREFLIGHT, "write the replacements that the message lists into the settings"),
    "solve_model_undeclared": Reason(
        Stage.PREFLIGHT, "declare the model with --solve-model, or set OUROBOROS_MODEL in the settings"
    ),
    "solve_model_mismatch": Reason(
        Stage.PREFLIGHT, "declare the model that the settings name, or change OUROBOROS_MODEL in the settings"
    ),
    "target_settings_mismatch": Reason(
        Stage.PREFLIGHT, "restart the server with the declared model, or declare the model that it runs"
    ),
    "target_settings_unavailable": Reason(
        Stage.PREFLIGHT, "make GET /api/settings of the server answer, so that the model it runs is known"
    ),
    "gateway_not_ready": Reason(
        Stage.PREFLIGHT, "wait until the server's workers are up; check its provider keys and its log"
    ),
    "gateway_auth_required": Reason(Stage.PREFLIGHT, "set OUROBOROS_NETWORK_PASSWORD to the server's network password"),
    "workspace_not_visible": Reason(
        Stage.PREFLIGHT, "use a server on this machine that can read the runs root, or move it with --runs-root"
    ),
    "dataset_unavailable": Reason(Stage.PREFLIGHT, "reinstall the programbench package"),
    "ids_file_unreadable": Reason(Stage.PREFLIGHT, "name a UTF-8 text file with one instance id a line"),
    "launcher_input_unreadable": Reason(
        Stage.PREFLIGHT,
        "correct the file that the launcher's own arguments name, or name the tasks with --task-id or --ids-file",
    ),
    "pins_unreadable": Reason(
        Stage.PREFLIGHT,
        "name a run_manifest.json or instance_order.json of a run with the right images, or lines name@sha256:...",
    ),
    "run_not_graded": Reason(
        Stage.PREFLIGHT, "grade it with `run --eval` and its --run-id, or with `obo-bench programbench eval`"
    ),
    "scores_unreadable": Reason(
        Stage.PREFLIGHT, "name an evaluated run, an official _stats/score.json, eval.json files, or a CSV of id,score"
    ),
    "predictions_unreadable": Reason(
        Stage.PREFLIGHT,
        "name JSON lines of instance_id, model_patch and prefix, or the official patches.json, with one prediction for "
        "each instance (--predictions)",
    ),
    "raw_sample_unreadable": Reason(
        Stage.PREFLIGHT,
        "name the benchmark's raw sample: JSON lines of instance_id, FAIL_TO_PASS and PASS_TO_PASS (--raw-sample)",
    ),
    "official_results_unreadable": Reason(
        Stage.PREFLIGHT, "name the directory that the official evaluation wrote to (--output-dir)"
    ),
    "summary_not_fresh": Reason(Stage.PREFLIGHT, "grade again, and use only the summary that this writes"),
    "instruction_unreadable": Reason(
        Stage.PREFLIGHT, "name a UTF-8 text file with the task as the agent is to read it (--instruction-file)"
    ),
    "empty_selection": Reason(Stage.PREFLIGHT, "widen --filter, --slice, --difficulty or --language"),
    "unknown_instance": Reason(Stage.PREFLIGHT, "correct --instance-id; the message lists near matches"),
    "engine_unreachable": Reason(Stage.PREFLIGHT, "start Docker, or set DOCKER_HOST or the docker context"),
    "engine_disk_low": Reason(Stage.PREFLIGHT, "free disk space on the engine's root or on the runs root"),
    "evaluator_unavailable": Reason(
        Stage.PREFLIGHT,
        "install programbench and the docker command (PROGRAMBENCH_PYTHON names its interpreter); `run` also goes "
        "without, with --no-eval",
    ),
    "run_locked": Reason(
        Stage.PREFLIGHT,
        "wait for the process that holds the run, or begin another (--run-id, FILE; in Python run_root)",
    ),
    "run_not_found": Reason(
        Stage.PREFLIGHT, "name the run's directory, or its id with --runs-root saying where runs are kept"
    ),
    "campaign_invalid": Reason(
        Stage.PREFLIGHT, "correct what the message names; `obo-bench campaign check FILE` tells what else there is"
    ),
    "grades_at_stake": Reason(
        Stage.PREFLIGHT,
        "grade with the programbench that has these instances; a practice run is graded by `obo-bench practice "
        "--directory DIR --run-id ID`, or in the second terminal that `practice gateway` tells",
    ),
    "nothing_to_retry": Reason(
        Stage.PREFLIGHT,
        "correct --run-id (`obo-bench runs` lists them) or --retry, or leave --retry out to begin a new run",
    ),
    "resume_config_mismatch": Reason(
        Stage.PREFLIGHT, "repeat the admitted configuration, choose another --run-id, or pass --accept-config-change"
    ),
    "budget_insufficient": Reason(Stage.PREFLIGHT, "raise the key's limit, or lower --min-budget-usd"),
    "budget_unreadable": Reason(
        Stage.PREFLIGHT, "set a valid OPENROUTER_API_KEY in the settings, or leave --min-budget-usd out"
    ),
    "launcher_not_startable": Reason(
        Stage.PREFLIGHT, "name a program that exists and is executable; a script begins with #! and its interpreter"
    ),
    "ledger_not_open": Reason(
        Stage.PREFLIGHT, "append to a run of `exec`, or to one that still runs; other runs keep their own ledger"
    ),
    "ledger_row_invalid": Reason(
        Stage.PREFLIGHT,
        "hand in one JSON object with instance_id, status and reason_code of a row (`schema ledger-row`)",
    ),
    "launcher_contract_stale": Reason(
        Stage.PREFLIGHT,
        "start the launcher with `obo-bench exec`, or unset OBO_BENCH_MANIFEST and its kin to record a run of its own",
    ),
    "launcher_contradicts_run": Reason(
        Stage.PREFLIGHT, "give `obo-bench exec` and the launcher the same benchmark, checkout, server and demands"
    ),
    "practice_setup_failed": Reason(Stage.PREFLIGHT, "follow the advice in the message"),
    "run_root_unwritable": Reason(Stage.PREFLIGHT, "make the runs root writable, or choose another with --runs-root"),
    "leaderboard_not_possible": Reason(
        Stage.PREFLIGHT, "evaluate the run first (`programbench eval`), then export its graded instances"
    ),
    "destination_taken": Reason(
        Stage.PREFLIGHT, "choose another --dest: an export has a directory of its own, and only one source"
    ),
    "output_unwritable": Reason(
        Stage.PREFLIGHT, "name a file outside of every run, in a directory that exists and can be written"
    ),
    "output_not_confined": Reason(
        Stage.PREFLIGHT,
        "choose a place outside the checkout, the server's data directory and what is read (--runs-root, or the option "
        "that names the output)",
    ),
}
"""Every reason an invocation can be refused for, in the order of the gates."""
