"""`programbench_eval_result.json` and the logs below `eval/<invocation>/`: what the official commands were and said."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from obo_bench.core.files import write_json
from obo_bench.core.redact import process_redactor
from obo_bench.core.redact_file import redact_file
from obo_bench.programbench.evaluation.official_output import TAIL_BYTES, tail_text

EVAL_RESULT_NAME = "programbench_eval_result.json"
INSTANCE_PLACE = "{instance}"
"""Stands in the command of the record for the instance that it is run with."""
_INSTANCE_TAIL_BYTES = 2048
"""There can be hundreds of instances in one record."""


class EvaluationRecord:
    """The official commands of one evaluation; instances may be noted from several threads."""

    def __init__(self, run_root: Path, invocation: str) -> None:
        """Make the directory of the logs; raises OSError."""
        self._path = run_root / EVAL_RESULT_NAME
        self._logs = run_root / "eval" / invocation
        self._logs.mkdir(parents=True, exist_ok=True)
        self._command: list[str] = []
        self._instances: dict[str, dict[str, Any]] = {}
        self._info: dict[str, Any] | None = None

    @property
    def command(self) -> tuple[str, ...]:
        """The command that was run for each instance; empty when none was needed."""
        return tuple(self._command) if self._instances else ()

    @property
    def instances(self) -> tuple[str, ...]:
        """The instances whose command has ended."""
        return tuple(sorted(self._instances))

    def plan(self, command: Sequence[str]) -> None:
        """Say which command each instance is evaluated with."""
        self._command = list(command)

    def logs(self, name: str) -> tuple[Path, Path]:
        """Return where a command's standard output and standard error go."""
        return self._logs / f"{name}.stdout.log", self._logs / f"{name}.stderr.log"

    def note_instance(self, instance_id: str, returncode: int, seconds: float) -> None:
        """Note how the command of an instance ended; takes the secrets out of its logs."""
        tails = self._tails(instance_id, _INSTANCE_TAIL_BYTES)
        self._instances[instance_id] = {"returncode": returncode, "seconds": round(seconds, 3), **tails}

    def note_info(self, argv: Sequence[str], returncode: int | None) -> None:
        """Note how `programbench info` ended; None when it could not be started."""
        self._info = {"cmd": list(argv), "returncode": returncode, **self._tails("info", TAIL_BYTES)}

    def write(self) -> None:
        """Write the document with what is known so far; raises OSError."""
        instances = dict(sorted(self._instances.items()))
        statuses = [entry["returncode"] for entry in instances.values()]
        said = {
            stream: "".join(entry[stream] for entry in instances.values())[-TAIL_BYTES:]
            for stream in ("stdout", "stderr")
        }
        returncode = next((status for status in statuses if status), 0) if statuses else None
        document: dict[str, Any] = {
            "eval": {"cmd": list(self.command), "returncode": returncode, **said, "instances": instances}
        }
        if self._info is not None:
            document["info"] = self._info
        write_json(self._path, process_redactor().document(document))

    def _tails(self, name: str, limit: int) -> dict[str, str]:
        """Take the secrets out of the logs, now that nobody writes them any more, and return their ends."""
        stdout, stderr = self.logs(name)
        for log in (stdout, stderr):
            redact_file(log, process_redactor())
        return {"stdout": tail_text(stdout, limit), "stderr": tail_text(stderr, limit)}
