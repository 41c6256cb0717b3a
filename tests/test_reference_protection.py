"""The reference can be run, and nothing else: tried inside a cleanroom as the agent would."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from obo_bench.engine import seed_source
from obo_bench.engine.cleanroom import Cleanroom, operator_user, remove_cleanroom
from obo_bench.engine.cleanroom_spec import CleanroomSpec
from obo_bench.engine.daemon import Engine
from obo_bench.engine.seed_source import REFERENCE_MOUNT
from obo_bench.programbench.solving import room
from obo_bench.programbench.solving.workspace import REFERENCE, private_scratch, seed_workspace
from tests.conftest import git
from tests.made_images import committed_image

pytestmark = [pytest.mark.docker, pytest.mark.usefixtures("practice_images")]

IMAGE = "programbench/practice_1776_wordtally.0000001:task_cleanroom_v6"
NAME = f"obo-bench-test-protection-{os.getpid()}"
LABELS = {"obo-bench.run": NAME, "obo-bench.instance": "x", "obo-bench.nonce": NAME}
AGENTS = ("0:0", "1000:1000")
KNOWN_LIMIT = {"injected write"}
"""What runs can be made to write out its own memory; no permission of a file can prevent that."""
FAIL_ON_EVERYTHING = {
    "setuid", "setgid", "user namespace", "mount namespace", "device", "file capability", "setuid program",
    "process_vm_readv", "core dump",
}  # fmt: skip
"""What a cleanroom refuses whatever it aims at, or what depends on the host's settings."""


@pytest.fixture(scope="module")
def spec(engine: Engine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[CleanroomSpec]:
    made = CleanroomSpec(
        name=NAME,
        image=IMAGE,
        workspace=tmp_path_factory.mktemp("protection") / "workspace",
        user=operator_user(engine, os.getuid(), os.getgid()),
        cpus=1,
        memory_bytes=256 << 20,
        ttl_sec=300,
        labels=LABELS,
        reference_volume=NAME,
    )
    engine.client.volumes.create(NAME, labels=LABELS)
    yield made
    remove_cleanroom(engine, NAME, NAME, LABELS)


@pytest.fixture(scope="module")
def cleanroom(engine: Engine, spec: CleanroomSpec) -> Cleanroom:
    with private_scratch(spec.workspace.parent) as scratch:
        seeded = seed_workspace(engine, IMAGE, spec.workspace, scratch, LABELS, NAME)
    assert seeded.protection == "os"
    shutil.copytree(Path(__file__).with_name("reference_attacks"), spec.workspace / "reference_attacks")
    return Cleanroom.start(engine, spec)


def inside(user: str, *command: str) -> str:
    return subprocess.run(
        ["docker", "exec", "--workdir", "/workspace", "--user", user, NAME, *command],
        capture_output=True,
        check=True,
        timeout=60,
        text=True,
    ).stdout


def attack(user: str, program: str) -> dict[str, str]:
    outcomes = json.loads(inside(user, "python3", "-B", "-m", "reference_attacks", program).splitlines()[-1])
    return cast("dict[str, str]", outcomes)


@pytest.mark.usefixtures("cleanroom")
@pytest.mark.parametrize("agent", AGENTS)
def test_no_attack_gets_at_the_file(agent: str) -> None:
    outcomes = attack(agent, f"{REFERENCE_MOUNT}/{REFERENCE}")
    assert {name for name, said in outcomes.items() if said == "worked"} == KNOWN_LIMIT
    assert inside(agent, "sh", "-c", f"echo a b a | {REFERENCE_MOUNT}/{REFERENCE}")


@pytest.mark.usefixtures("cleanroom")
@pytest.mark.parametrize("agent", AGENTS)
def test_the_same_attacks_work_on_a_program_of_the_agents_own(agent: str) -> None:
    own = f"/tmp/own-{agent}"
    inside(agent, "cp", "/bin/cat", own)
    outcomes = attack(agent, own)
    assert {name for name, said in outcomes.items() if said != "worked"} <= FAIL_ON_EVERYTHING, outcomes


def test_a_script_must_be_readable_and_so_is_protected_by_policy_only(engine: Engine, tmp_path: Path) -> None:
    script = r"cd /workspace; rm -f executable; printf '#!/bin/sh\necho hello\n' >executable; chmod 111 executable"
    with committed_image(engine, IMAGE, script) as image, private_scratch(tmp_path) as scratch:
        seeded = seed_workspace(engine, image, tmp_path / "workspace", scratch, LABELS, NAME)
    assert seeded.protection == "policy"
    found = subprocess.run([tmp_path / "workspace" / REFERENCE], capture_output=True, check=True)
    assert found.stdout == b"hello\n"


def test_what_the_reference_writes_where_it_is_started_stays_out_of_the_workspace(
    engine: Engine, spec: CleanroomSpec, tmp_path: Path
) -> None:
    script = r"cd /workspace; rm -f executable; printf '#!/bin/sh\necho x >left\n' >executable; chmod 111 executable"
    name, workspace = f"{NAME}-writes", tmp_path / "x" / "workspace"
    context = SimpleNamespace(engine=engine, images={"x": {}}, at=lambda *_: None)
    with committed_image(engine, IMAGE, script) as image:
        engine.client.volumes.create(name, labels=LABELS)
        here = replace(spec, name=name, workspace=workspace, reference_volume=name, image=image, image_id=image)
        try:
            room._seed_and_start(cast("Any", context), "x", here)
        finally:
            remove_cleanroom(engine, name, name, LABELS)
    assert git(workspace, "status", "--porcelain", "--ignored") == f"!! {REFERENCE}"


def test_where_permissions_do_not_hold_the_run_goes_on_with_policy_and_says_so(
    engine: Engine, spec: CleanroomSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    protected = seed_source._protected_entry

    def readable(reference: Path, name: str) -> Any:
        entry = protected(reference, name)
        entry.mode = 0o755
        return entry

    monkeypatch.setattr(seed_source, "_protected_entry", readable)
    context = SimpleNamespace(
        engine=engine,
        reporter=SimpleNamespace(event=lambda text, _: told.append(text)),
        images={"x": {"id": "sha256:0"}},
        at=lambda *_: None,
    )
    name = f"{NAME}-policy"
    workspace = tmp_path / "x" / "workspace"
    here = replace(spec, name=name, workspace=workspace, reference_volume=name, image_id=IMAGE)
    engine.client.volumes.create(name, labels=LABELS)
    try:
        made = room._seed_and_start(cast("Any", context), "x", here)
        recorded = json.loads((tmp_path / "x" / room.ROOM_NAME).read_text())
    finally:
        remove_cleanroom(engine, name, name, LABELS)
    assert made.protection == recorded["protection"] == "policy"
    assert recorded["image_facts"]["id"] == "sha256:0"
    assert told == ["the reference cannot be protected by the operating system here"]
    assert not (workspace / REFERENCE).is_symlink()
