"""A run root as a finished and graded run leaves it, written by hand: no engine, no server, no evaluator."""

import gzip
import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from obo_bench.core.files import write_json
from obo_bench.core.host_load import HostLoad, LoadRecord
from obo_bench.core.ledger import Ledger, Row
from obo_bench.core.manifest import RunManifest
from obo_bench.core.redact import Redactor
from obo_bench.core.reporter import SilentReporter
from obo_bench.programbench.evaluation.eval_files import EvalProvenance, eval_json_path, write_provenance
from obo_bench.programbench.evaluation.grade_summary import InstanceGrade, build_grade_summary, write_grade_summary
from obo_bench.programbench.evaluation.verdicts import Blame, Verdict
from obo_bench.programbench.leaderboard.build import build_leaderboard
from obo_bench.programbench.leaderboard.result import Attestation, LeaderboardResult

A, B = "owner__alpha.0000001", "owner__beta.0000002"
HEAD = "1" * 40
CLOSED = {"usd": 1.5, "final": True, "source": "task_cost_finalized", "lower_bound": False, "at_most_usd": 1.5}
NETWORK = {
    "executor_ref": {"network": "none"},
    "allowed_resources": {"web": False, "network": False, "internet": False},
}


class Run:
    """A run root whose parts can be made otherwise before it is exported."""

    def __init__(self, tmp_path: Path, ids: Sequence[str] = (A, B)) -> None:
        self.root, self.dest = tmp_path / "run", tmp_path / "submission"
        self.ids = list(ids)
        self.grades: dict[str, InstanceGrade] = {}
        for iid in self.ids:
            self.solve(iid)
            self.grade(iid)
        self.load("invocation-1", 1.0)
        self.manifest: dict[str, Any] = manifest(self.root, self.ids)
        images = {
            iid: {"name": f"org/{iid}:task_cleanroom_v6", "id": "sha256:1", "digests": ["o@sha256:2"]} for iid in ids
        }
        self.order: dict[str, Any] = {
            "schema": "obo_bench.instance_order.v1",
            "run_nonce": "abcd1234",
            "instance_ids": self.ids,
            "admitted": {"solve_model": "openai::gpt-5.5"},
            "images": images,
        }

    def solve(self, iid: str, attempt: int = 1, cost: dict[str, Any] | None = None, **details: Any) -> None:
        """Write what a finished attempt leaves behind; an earlier one is set aside as the product does."""
        place = self.root / iid
        if attempt > 1:
            aside = place / "attempts" / f"{attempt - 1:02d}"
            aside.mkdir(parents=True)
            for path in [path for path in place.iterdir() if path.name not in ("attempts", "result_index.jsonl")]:
                path.rename(aside / path.name)
        place.mkdir(parents=True, exist_ok=True)
        task_id = f"obo-abcd1234-{iid}-{attempt}"
        record = {"task_id": task_id, "status": "completed", "total_rounds": 10 * attempt}
        self.write(iid, "ouroboros_task_result.json", {**record, "prompt_tokens": 900, "completion_tokens": 100})
        self.write(
            iid, "ouroboros_task_checkpoint.json", {"task_id": task_id, "attempt": attempt, "status": "completed"}
        )
        self.write(iid, "ouroboros_task_body.json", NETWORK)
        self.write(iid, "cleanroom.json", {"image": f"org/{iid}:task_cleanroom_v6", "protection": "os"})
        (place / "submission.tar.gz").write_bytes(gzip.compress(f"archive {iid} {attempt}".encode(), mtime=0))
        self.write(iid, "submission.json", {"sha256": self.sha256(iid), "flagged": []})
        facts = {"task_id": task_id, "degraded": False, "protection": "os", "cleanroom_trouble": None, **details}
        self.row(iid, attempt, CLOSED if cost is None else cost, facts, submission_sha256=self.sha256(iid))

    def solve_otherwise(self, iid: str, cost: dict[str, Any] | None = None, **details: Any) -> None:
        """Let the only attempt of an instance have ended in another way."""
        for ledger in self.root.rglob("result_index.jsonl"):
            ledger.unlink()
        for other in self.ids:
            self.solve(other, 1, *([cost] if other == iid else []), **(details if other == iid else {}))

    def row(self, iid: str, attempt: int, cost: dict[str, Any], details: dict[str, Any], **fields: Any) -> None:
        row = {"status": "completed", "reason_code": "submission_prepared", **fields}
        Ledger(self.root, "invocation-1", Redactor()).append(
            Row(benchmark="programbench", instance_id=iid, attempt=attempt, cost=cost, details=details, **row)
        )

    def grade(self, iid: str, verdict: Verdict = Verdict.FAIL, reason: str = "tests_failed") -> None:
        """Write the evaluator's file with its proof, and remember the row of the summary."""
        failed = {"name": "eval.tests.t.b", "branch": "x", "status": "failure", "extra": {"time": 0.1, "text": "diff"}}
        passed = {"name": "eval.tests.t.a", "branch": "x", "status": "passed", "extra": {"time": 0.2}}
        result = {"test_results": [passed, failed], "log": [{"step": "compile"}], "test_branches": ["x"]}
        path = eval_json_path(self.root, iid)
        path.write_text(json.dumps(result))
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        common = {"submission_sha256": self.sha256(iid), "evaluator_version": "1.2.5", "tests_digest": "t" * 64}
        times = {"started_at_unix": 1.0, "finished_at_unix": 2.0}
        proof = {"instance_id": iid, "eval_json_sha256": digest, "invocation": "invocation-1", **common, **times}
        write_provenance(self.root, EvalProvenance.model_validate(proof))
        score = None if verdict is Verdict.UNGRADED else 0.5
        image = {"evaluated": "sha256:1", "solved": "sha256:1", "same": True}
        counts = {
            "image": image,
            "passed": 1,
            "failed": 1,
            "not_run": 0,
            "attempts": 1,
            "detail": "",
            **common,
            **times,
        }
        row = {"verdict": verdict, "reason": reason, "blame": Blame.SUBMISSION, "score": score, **counts}
        self.grades[iid] = InstanceGrade.model_validate(row)

    def load(self, invocation: str, load_5min: float | None) -> None:
        """Record how busy the host was during an evaluation."""
        look = HostLoad(sampled_at_unix=1.0, cores=4, load_5min=load_5min)
        path = self.root / "eval" / invocation / "host_load.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        write_json(path, LoadRecord.of(look).document())

    def write(self, iid: str, name: str, document: object) -> None:
        (self.root / iid).mkdir(parents=True, exist_ok=True)
        (self.root / iid / name).write_text(json.dumps(document))

    def sha256(self, iid: str) -> str:
        return hashlib.sha256((self.root / iid / "submission.tar.gz").read_bytes()).hexdigest()

    def export(self) -> LeaderboardResult:
        """Write the run's documents, put the archives into the destination, and build."""
        if self.manifest:
            write_json(self.root / "run_manifest.json", self.manifest)
        if self.order:
            write_json(self.root / "instance_order.json", self.order)
        summary = build_grade_summary(
            invocation="invocation-1",
            created_at_unix=3.0,
            evaluation_status="completed",
            evaluator_version="1.2.5",
            benchmark_ids=self.ids,
            grades={},
            instances=self.grades,
            accounts={iid: grade.account for iid, grade in self.grades.items() if grade.account is not None},
        )
        write_grade_summary(self.root, summary)
        self.dest.mkdir(exist_ok=True)
        for iid in self.ids:
            self.link(iid)
        return build_leaderboard(self.root, self.dest, self.ids, SilentReporter())

    def link(self, iid: str) -> None:
        archive, target = (place / iid / "submission.tar.gz" for place in (self.root, self.dest))
        target.parent.mkdir(exist_ok=True)
        target.unlink(missing_ok=True)
        if archive.exists():
            os.link(archive, target)

    def readme(self) -> str:
        return (self.dest / "README.md").read_text()

    def stats(self, name: str) -> Any:
        return json.loads((self.dest / "_stats" / f"{name}.json").read_text())


def manifest(root: Path, ids: Sequence[str]) -> dict[str, Any]:
    """Return the manifest of a run without anything to object to."""
    return RunManifest.model_validate(
        {
            "benchmark": "programbench",
            "command": "programbench run",
            "invocation": "invocation-1",
            "created_at_unix": 1795999800.0,
            "run_root": str(root),
            "requested_task_ids": list(ids),
            "argv": ["/usr/bin/obo-bench", "programbench", "run", "--run-id", "r"],
            "harness": {
                "obo_bench": "0.2.0",
                "programbench": "1.2.5",
                "solve_model": "openai::gpt-5.5",
                "limits": {"cpus": 4.0, "memory": "16g"},
                "images": {iid: {"audit": {"findings_count": 0, "waived": False}} for iid in ids},
                "settings": {"live": {"OUROBOROS_EFFORT_TASK": "high"}},
            },
            "timeout_sec": 21600.0,
            "source": {"version": "6.75.0", "head": HEAD, "dirty": False},
            "seed_gate": {"ok": True},
            "extra": {
                "outcome": "completed",
                "exit_code": 0,
                "finished_at_unix": 1796003400.0,
                "runtime_attestation": {"ok": True, "runtime_version": "6.75.0", "overridden": False},
                "cost": {"known_usd": 3.0, "unknown": 0, "lower_bound": False},
            },
        }
    ).document()


def told(result: LeaderboardResult, name: str) -> Attestation:
    """Return one statement of the account."""
    return next(attestation for attestation in result.attestations if attestation.name == name)


def snapshot(directory: Path) -> dict[str, bytes]:
    """Return all files with their bytes."""
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
