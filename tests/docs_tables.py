"""The generated parts of docs/*.md, made from the code and from the golden files."""

import json
import re
import textwrap
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import obo_bench
from obo_bench.cli.reasons import row_vocabulary, vocabulary
from obo_bench.cli.registry import READ_ONLY, RECORDED
from obo_bench.core.refusals import ExitCode
from obo_bench.gateway import outcome
from obo_bench.programbench.evaluation.verdicts import RULINGS
from tests.docs_presets import demand_table, example_commands, preset_table, result_reason_table
from tests.wire_examples import TEXT

DOCS = Path(obo_bench.__file__).parent.parent / "docs"
GOLDEN = Path(__file__).parent / "data" / "golden"
PLACES = {
    "attest": "the file of `obo-bench attest --output FILE`",
    "attestation": "`extra.runtime_attestation` of a manifest",
    "ledger-append": "`result` of `obo-bench ledger append --json`",
    "child-outcome": "`<run>/child/outcome.json`, written by a launcher under `obo-bench exec`",
    "campaign": "`<campaign>/campaign.json`",
    "campaign-plan": "`result` of `obo-bench campaign check --json`, and of `campaign run` with `--dry-run`",
    "campaign-status": "`result` of `obo-bench campaign status --json`, and of `campaign run` and `campaign resume`",
    "eval-provenance": "`<run>/<instance>/<instance>.eval.provenance.json`",
    "explain": "`result` of a recorded command that was given `--explain --json`",
    "export-manifest": "`<export>/export_manifest.json`",
    "gate-result": "`<run>/gate/gate_result.json`",
    "grade-summary": "`<run>/grade_summary.json`",
    "host-load": "`host_load.json` beside the evaluator's logs",
    "instance-order": "`<run>/instance_order.json`",
    "launch-order": "`<run>/launch_order.json` of `obo-bench exec`",
    "leaderboard": "`result` of `obo-bench export --leaderboard --json`, and in the export's record",
    "ledger-row": "one line of `<run>/result_index.jsonl` and `<run>/<instance>/result_index.jsonl`",
    "manifest": "`<run>/run_manifest.json`, earlier ones in `<run>/manifests/`",
    "run-report": "`<run>/report.json`, by `obo-bench programbench report --format json`",
    "settings": "`result` of `obo-bench programbench settings --json`",
    "result": "stdout of every command that was given `--json`",
    "swe-bench-pro-summary": "`<output-dir>/grade_summary.json` of `obo-bench grade swe-bench-pro`",
    "submission": "`<run>/<instance>/submission.json`",
    "task-checkpoint": "`<run>/<instance>/ouroboros_task_checkpoint.json`",
}
"""Where each document lies that is not the answer of the command of its name."""
_WIDTH = 100
_MOST_LINES = 28


def exit_code_table() -> str:
    return _table(("status", "meaning"), [(str(int(code)), code.meaning) for code in ExitCode], "|--:|---|")


def refusal_table() -> str:
    head = ("reason", "status", "what it means", "what to do", "waived by", "campaign-fatal")
    rows = [
        (
            f"`{row['reason']}`",
            str(row["exit_code"]),
            row["meaning"],
            row["remedy"],
            f"`{row['waived_by']}`" if row["waived_by"] else "",
            "yes" if row["campaign_fatal"] else "",
        )
        for row in vocabulary()
    ]
    return _table(head, rows, "|---|--:|---|---|---|---|")


def row_table() -> str:
    rows = [(f"`{row['reason']}`", row["meaning"], row["remedy"] or "", f"{row['resume']}") for row in row_vocabulary()]
    return _table(("reason", "what it means", "what to do", "a resume"), rows)


def server_codes() -> str:
    return "\n".join(f"* `{code}`" for code in sorted(outcome._INFRASTRUCTURE))


def grade_table() -> str:
    rows = [(f"`{code}`", str(ruling.verdict), str(ruling.blame or "")) for code, ruling in RULINGS.items()]
    return _table(("reason", "verdict", "whose doing"), rows)


def format_names() -> list[str]:
    return sorted(path.name.removesuffix(".schema.json") for path in GOLDEN.glob("*.schema.json"))


def place_of(name: str) -> str:
    """Return where a document lies; empty where nobody says so."""
    commands = [command for command in sorted(RECORDED | READ_ONLY) if command.split()[-1] == name]
    answer = f"`result` of `obo-bench {commands[-1]} --json`" if commands else ""
    return "; ".join(part for part in (PLACES.get(name, ""), answer) if part)


def format_sections() -> str:
    return "\n\n".join(_format_section(name) for name in format_names())


def _format_section(name: str) -> str:
    schema = json.loads((GOLDEN / f"{name}.schema.json").read_text("utf-8"))
    meaning = str(schema["description"]).strip().split("\n\n")[0].replace("\n", " ")
    example = _shortened(json.loads((GOLDEN / f"{name}.json").read_text("utf-8")))
    head = f"### {name}\n\n{textwrap.fill(meaning, 120)}\n\n* schema `{schema['$id']}`\n* where: {place_of(name)}"
    return f"{head}\n\n```json\n{example}\n```"


def _shortened(document: Mapping[str, Any]) -> str:
    """Return a document as text of bearable size: what is deep is only hinted at."""
    for depth in (4, 3, 2, 1):
        text = json.dumps(_pruned(document, depth), ensure_ascii=False, indent=2).replace(f" {TEXT}", "")
        lines = (
            re.sub(r"([{[])\s*(\"...\": )?\"\.\.\.\"\s*([}\]])", r"\1...\3", text).replace('"..."', "...").split("\n")
        )
        if len(lines) <= _MOST_LINES:
            break
    return "\n".join(line if len(line) <= _WIDTH else f"{line[: _WIDTH - 4]} ..." for line in lines)


def _pruned(value: Any, depth: int) -> Any:
    match value:
        case dict() if depth == 0:
            return {"...": "..."} if value else {}
        case dict():
            return {key: _pruned(item, depth - 1) for key, item in value.items()}
        case list() if value:
            return [_pruned(value[0], depth - 1), "..."] if depth else ["..."]
    return value


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]], rule: str = "") -> str:
    lines = [head, *rows]
    text = ["| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines]
    return "\n".join([text[0], rule or "|" + "---|" * len(head), *text[1:]])


GENERATED: Mapping[tuple[str, str], Callable[[], str]] = {
    ("exit-codes.md", "exit-codes"): exit_code_table,
    ("exit-codes.md", "refusals"): refusal_table,
    ("exit-codes.md", "rows"): row_table,
    ("exit-codes.md", "server-codes"): server_codes,
    ("exit-codes.md", "grades"): grade_table,
    ("file-formats.md", "formats"): format_sections,
    ("presets.md", "presets"): preset_table,
    ("presets.md", "demands"): demand_table,
    ("presets.md", "examples"): example_commands,
    ("presets.md", "reasons"): result_reason_table,
}
"""What makes each generated part, by page and name."""


def part_of(page: str, name: str) -> "re.Match[str]":
    """Return a generated part of a page, with what stands in it as group 1."""
    found = re.search(rf"<!-- {name} -->\n(.*?)<!-- end -->", (DOCS / page).read_text("utf-8"), re.DOTALL)
    assert found, f"{page} has no part {name!r}"
    return found


def rewrite() -> None:
    for (page, name), made in GENERATED.items():
        text, part = (DOCS / page).read_text("utf-8"), part_of(page, name)
        (DOCS / page).write_text(f"{text[: part.start(1)]}{made()}\n{text[part.end(1) :]}", "utf-8")
