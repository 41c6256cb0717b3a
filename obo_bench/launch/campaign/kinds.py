"""What the kinds of steps start, where these write, what they cost, and how they can end."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.launch.campaign.plan import KindName

SERVER_OPTIONS = (
    "repo_dir",
    "runs_root",
    "ouroboros_url",
    "settings_path",
    "solve_model",
    "allow_dirty_seed",
    "expect",
    "expected_version",
    "seed_commit",
    "require_stamp",
)
"""What the campaign says once to every step that asks the server."""
OF_THE_SERVER = ("ouroboros_url", "expected_version")
"""Those of them that mean nothing to a launcher which needs no server."""
PLACE_OPTIONS = ("repo_dir", "runs_root")
"""What it says to the others."""
OWN_OPTIONS = ("run_id", "max_cost_usd", "json", "quiet", "verbose", "explain")
"""Options of a command that the campaign decides."""
PAY_AGAIN = ("redo_existing", "retry", "accept_config_change")
"""Options that would let a repeated step pay twice, solve an agent's failure again or change what was admitted."""


@dataclass(frozen=True)
class Kind:
    """One kind of step."""

    command: str
    """The recorded command."""
    outcomes: tuple[str, ...]
    """Outcomes after which the campaign may go on: those that `on` can name."""
    directory: str = "programbench"
    """Where its root is below the runs root, when it has a run id."""
    shared: tuple[str, ...] = PLACE_OPTIONS
    """Options that the campaign gives it."""
    identity: str = ""
    """The option that takes its run id; empty where it works within another run."""
    manifest: str = MANIFEST_NAME
    """Its manifest, relative to the root."""
    argument: str = ""
    """The key among its options that its command takes as an argument."""
    required: tuple[str, ...] = ()
    """Options without which its place is not known."""
    spends: bool = False
    """Whether it can cost money."""
    each_start_costs: bool = False
    """Whether its ceiling, and the cost that it tells, are of one start: of a run they are of all its work."""
    files: tuple[str, ...] = ()
    """Options that name a file that must be there."""
    runs: tuple[str, ...] = ()
    """Options that name a run, or a file with scores, that must be there or be made by an earlier step."""


KINDS: Mapping[KindName, Kind] = {
    "attest": Kind(
        command="attest",
        outcomes=("completed",),
        directory="attest",
        shared=SERVER_OPTIONS,
        identity="run_id",
    ),
    "run": Kind(
        command="programbench run",
        outcomes=("completed", "instances_failed", "official_eval_error", "dry_run"),
        shared=SERVER_OPTIONS,
        identity="run_id",
        spends=True,
        files=("ids_file", "pin_digests"),
    ),
    "eval": Kind(
        command="eval",
        outcomes=("completed", "official_eval_error"),
        manifest=f"eval/{MANIFEST_NAME}",
        argument="run",
        required=("run",),
        files=("ids_file", "pin_digests"),
        runs=("run",),
    ),
    "gate": Kind(
        command="programbench gate",
        outcomes=("completed", "gate_no_go", "gate_inconclusive"),
        required=("run",),
        files=("tasks", "smoke_ids_file", "unseen_ids_file"),
        runs=("run", "reference", "baseline"),
    ),
    "export": Kind(
        command="export",
        outcomes=("completed", "instances_failed", "nothing_exported"),
        identity="dest_run_id",
        files=("ids_file",),
        runs=("source",),
    ),
    "exec": Kind(
        command="exec",
        outcomes=(
            "completed",
            "instances_failed",
            "child_failed",
            "nothing_exported",
            "official_eval_error",
        ),
        shared=SERVER_OPTIONS,
        identity="run_id",
        required=("benchmark",),
        spends=True,
        each_start_costs=True,
        files=("ids_file",),
    ),
}
"""Every kind by its name."""


def is_reserved(kind: Kind, option: str) -> bool:
    """Say whether the campaign decides an option of a command itself."""
    return option in {*kind.shared, *OWN_OPTIONS} or (option == kind.identity and option == "run_id")


def root_of(name: KindName, run_id: str, options: Mapping[str, object], runs_root: Path, base: Path) -> Path:
    """Return where a step writes; `base` is what paths among its options are relative to."""
    match name:
        case "eval":
            return _among_runs(options, runs_root, base)
        case "gate":
            return _among_runs(options, runs_root, base) / "gate"
        case "export" if "dest" in options:
            return base / str(options["dest"])
        case "export":
            return runs_root / "programbench" / str(options.get("dest_run_id", run_id))
        case "exec":
            return runs_root / str(options["benchmark"]) / run_id
    return runs_root / KINDS[name].directory / run_id


def _among_runs(options: Mapping[str, object], runs_root: Path, base: Path) -> Path:
    """Return the directory of the run that a step works in, as the commands find it: by a path with a slash, or id."""
    named = str(options["run"])
    return base / named if "/" in named else runs_root / "programbench" / named
