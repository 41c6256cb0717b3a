"""`--pin-digests`: only the pinned images are used, and the file that names them is read strictly."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.refusals import PreflightRefused
from obo_bench.engine.images import ImageIdentity
from obo_bench.programbench import image_pins
from obo_bench.programbench.evaluation.evaluation_images import compare, image_of
from obo_bench.programbench.image_pins import read_pins
from tests.conftest import obo

A, B, C = (f"sha256:{letter * 64}" for letter in "abc")
IID = "a__b.0000001"
NAME = "registry:5000/org/a_1776_b.0000001:task_cleanroom_v6"
REPOSITORY = NAME.rpartition(":")[0]
MANIFEST = "ouroboros.benchmark.run_manifest.v1"
ORDER = "obo_bench.instance_order.v1"
PRACTICE = "practice__wordtally.0000001"


def image(image_id: str, *digests: str) -> ImageIdentity:
    return ImageIdentity(NAME, image_id, tuple(f"{REPOSITORY}@{digest}" for digest in digests))


def used(*digests: str) -> dict[str, Any]:
    return {"name": NAME, "id": C, "digests": [f"{REPOSITORY}@{digest}" for digest in digests]}


def written(place: Path, content: object) -> Path:
    file = place / "pins"
    file.write_text(content if isinstance(content, str) else json.dumps(content, indent=1), "utf-8")
    return file


@pytest.mark.parametrize(
    "content",
    [
        {IID: A},
        {NAME: A},
        {REPOSITORY: ["sha256:" + "d" * 64, A]},
        {REPOSITORY: f"{REPOSITORY}@{A}"},
        f"\ufeff# good ones\n{REPOSITORY}@{A}  # since May\n\nother@{B}\n",
        {"schema": MANIFEST, "harness": {"images": {IID: used(A)}}},
        {"schema": ORDER, "images": {IID: used(A)}},
    ],
)
def test_every_form_pins_by_the_digest_of_a_registry(content: object, tmp_path: Path) -> None:
    pins = read_pins(written(tmp_path, content))
    assert pins.trouble(IID, image("sha256:0", B, A)) is None
    assert A in pins.pulled_by(IID, NAME)[0]
    other = str(pins.trouble(IID, image("sha256:0", B)))
    assert f"is {REPOSITORY}@{B}, sha256:0; --pin-digests has " in other
    assert A in other


@pytest.mark.parametrize("content", [{IID: C}, {"schema": MANIFEST, "harness": {"images": {IID: used()}}}])
def test_an_image_that_was_built_here_is_pinned_by_its_id(content: object, tmp_path: Path) -> None:
    pins = read_pins(written(tmp_path, content))
    assert pins.trouble(IID, image(C)) is None
    assert pins.trouble(IID, image(A)) is not None
    assert pins.pulled_by(IID, NAME)[1]


def test_an_instance_without_a_pin_is_refused_before_anything_is_pulled(tmp_path: Path) -> None:
    pins = read_pins(written(tmp_path, {"c__d.0000002": A}))
    assert f"pins neither {IID!r} nor {NAME!r}" in str(pins.missing(IID, NAME))
    assert pins.trouble(IID, image(A, A)) == pins.missing(IID, NAME)


def test_an_image_must_fit_every_pin_that_is_about_it(tmp_path: Path) -> None:
    pins = read_pins(written(tmp_path, {IID: A, REPOSITORY: B}))
    assert pins.trouble(IID, image("sha256:0", A, B)) is None
    assert pins.trouble(IID, image("sha256:0", A)) is not None
    assert pins.trouble(IID, image("sha256:0", B)) is not None


def test_an_image_that_a_run_has_refused_is_not_pinned_by_its_manifest(tmp_path: Path) -> None:
    images = {IID: {**used(A), "refused": "image_audit_failed"}, "c__d.0000002": used(B)}
    pins = read_pins(written(tmp_path, {"schema": MANIFEST, "harness": {"images": images}}))
    assert list(pins.pins) == ["c__d.0000002"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "pins no image"),
        ("# nothing\n", "pins no image"),
        ("{}", "pins no image"),
        ("[]", "JSON list"),
        ('{"a": 1,\n ]', "line 2"),
        ({"a": A, "b": 7}, "line 3: 'b' is pinned to 7"),
        ({"a": None}, "is pinned to None"),
        ({"a": []}, "is pinned to []"),
        ({"a": A.upper()}, "in lower case"),
        ({"a": [A, A]}, "names one digest twice"),
        (f'{{"a": "{A}",\n"a": "{B}"}}', "line 2: 'a' is there twice"),
        (f"a@{A}\n\na@{B}\n", "line 3: 'a' is pinned twice"),
        (f"a@{A}\n{A}\n", "line 2: "),
        ("a@sha256:12\n", "is not name@sha256:..."),
        ({"schema": "other.v1"}, "has the format 'other.v1'"),
        ({"schema": MANIFEST, "harness": {}}, "used no image"),
        ({"schema": MANIFEST, "harness": {"images": {IID: {}}}}, "is pinned to None"),
        ({"schema": MANIFEST, "harness": {"images": {IID: {"id": C, "digests": "x"}}}}, "no list"),
        ("[" * 100_000, "no JSON document"),
    ],
)
def test_a_file_that_is_not_understood_is_refused_with_its_place(content: object, said: str, tmp_path: Path) -> None:
    file = written(tmp_path, content)
    with pytest.raises(PreflightRefused) as refused:
        read_pins(file)
    assert refused.value.reason == "pins_unreadable"
    assert said in refused.value.message
    assert str(file) in refused.value.message


def test_what_is_no_file_is_refused_and_never_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_pins, "_LARGEST_FILE", 10)
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "latin").write_bytes(b"caf\xe9")
    (tmp_path / "large").write_text("#" * 20)
    for name in ("missing", "fifo", ".", "latin", "large"):
        with pytest.raises(PreflightRefused, match="--pin-digests") as refused:
            read_pins(tmp_path / name)
        assert refused.value.reason == "pins_unreadable"


@pytest.mark.docker
@pytest.mark.usefixtures("practice_images")
def test_a_run_is_held_to_the_pins_and_its_own_manifest_is_a_pins_file(
    checkout: Path, tmp_path: Path, practice_env: dict[str, str]
) -> None:
    base: list[str | Path] = ["programbench", "run", "--repo-dir", checkout, "--runs-root", tmp_path, "--dry-run"]
    base += ["--instance-id", PRACTICE, "--memory", "512m", "--cpus", "1", "--json"]
    first = obo(*base, "--run-id", "first", env=practice_env)
    assert first.status == 0, first.stderr
    record = Path(first.envelope["manifest"])
    second = obo(*base, "--run-id", "second", "--pin-digests", record, env=practice_env)
    assert second.status == 0, second.stderr
    assert second.manifest["harness"]["pin_digests"]["path"] == str(record)
    assert second.manifest["harness"]["images"][PRACTICE]["audit"]["findings"] == []
    other = obo(*base, "--run-id", "third", "--pin-digests", written(tmp_path, {PRACTICE: A}), env=practice_env)
    assert other.status == 1, other.stderr
    row = json.loads((Path(other.envelope["run_root"]) / "result_index.jsonl").read_text().splitlines()[-1])
    assert (row["status"], row["reason_code"]) == ("blocked", "image_not_pinned")
    assert row["details"]["infrastructure"] is False
    assert row["details"]["image"]["id"] == second.manifest["harness"]["images"][PRACTICE]["id"]


def test_a_pins_file_is_read_after_admission(checkout: Path, tmp_path: Path, practice_env: dict[str, str]) -> None:
    done = obo(
        "programbench", "run", "--repo-dir", checkout, "--runs-root", tmp_path, "--dry-run", "--json",
        "--instance-id", PRACTICE, "--pin-digests", tmp_path / "missing", env=practice_env,
    )  # fmt: skip
    assert done.status == 5
    assert done.envelope["refusal"]["reason"] == "pins_unreadable"
    assert done.manifest["extra"]["refusal"]["evidence"]["pin_digests"] == str(tmp_path / "missing")


def test_solve_and_evaluation_are_compared_by_whatever_both_know() -> None:
    solved = used(A)
    assert compare(solved, image("sha256:0", A)).verdict == "same"
    assert compare(solved, image(C)).verdict == "same"
    assert compare(solved, image("sha256:0", B)).verdict == "different"
    assert compare(solved, None).verdict == compare({}, image(C)).verdict == "unknown"
    assert A in compare(solved, image("sha256:0", B)).text


@pytest.mark.docker
@pytest.mark.usefixtures("practice_images")
def test_the_evaluators_client_is_asked_which_image_a_name_means() -> None:
    name = "programbench/practice_1776_wordtally.0000001:task_cleanroom_v6"
    found = image_of("docker", os.environ, name)
    assert found is not None
    assert found.id.startswith("sha256:")
    assert image_of("docker", os.environ, "obo-bench-test/no-such-image:1") is None
    assert image_of("/no/such/client", os.environ, name) is None
