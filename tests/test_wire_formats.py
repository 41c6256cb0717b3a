"""The wire formats stay what they are: golden documents and golden schemas, byte for byte.

`python -m tests.test_wire_formats` writes the golden files anew; the difference is the change of the wire format.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from obo_bench.core.documents import parse_document, read_document
from obo_bench.core.envelope import ResultEnvelope
from obo_bench.core.files import json_bytes, line_bytes, write_json
from obo_bench.core.json_schema import format_name, json_schema
from obo_bench.core.ledger import Ledger, Row
from obo_bench.core.manifest import RunManifest
from obo_bench.core.redact import Redactor
from obo_bench.core.wire_format import WireModel
from obo_bench.report.wire_formats import FORMATS
from tests.conftest import git, obo
from tests.wire_examples import NOT_UNICODE, TEXT, of_model

GOLDEN = Path(__file__).parent / "data" / "golden"
NAMES = list(FORMATS)
ON_ONE_LINE = {"ledger-row", "result"}
WITH_NAMES_THAT_ARE_NO_TEXT = ["ledger-row", "manifest"]


def document_bytes(name: str, text: str = TEXT) -> bytes:
    """Return the bytes of a full document, as the model writes it; the order it is filled in does not matter."""
    model = FORMATS[name]
    filled = dict(reversed(of_model(model, text=text).items()))
    to_bytes: Callable[[Any], bytes] = line_bytes if name in ON_ONE_LINE else json_bytes
    return to_bytes(model.model_validate(filled, by_alias=True).document())


def golden_files() -> Iterator[tuple[str, bytes]]:
    """Yield every golden file with what must stand in it."""
    for name, model in FORMATS.items():
        yield f"{name}.json", document_bytes(name)
        yield f"{name}.schema.json", json_bytes(json_schema(model))
    for name in WITH_NAMES_THAT_ARE_NO_TEXT:
        yield f"{name}.escaped.json", document_bytes(name, NOT_UNICODE)


@pytest.mark.parametrize("file", [file for file, _ in golden_files()])
def test_documents_and_schemas_are_the_golden_ones_byte_for_byte(file: str) -> None:
    assert dict(golden_files())[file] == (GOLDEN / file).read_bytes()


def test_no_golden_file_is_left_over() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == {file for file, _ in golden_files()}


@pytest.mark.parametrize("name", NAMES)
def test_the_command_prints_the_schema(name: str) -> None:
    done = obo("schema", name)
    assert (done.status, done.stderr) == (0, "")
    assert done.stdout.encode() == (GOLDEN / f"{name}.schema.json").read_bytes()


def test_without_a_name_the_formats_are_listed() -> None:
    done = obo("schema")
    listed = dict(line.split() for line in done.stdout.splitlines())
    assert listed == {name: format_name(model) for name, model in FORMATS.items()}
    assert list(listed) == sorted(listed)
    assert obo("schema", "--json").envelope["result"] == {"formats": listed}
    assert obo("schema", "manifest", "--json").envelope["result"]["schema"] == json_schema(RunManifest)


def test_an_unknown_name_is_a_usage_error_that_lists_the_known_ones() -> None:
    done = obo("schema", "manifesto")
    assert (done.status, done.stdout) == (2, "")
    assert "'manifesto'" in done.stderr
    assert all(name in done.stderr for name in FORMATS)
    assert obo("schema", "manifesto", "--json").envelope["outcome"] == "usage_error"


@pytest.mark.parametrize("name", NAMES)
def test_a_schema_is_valid_and_names_format_and_meaning_of_every_field(name: str) -> None:
    schema = json_schema(FORMATS[name])
    jsonschema.Draft202012Validator.check_schema(schema)
    assert list(schema)[:2] == ["$schema", "$id"]
    assert schema["$id"] == schema["properties"]["schema"]["const"]
    for definition in [schema, *schema.get("$defs", {}).values()]:
        assert definition["title"]
        assert definition["description"]
        for field, shape in definition.get("properties", {}).items():
            assert shape.get("description"), (definition["title"], field)


@pytest.mark.parametrize("name", NAMES)
def test_full_and_least_documents_validate_and_wrong_ones_do_not(name: str) -> None:
    schema = json_schema(FORMATS[name])
    validator, least = jsonschema.Draft202012Validator(schema), schema.get("required", [])
    document = json.loads((GOLDEN / f"{name}.json").read_bytes())
    validator.validate(document)
    validator.validate({field: document[field] for field in least})
    assert not validator.is_valid({**document, "schema": "another.v1"})
    for field in document:
        assert not validator.is_valid({**document, field: object}), field


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("text", [TEXT, NOT_UNICODE])
def test_what_was_written_is_read_back_and_written_again_the_same(tmp_path: Path, name: str, text: str) -> None:
    model, path = FORMATS[name], tmp_path / "document.json"
    path.write_bytes(document_bytes(name, text))
    found = read_document(model, path)
    assert found.document() == json.loads(path.read_bytes()) == of_model(model, text=text)
    assert found == model.model_validate(of_model(model, text=text))


def test_the_ledger_writes_the_golden_line_but_for_what_it_counts_itself(tmp_path: Path) -> None:
    row = Row.model_validate(of_model(Row))
    written = Ledger(tmp_path, row.invocation, Redactor()).append(row)
    line = (tmp_path / "result_index.jsonl").read_bytes()
    again = row.model_copy(update={"ts_unix": written.ts_unix, "seq": 1, "prev_sha256": ""})
    assert line == line_bytes(again.document())
    assert b"\n" not in line[:-1]


def test_a_document_is_plain_json_whatever_is_put_into_its_open_fields(tmp_path: Path) -> None:
    harness = {
        "nan": float("nan"),
        "inf": [float("-inf")],
        "path": Path("/srv"),
        "names": {NOT_UNICODE: ("x",), 1: {2}},
        "error": OSError("gone"),
    }
    manifest = RunManifest(benchmark="b", created_at_unix=1.0, run_root="/r", harness=harness)
    write_json(tmp_path / "m.json", manifest.document())

    def refuse(word: str) -> None:
        raise AssertionError(f"{word} is not JSON")

    found = json.loads((tmp_path / "m.json").read_bytes(), parse_constant=refuse)
    expected = {"nan": None, "inf": [None], "path": "/srv", "names": {NOT_UNICODE: ["x"], "1": [2]}, "error": "gone"}
    assert found["harness"] == expected
    assert parse_document(RunManifest, (tmp_path / "m.json").read_bytes()).harness == expected


def strictly_valid(model: type[WireModel], document: dict[str, Any]) -> None:
    """Fail unless the document is of the format and has no field that the format does not know."""
    jsonschema.Draft202012Validator(json_schema(model)).validate(document)
    assert set(document) == {field.alias or name for name, field in model.model_fields.items()}


def test_what_the_command_really_writes_is_what_the_schemas_say(tmp_path: Path, checkout: Path) -> None:
    options = (
        "--repo-dir",
        checkout,
        "--runs-root",
        tmp_path / "runs",
        "--ouroboros-url",
        "http://127.0.0.1:1",
        "--json",
    )
    unreachable = obo("programbench", "run", *options)
    (checkout / "VERSION").write_text("6.76.0\n")
    dirty = obo("programbench", "run", *options)
    git(checkout, "checkout", "VERSION")
    assert (unreachable.status, dirty.status) == (3, 4)
    for done in (unreachable, dirty):
        strictly_valid(ResultEnvelope, done.envelope)
        strictly_valid(RunManifest, done.manifest)
    strictly_valid(FORMATS["attestation"], unreachable.manifest["extra"]["runtime_attestation"])
    for words in (("reasons",), ("programbench", "run", "--nonsense"), ("schema", "nonsense")):
        strictly_valid(ResultEnvelope, obo(*words, "--json").envelope)


def rewrite() -> None:
    GOLDEN.mkdir(exist_ok=True)
    for path in GOLDEN.iterdir():
        path.unlink()
    for file, content in golden_files():
        (GOLDEN / file).write_bytes(content)


if __name__ == "__main__":
    rewrite()
