"""The eval.json files of a run root: proving whose they are, and setting aside what is not proven.

Beside a fresh `<iid>.eval.json` lies `<iid>.eval.provenance.json`; nothing is ever deleted.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field

from obo_bench.core.documents import UnreadableDocument, read_document
from obo_bench.core.files import sha256_file, write_json
from obo_bench.core.wire_format import WireModel
from obo_bench.programbench.admission.order import AdmittedImage
from obo_bench.programbench.evaluation.grading import tests_digest


class EvalProvenance(WireModel):
    """What an eval.json was made from."""

    model_config = ConfigDict(frozen=True)

    schema_: Literal["obo_bench.eval_provenance.v1"] = Field("obo_bench.eval_provenance.v1", alias="schema")
    """The wire format."""
    instance_id: str
    """The instance."""
    submission_sha256: str
    """SHA-256 of the archive that was evaluated."""
    evaluator_version: str
    """Version of the programbench package."""
    tests_digest: str
    """Digest over the task files and what identifies the test archives."""
    eval_json_sha256: str
    """SHA-256 of the eval.json beside it."""
    invocation: str
    """The invocation whose evaluator wrote it."""
    started_at_unix: float
    """Start of that evaluator."""
    finished_at_unix: float
    """When the eval.json was written."""
    image: AdmittedImage | None = None
    """The image that it was evaluated in; null when the engine did not tell, and in older files."""


def eval_json_path(run_root: Path, instance_id: str) -> Path:
    """Return where the evaluator writes its result."""
    return run_root / instance_id / f"{instance_id}.eval.json"


def provenance_path(run_root: Path, instance_id: str) -> Path:
    """Return where our proof lies."""
    return run_root / instance_id / f"{instance_id}.eval.provenance.json"


def read_provenance(run_root: Path, instance_id: str) -> EvalProvenance | None:
    """Return the proof, or None when it is absent or not ours."""
    try:
        return read_document(EvalProvenance, provenance_path(run_root, instance_id))
    except UnreadableDocument:
        return None


def write_provenance(run_root: Path, proof: EvalProvenance) -> None:
    """Write the proof durably; raises OSError."""
    write_json(provenance_path(run_root, proof.instance_id), proof.document())


def proven(run_root: Path, instance_id: str, expected: Mapping[str, str]) -> EvalProvenance | None:
    """Return the proof if it has every `expected` field and the eval.json is the very file it speaks of."""
    proof = read_provenance(run_root, instance_id)
    if proof is None or proof.instance_id != instance_id:
        return None
    if any(getattr(proof, name) != value for name, value in expected.items()):
        return None
    try:
        same = sha256_file(eval_json_path(run_root, instance_id)) == proof.eval_json_sha256
    except OSError:
        return None
    return proof if same else None


def set_aside(run_root: Path, instance_id: str, invocation: str) -> bool:
    """Move an eval.json and its proof to `eval/stale/<invocation>/`; tell whether there was an eval.json.

    Raises OSError when it cannot be moved: then nothing may be evaluated over it.
    """
    result = eval_json_path(run_root, instance_id)
    there = result.is_symlink() or result.exists()
    for path in (result, provenance_path(run_root, instance_id)):
        if path.is_symlink() or path.exists():
            path.rename(_free_name(run_root / "eval" / "stale" / invocation, path.name))
    return there


def _free_name(directory: Path, name: str) -> Path:
    directory.mkdir(parents=True, exist_ok=True)
    number = 0
    while (target := directory / (f"{number}.{name}" if number else name)).exists():
        number += 1
    return target


def digest_of_tests(task_dir: Path, branches: tuple[str, ...], environ: Mapping[str, str]) -> str:
    """Return the digest of an instance's tests: its task files and, where they are local, its test archives.

    Archives that come from a data set are identified by repository and revision. Raises OSError.
    """
    blobs = environ.get("PROGRAMBENCH_BLOB_DIR", "")
    if not blobs:
        names = ("PROGRAMBENCH_HF_REPO", "PROGRAMBENCH_HF_REVISION")
        return tests_digest(task_dir, {name: environ.get(name, "") for name in names})
    archives = {b: Path(blobs, task_dir.name, "tests", f"{b}.tar.gz") for b in branches}
    return tests_digest(task_dir, {b: sha256_file(p) if p.is_file() else "missing" for b, p in archives.items()})
