"""SWE-bench Pro shaped results on disk: predictions, raw sample, and what the official evaluation leaves."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.conftest import Done
from tests.gate_world import in_process

PREFIX = "ouroboros"


@dataclass
class ProResults:
    """A tree that is filled row by row; `write` puts predictions and raw sample on disk."""

    root: Path
    predictions: list[Any] = field(default_factory=list)
    rows: list[Any] = field(default_factory=list)

    @property
    def out(self) -> Path:
        return self.root / "results"

    @property
    def summary(self) -> Path:
        return self.out / "grade_summary.json"

    def predict(self, instance_id: str, patch: object = "diff --git a b\n", **fields: object) -> None:
        self.predictions.append({"instance_id": instance_id, "model_patch": patch, "prefix": PREFIX} | fields)

    def require(self, instance_id: str, fail_to_pass: object, pass_to_pass: object = ()) -> None:
        lists = [list(each) if isinstance(each, tuple) else each for each in (fail_to_pass, pass_to_pass)]
        self.rows.append({"instance_id": instance_id, "FAIL_TO_PASS": lists[0], "PASS_TO_PASS": lists[1]})

    def place(self, instance_id: str, prefix: str = PREFIX) -> Path:
        path = self.out / instance_id / f"{prefix}_output.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def output(self, instance_id: str, tests: Mapping[str, str], prefix: str = PREFIX) -> Path:
        """Leave the official output of an instance."""
        path = self.place(instance_id, prefix)
        path.write_text(json.dumps({"tests": [{"name": name, "status": status} for name, status in tests.items()]}))
        return path

    def instance(self, instance_id: str, tests: Mapping[str, str] | None, required: Sequence[str] = ("t",)) -> None:
        """Predict an instance of the data set; without tests nothing was scored."""
        self.predict(instance_id)
        self.require(instance_id, list(required))
        if tests is not None:
            self.output(instance_id, tests)

    def write(self) -> None:
        self.out.mkdir(parents=True, exist_ok=True)
        for name, rows in (("predictions.jsonl", self.predictions), ("raw_sample.jsonl", self.rows)):
            (self.root / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows))

    def arguments(self, *more: str | Path) -> list[str | Path]:
        return [
            *("grade", "swe-bench-pro", "--predictions", self.root / "predictions.jsonl"),
            *("--output-dir", self.out, "--raw-sample", self.root / "raw_sample.jsonl"),
            *("--runs-root", self.root / "runs", "--json", *more),
        ]

    def grade(self, *more: str | Path, run: Callable[..., Done] = in_process) -> Done:
        """Run the command on what is on disk."""
        return run(*self.arguments(*more))

    def graded(self, *more: str | Path) -> dict[str, dict[str, Any]]:
        """Write, grade, and return the verdicts of the published summary by instance."""
        self.write()
        done = self.grade(*more)
        assert done.status in (0, 6), done.stderr
        return {row["instance_id"]: row for row in self.document()["verdicts"]}

    def document(self) -> dict[str, Any]:
        value = json.loads(self.summary.read_bytes())
        assert isinstance(value, dict)
        return value

    def verify(self, *more: str | Path, run: Callable[..., Done] = in_process) -> Done:
        return run("grade", "verify", self.summary, "--json", *more)


def three_states(root: Path) -> ProResults:
    """Every verdict, and every reason of the last one."""
    tree = ProResults(root)
    tree.instance("passes", {"t": "PASSED", "u": "PASSED", "other": "FAILED"}, ("t", "u"))
    tree.instance("fails", {"t": "PASSED", "u": "FAILED"}, ("t", "u", "v"))
    tree.predict("stranger")
    tree.output("stranger", {"t": "PASSED"})
    tree.instance("unscored", None)
    tree.instance("torn", None)
    tree.place("torn").write_text('{"tests": [')
    tree.instance("shapeless", None)
    tree.place("shapeless").write_text('[{"name": "t", "status": "PASSED"}]')
    tree.instance("toothless", {"t": "PASSED"}, ())
    tree.predict("blank", " \n")
    tree.require("blank", ["t"])
    tree.output("blank", {"t": "PASSED"})
    return tree
