"""What some commands read when they succeed: submissions, grades, a reference to compare with, a running cleanroom."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from obo_bench.launch.campaign.record import CampaignRecord, write_record
from obo_bench.practice.docker_cli import docker
from obo_bench.practice.images import image_reference
from obo_bench.practice.tasks import task_by_id
from obo_bench.programbench.packaging.submission import package_workspace
from tests.gate_world import GateWorld
from tests.parity.command_lines import IID


@contextmanager
def supplied(command: str, values: Mapping[str, str | None]) -> Iterator[None]:
    """Put there what the good invocation of a command reads, for as long as it runs."""
    runs = Path(values["--runs-root"] or "")
    Path(values["--ids-file"] or "").parent.mkdir(exist_ok=True)
    Path(values["--ids-file"] or "").write_text(f"{IID}\n")
    match command.rsplit(maxsplit=1)[-1]:
        case "export":
            submission(runs / "programbench" / "s")
        case "eval":
            submission(runs / "programbench" / "r")
        case "gate":
            run = GateWorld(runs / "programbench" / "r")
            run.graded(IID, 3, 3)
            run.write()
            Path(values["--reference"] or "").write_text(f"{IID},0.5\n")
            Path(values["--tasks"] or "").write_text(f"{IID}\n")
        case "swe-bench-pro":
            results(Path(values["--predictions"] or "").parent)
        case "prepare":
            with cleanroom(values["--container-name"] or "", Path(values["--workspace"] or "")):
                Path(values["--instruction-file"] or "").write_text("Write it again.\n")
                yield
            return
    yield


def standing(command: str, values: Mapping[str, str | None]) -> None:
    """Put there what a command reads first of all, so that every other way out comes after it."""
    if not command.startswith("campaign "):
        return
    file, runs = Path(values["FILE"] or ""), Path(values["--runs-root"] or "")
    file.parent.mkdir()
    file.write_text('[[steps]]\nid = "ask"\nkind = "attest"\n')
    if command == "campaign resume" and not runs.is_file() and not runs.is_relative_to(values["--repo-dir"] or ""):
        said = {name: values.get(f"--{name.replace('_', '-')}") for name in ("repo_dir", "runs_root", "solve_model")}
        shared = {name: value for name, value in said.items() if value} | {"ouroboros_url": values["--ouroboros-url"]}
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        root = runs / "campaign" / (values["CAMPAIGN"] or "")
        root.mkdir(parents=True, exist_ok=True)
        record = CampaignRecord(file=str(file), sha256=digest, runs_root=str(runs), shared=shared)
        write_record(root, record, file.read_bytes())


def results(inputs: Path) -> None:
    """Make predictions with a graded official result."""
    (inputs / "predictions.jsonl").write_text('{"instance_id": "i", "model_patch": "diff", "prefix": "p"}\n')
    (inputs / "raw_sample.jsonl").write_text('{"instance_id": "i", "FAIL_TO_PASS": ["t"], "PASS_TO_PASS": []}\n')
    (inputs / "results" / "i").mkdir(parents=True)
    (inputs / "results" / "i" / "p_output.json").write_text('{"tests": [{"name": "t", "status": "PASSED"}]}')


def submission(run_root: Path) -> str:
    """Make a run root with one right submission and return its hash."""
    workspace, instance = run_root.parent / f"{run_root.name}-workspace", run_root / IID
    instance.mkdir(parents=True)
    solve(workspace)
    return package_workspace(workspace, instance).sha256


def solve(workspace: Path) -> None:
    """Write the right solution of the practice task."""
    task = task_by_id(IID)
    assert task is not None
    for name, (content, mode) in task.solution("solved").items():
        path = workspace / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(mode)


@contextmanager
def cleanroom(name: str, workspace: Path) -> Iterator[None]:
    """Run a cleanroom as an operator would by hand, on a workspace with the image's files and a solution."""
    image = image_reference(IID)
    workspace.mkdir()
    docker("create", "--name", name, image, "true")
    try:
        docker("cp", f"{name}:/workspace/.", str(workspace))
    finally:
        docker("rm", "-f", name)
    limits = [
        "--network",
        "none",
        "--cap-drop",
        "SYS_PTRACE",
        "--cpus",
        "1",
        "--memory",
        "512m",
        "--pids-limit",
        "4096",
    ]
    mount = ["--mount", f"type=bind,source={workspace},target=/workspace"]
    docker("run", "-d", "--init", "--name", name, *limits, *mount, image, "sleep", "600")
    try:
        solve(workspace)
        yield
    finally:
        docker("rm", "-f", name)
