"""A graded run on disk without a solve: what the gate reads, written by the product's own models."""

import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obo_bench.__main__ import main
from obo_bench.core.files import sha256_file, write_json
from obo_bench.core.host_load import LoadRecord
from obo_bench.core.manifest import RunManifest
from obo_bench.programbench.evaluation.eval_files import EvalProvenance, eval_json_path, write_provenance
from obo_bench.programbench.evaluation.grade_summary import InstanceGrade, build_grade_summary
from obo_bench.programbench.evaluation.grading import Grade
from obo_bench.programbench.evaluation.instance_account import InstanceAccount
from obo_bench.programbench.evaluation.verdicts import Blame, Verdict, ruling_for
from obo_bench.programbench.instances import load_instances
from tests.conftest import Done

IDS = [instance.instance_id for instance in load_instances() if not instance.is_fixture]
"""The real benchmark's ids, sorted."""
FOUR = IDS[:4]


def in_process(*arguments: str | Path) -> Done:
    """Run the command line in this process, which is quicker than one of its own."""
    stdout, stderr = io.BytesIO(), io.BytesIO()
    with redirect_stdout(_text(stdout)), redirect_stderr(_text(stderr)):
        status = main([str(argument) for argument in arguments])
        return Done(status, stdout.getvalue().decode(), stderr.getvalue().decode())


def _text(stream: io.BytesIO) -> io.TextIOWrapper:
    return io.TextIOWrapper(stream, "utf-8", write_through=True)


def account(status: str, reason: str, *, infrastructure: bool = False, **changes: Any) -> InstanceAccount:
    values = {
        "status": status, "reason_code": reason, "infrastructure": infrastructure, "degraded": False,
        "solve_attempts": 1, "repeats_after_infrastructure": 0, "repeats_asked_for": 0, "repeats_undeclared": 0,
        "known_usd": 0.5, "unknown_costs": 0, "lower_bound": False,
    }  # fmt: skip
    return InstanceAccount.model_validate(values | changes)


@dataclass
class GateWorld:
    """A run and its grades; `write` puts them on disk."""

    root: Path
    """Directory of the run."""
    rows: dict[str, InstanceGrade] = field(default_factory=dict)
    accounts: dict[str, InstanceAccount] = field(default_factory=dict)

    def graded(self, instance_id: str, passed: int, counted: int, **changes: Any) -> None:
        """Give a task a submission and an official verdict."""
        archive = f"archive of {instance_id}".encode()
        (self.root / instance_id).mkdir(parents=True, exist_ok=True)
        (self.root / instance_id / "submission.tar.gz").write_bytes(archive)
        verdict = Verdict.PASS if passed == counted else Verdict.FAIL
        self._row(
            instance_id,
            verdict=verdict,
            reason="all_tests_passed" if verdict is Verdict.PASS else "tests_failed",
            blame=None if verdict is Verdict.PASS else Blame.SUBMISSION,
            score=passed / counted if counted else 0.0,
            passed=passed,
            failed=counted - passed,
            not_run=0,
            submission_sha256=hashlib.sha256(archive).hexdigest(),
            evaluator_version="1.2.5",
            tests_digest="d" * 64,
            **changes,
        )
        self.accounts.setdefault(instance_id, account("completed", "submission_prepared"))
        self.evaluated(instance_id, "the-evaluation", None)

    def ungraded(self, instance_id: str, reason: str, submission_sha256: str | None = None) -> None:
        """Leave a task without an official verdict."""
        blame = ruling_for(reason)[1].blame
        self._row(instance_id, reason=reason, blame=blame, submission_sha256=submission_sha256)

    def unsubmitted(self, instance_id: str, told: InstanceAccount) -> None:
        """Leave a task without a submission; the ledger tells why."""
        self.ungraded(instance_id, "no_submission")
        self.accounts[instance_id] = told

    def _row(self, instance_id: str, **values: Any) -> None:
        blank: dict[str, Any] = dict.fromkeys(InstanceGrade.model_fields)
        blank |= {"verdict": Verdict.UNGRADED, "attempts": 1, "detail": ""}
        known = {name: field.default for name, field in InstanceGrade.model_fields.items() if not field.is_required()}
        self.rows[instance_id] = InstanceGrade.model_validate(blank | known | values)

    def write(self, outcome: str = "completed") -> Path:
        """Write manifest and summary; returns the directory of the run."""
        self.root.mkdir(parents=True, exist_ok=True)
        manifest = RunManifest(
            benchmark="programbench", command="run", invocation="the-run", created_at_unix=1.0, run_root=str(self.root)
        )
        document = manifest.document()
        document["extra"]["outcome"] = outcome
        write_json(self.root / "run_manifest.json", document)
        scored = {iid: row.score for iid, row in self.rows.items() if row.score is not None}
        summary = build_grade_summary(
            invocation="the-evaluation",
            created_at_unix=2.0,
            evaluation_status="completed",
            evaluator_version="1.2.5",
            benchmark_ids=IDS,
            grades={iid: Grade(Verdict.FAIL, "", None, score, score) for iid, score in scored.items()},
            instances=self.rows,
            accounts=self.accounts,
        )
        write_json(self.root / "grade_summary.json", summary.document())
        return self.root

    def evaluated(self, instance_id: str, invocation: str, load: LoadRecord | None) -> None:
        """Prove which evaluation made a grade, and what that recorded of the host."""
        grade, result = self.rows[instance_id], eval_json_path(self.root, instance_id)
        result.write_text("{}")
        proof = EvalProvenance(
            instance_id=instance_id, submission_sha256=grade.submission_sha256 or "", evaluator_version="1.2.5",
            tests_digest="d" * 64, eval_json_sha256=sha256_file(result), invocation=invocation, started_at_unix=1.0,
            finished_at_unix=2.0,
        )  # fmt: skip
        write_provenance(self.root, proof)
        if load is not None:
            (self.root / "eval" / invocation).mkdir(parents=True, exist_ok=True)
            write_json(self.root / "eval" / invocation / "host_load.json", load.document())

    def gate(self, *arguments: str | Path, run: Callable[..., Done] = in_process) -> Done:
        """Run the command on it, in this process or as one of its own."""
        return run("programbench", "gate", "--run", self.root, "--json", *arguments)

    def result(self) -> dict[str, Any]:
        """Return the document that the gate wrote."""
        value = json.loads((self.root / "gate" / "gate_result.json").read_text())
        assert isinstance(value, dict)
        return value


def ids_file(path: Path, ids: Sequence[str]) -> Path:
    path.write_text("".join(f"{iid}\n" for iid in ids))
    return path


def csv_file(path: Path, scores: Mapping[str, object]) -> Path:
    path.write_text("id,score\n" + "".join(f"{iid},{score}\n" for iid, score in scores.items()))
    return path


def four_tasks(root: Path) -> GateWorld:
    """Return a run on disk with the scores 1, 1/2, 1/3 and 0: a mean of 11/24."""
    made = GateWorld(root)
    for iid, passed, counted in zip(FOUR, (4, 1, 1, 0), (4, 2, 3, 5), strict=True):
        made.graded(iid, passed, counted)
    made.write()
    return made


def reference(directory: Path, *scores: object, name: str = "reference") -> list[str]:
    """Write the scores of the first of the four tasks; returns the option that names the file."""
    path = csv_file(directory / f"{name}.csv", dict(zip(FOUR, scores, strict=False)))
    return [f"--{name}", str(path)]
