"""Documents of other versions are read: what version 0.1.0 really wrote, what a later one may write, what is damaged.

`data/older` holds files of runs of 0.1.0 against the stand-in server, with paths and the engine's id made neutral.
"""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from pydantic import ValidationError

from obo_bench.core.documents import UnreadableDocument, read_document
from obo_bench.core.files import json_bytes, line_bytes
from obo_bench.core.json_schema import json_schema
from obo_bench.core.ledger import Ledger, Row, read_rows
from obo_bench.core.manifest import Extra, RunManifest
from obo_bench.core.redact import Redactor
from obo_bench.core.wire_format import LaterWord
from obo_bench.gateway.checkpoint import CheckpointFile, TaskCheckpoint
from obo_bench.report.wire_formats import FORMATS
from tests.wire_examples import LATER_WORD, NOT_UNICODE, closed_vocabularies, of_model

OLDER = Path(__file__).parent / "data" / "older"
FILES = {
    "completed.run_manifest.json": "manifest",
    "refused.run_manifest.json": "manifest",
    "started.run_manifest.json": "manifest",
    "attestation.json": "attestation",
    "grade_summary.json": "grade-summary",
    "submission.json": "submission",
    "ouroboros_task_checkpoint.json": "task-checkpoint",
    "eval.provenance.json": "eval-provenance",
    "result.json": "result",
}
NAMES = list(FORMATS)


def is_kept(older: Any, now: Any) -> bool:
    """Say whether all that was in a document is in it still; only fields may have been added."""
    if isinstance(older, dict) and isinstance(now, dict):
        return all(key in now and is_kept(value, now[key]) for key, value in older.items())
    return bool(older == now)


@pytest.mark.parametrize(("file", "name"), FILES.items())
def test_documents_of_version_0_1_0_are_read_without_loss_and_are_of_the_published_format(file: str, name: str) -> None:
    written = json.loads((OLDER / file).read_bytes())
    document = read_document(FORMATS[name], OLDER / file).document()
    assert is_kept(written, document)
    jsonschema.Draft202012Validator(json_schema(FORMATS[name])).validate(written)


def test_manifests_of_version_0_1_0_say_how_it_ended() -> None:
    completed, refused, started = (
        read_document(RunManifest, OLDER / f"{name}.run_manifest.json") for name in ("completed", "refused", "started")
    )
    assert (completed.extra.outcome, completed.extra.exit_code, completed.requested_count) == ("completed", 0, 3)
    assert (refused.extra.outcome, started.extra.outcome) == ("refused", "started")
    assert refused.extra.refusal is not None
    assert refused.extra.refusal.reason == "seed_dirty"
    assert completed.extra.lineage is None
    assert completed.extra.server_events == []


def test_the_ledger_of_version_0_1_0_is_read_and_gone_on_with(tmp_path: Path) -> None:
    lines = (OLDER / "result_index.jsonl").read_bytes().splitlines(keepends=True)
    path = tmp_path / "result_index.jsonl"
    path.write_bytes(b"".join(lines))
    rows = list(read_rows(path))
    assert [row.seq for row in rows] == list(range(1, len(lines) + 1))
    assert [row.document() for row in rows] == [json.loads(line) for line in lines]
    Ledger(tmp_path, "now", Redactor()).append(rows[-1])
    assert path.read_bytes().startswith(b"".join(lines))
    last = list(read_rows(path))[-1]
    assert (last.seq, last.prev_sha256) == (len(lines) + 1, hashlib.sha256(lines[-1]).hexdigest())


@pytest.mark.parametrize("schema", [{}, {"schema": "ouroboros.benchmark.run_manifest.v1"}], ids=["unnamed", "named"])
def test_a_manifest_of_the_family_needs_no_more_than_what_every_run_has(tmp_path: Path, schema: dict[str, str]) -> None:
    path = tmp_path / "run_manifest.json"
    path.write_bytes(json_bytes({**schema, "benchmark": "swe-bench", "created_at_unix": 1, "run_root": "/srv/run"}))
    manifest = read_document(RunManifest, path)
    assert (manifest.command, manifest.invocation, manifest.requested_task_ids) == ("", "", None)
    assert (manifest.extra.outcome, manifest.source.dirty, manifest.seed_gate.ok) == ("started", None, False)


@pytest.mark.parametrize("name", NAMES)
def test_fields_and_words_of_a_later_version_are_kept(tmp_path: Path, name: str) -> None:
    later = of_model(FORMATS[name], later=True)
    (tmp_path / "later.json").write_bytes(json_bytes(later))
    assert read_document(FORMATS[name], tmp_path / "later.json").document() == later


@pytest.mark.parametrize("name", NAMES)
def test_every_vocabulary_can_grow(name: str) -> None:
    assert list(closed_vocabularies(FORMATS[name])) == []


def test_what_a_later_version_says_is_known_for_what_it_is_and_never_written_by_this_one(tmp_path: Path) -> None:
    (tmp_path / "later.json").write_bytes(json_bytes(of_model(RunManifest, later=True)))
    outcome = read_document(RunManifest, tmp_path / "later.json").extra.outcome
    assert isinstance(outcome, LaterWord)
    assert outcome == LATER_WORD
    for wrong in (LATER_WORD, "", 7, None):
        with pytest.raises(ValidationError):
            Extra.model_validate({"outcome": wrong})


def test_a_row_of_a_later_version_is_the_latest_one_of_its_instance(tmp_path: Path) -> None:
    row = Row(benchmark="b", instance_id="a__b.0000001", status="completed", reason_code="r").document()
    path = tmp_path / "result_index.jsonl"
    path.write_bytes(line_bytes(row) + line_bytes({**row, "status": "archived", "added_later": 1}))
    last = list(read_rows(path))[-1]
    assert last.status == "archived"
    assert not any(last.status == known for known in ("completed", "failed", "skipped", "blocked", "not_attempted"))
    Ledger(tmp_path, "now", Redactor()).append(last)
    again = list(read_rows(path))[-1].document()
    assert (again["status"], again["added_later"], again["invocation"]) == ("archived", 1, "now")


def test_a_task_of_a_later_version_is_never_overlooked(tmp_path: Path) -> None:
    file, later = CheckpointFile(tmp_path / "checkpoint.json"), of_model(TaskCheckpoint, later=True)
    file.path.write_bytes(json_bytes(later))
    found = file.read()
    assert found is not None
    stored = file.write(found)
    assert stored.document() == {**later, "ts_unix": stored.ts_unix}


def test_a_row_with_a_name_that_is_no_text_is_read_back(tmp_path: Path) -> None:
    row = Row(
        benchmark="b",
        instance_id="a__b.0000001",
        status="completed",
        reason_code="submission_prepared",
        error=NOT_UNICODE,
        details={NOT_UNICODE: [NOT_UNICODE]},
    )
    Ledger(tmp_path, "now", Redactor()).append(row)
    (found,) = read_rows(tmp_path / "result_index.jsonl")
    assert (found.error, found.details) == (NOT_UNICODE, {NOT_UNICODE: [NOT_UNICODE]})


def changed(name: str, *place: str, to: Any) -> bytes:
    document = of_model(FORMATS[name])
    inner = document
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = to
    return json_bytes(document)


DAMAGED: dict[str, tuple[str, str, Callable[[], bytes]]] = {
    "a text for a time": ("manifest", "created_at_unix", lambda: changed("manifest", "created_at_unix", to="1.0")),
    "a word for yes": ("manifest", "source.dirty", lambda: changed("manifest", "source", "dirty", to="no")),
    "a number for yes": ("attestation", "ok", lambda: changed("attestation", "ok", to=1)),
    "a text for a status": ("manifest", "extra.exit_code", lambda: changed("manifest", "extra", "exit_code", to="4")),
    "a number for a word": ("manifest", "extra.outcome", lambda: changed("manifest", "extra", "outcome", to=3)),
    "a text for a list": ("manifest", "argv", lambda: changed("manifest", "argv", to="run")),
    "a list for an object": ("grade-summary", "instances", lambda: changed("grade-summary", "instances", to=[])),
    "a number for the verdict": (
        "grade-summary",
        "instances.x.verdict",
        lambda: changed("grade-summary", "instances", to={"x": {**instance_grade(), "verdict": 1}}),
    ),
    "a key that is no name": (
        "manifest",
        "provider_credentials.'\\x1b[2J'",
        lambda: changed("manifest", "provider_credentials", to={"\x1b[2J": 1}),
    ),
    "an absent field": ("manifest", "benchmark", lambda: b'{"created_at_unix": 1, "run_root": "/r"}'),
    "another format": ("manifest", "schema", lambda: changed("manifest", "schema", to="ouroboros.run_manifest.v2")),
    "another format and nothing else": ("submission", "schema", lambda: b'{"schema": "obo_bench.submission.v2"}'),
    "a wrong type beside a name that is no text": (
        "manifest",
        "created_at_unix",
        lambda: b'{"benchmark": "\\udcff", "created_at_unix": "1", "run_root": "/r"}',
    ),
    "an array": ("manifest", "", lambda: b"[]"),
    "half a document": ("manifest", "", lambda: json_bytes(of_model(RunManifest))[:200]),
    "nothing": ("manifest", "", lambda: b""),
    "bytes that are no text": ("manifest", "", lambda: b'{"benchmark": "\xff"}'),
    "endless nesting": ("manifest", "", lambda: b'{"a": ' * 100_000),
}


def instance_grade() -> dict[str, Any]:
    grade = next(iter(of_model(FORMATS["grade-summary"])["instances"].values()))
    assert isinstance(grade, dict)
    return grade


@pytest.mark.parametrize(("name", "field", "content"), DAMAGED.values(), ids=list(DAMAGED))
def test_damage_is_an_error_that_names_the_file_and_the_field(
    tmp_path: Path, name: str, field: str, content: Callable[[], bytes]
) -> None:
    path = tmp_path / "damaged.json"
    path.write_bytes(content())
    with pytest.raises(UnreadableDocument) as raised:
        read_document(FORMATS[name], path)
    assert (raised.value.path, raised.value.field) == (str(path), field)
    assert str(path) in str(raised.value)
    assert field in str(raised.value)
    assert len(str(raised.value)) < 600


def test_a_file_that_is_not_there_is_an_error_that_names_it(tmp_path: Path) -> None:
    for place in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(UnreadableDocument, match="cannot be read") as raised:
            read_document(RunManifest, place)
        assert raised.value.path == str(place)


def test_a_byte_order_mark_does_no_harm(tmp_path: Path) -> None:
    (tmp_path / "m.json").write_bytes(b"\xef\xbb\xbf" + (OLDER / "completed.run_manifest.json").read_bytes())
    assert read_document(RunManifest, tmp_path / "m.json").extra.outcome == "completed"
