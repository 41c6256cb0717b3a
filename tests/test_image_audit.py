"""An image is searched, before a task is worked on in it, for copies of the reference and for programs left behind."""

import os
import subprocess
import tarfile
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any, cast

import pytest

from obo_bench.core.reporter import SilentReporter
from obo_bench.engine import tar_stream
from obo_bench.engine.daemon import Engine
from obo_bench.engine.image_audit import ImageAudit, ImageAuditIncomplete, audit_image
from obo_bench.engine.image_reach import Reach, path_of
from obo_bench.engine.images import PullAbandoned
from obo_bench.programbench.rows import image_facts
from obo_bench.programbench.solving.not_ready import NotReady
from obo_bench.programbench.solving.room_image import usable_image
from tests.made_images import committed_image

IMAGE = "programbench/practice_1776_wordtally.0000001:task_cleanroom_v6"
REFERENCE = "/workspace/executable"
RUN = f"obo-bench-test-audit-{os.getpid()}"
LABELS = {"obo-bench.run": RUN, "obo-bench.instance": "x", "obo-bench.nonce": RUN}
AGENT = "1000:1000"

HIDDEN = r"""
cd /workspace; mkdir -p /srv
copy() { mkdir -p "$(dirname "$1")"; cp executable "$1"; chown "$2" "$1"; chmod "$3" "$1"; }
copy /opt/readable 0:0 0644
copy /opt/closed 0:0 0711
copy /opt/agents 1000:1000 0000
copy /opt/groups 0:1000 0640
copy /home/other/bin/tool 2000:2000 0755; chmod 711 /home/other; chmod 700 /home/other/bin; chown 2000 /home/other/bin
copy /home/agent/barred/tool 0:0 0644; chown 1000:1000 /home/agent/barred; chmod 000 /home/agent/barred
copy "/opt/$(printf 'caf\351\n\033[31m')" 0:0 0644
copy docs/example 0:0 0600
ln /opt/readable /srv/link
ln executable /srv/again
ln -s executable /srv/symbolic
mkdir -p .git/objects; cp executable .git/objects/x
head -c "$(stat -c %s executable)" /dev/zero >/opt/same-size
( cat executable; echo ) >/opt/longer
cp /bin/true /tmp/program; ln /bin/false /var/tmp/program; cp /bin/true /tmp/secret; chmod 700 /tmp/secret
echo ELF >/tmp/text; mkfifo /tmp/fifo; ln -s /bin/true /tmp/link
"""


@pytest.fixture(scope="module")
def hostile(engine: Engine, practice_images: None) -> Iterator[str]:
    with committed_image(engine, IMAGE, HIDDEN) as name:
        yield name


def audit(engine: Engine, image: str, user: str = AGENT, **more: Any) -> ImageAudit:
    found = audit_image(engine, image, REFERENCE, user, LABELS, **more)
    assert found is not None
    return found


@pytest.fixture(scope="module")
def found(engine: Engine, hostile: str) -> ImageAudit:
    made = audit(engine, hostile)
    assert left_over() == b""
    return made


def left_over() -> bytes:
    return subprocess.run(
        ["docker", "ps", "-aq", "--filter", f"label=obo-bench.run={RUN}"], capture_output=True, check=True
    ).stdout


@pytest.mark.docker
def test_every_name_under_which_the_agent_could_read_the_bytes_is_found(found: ImageAudit) -> None:
    readable = {entry.path for entry in found.findings if entry.kind == "copy_of_reference"}
    assert readable == {
        "/opt/readable", "/opt/agents", "/opt/groups", "/home/agent/barred/tool", "/opt/caf\\xe9\n\x1b[31m",
        "/workspace/docs/example", "/srv/link",
    }  # fmt: skip
    closed = {entry.path for entry in found.closed if entry.kind == "copy_of_reference"}
    assert closed == {"/opt/closed", "/home/other/bin/tool", "/srv/again"}
    assert found.findings_count == len(found.findings) == 9


@pytest.mark.docker
def test_programs_in_directories_for_temporary_files_are_found(found: ImageAudit) -> None:
    stray = {entry.path: (entry.mode, entry.owner) for entry in found.findings if entry.kind == "stray_program"}
    assert stray == {"/tmp/program": ("0755", "0:0"), "/var/tmp/program": ("0755", "0:0")}
    assert [entry.path for entry in found.closed if entry.kind == "stray_program"] == ["/tmp/secret"]


@pytest.mark.docker
def test_an_agent_that_is_root_owns_what_is_roots(engine: Engine, hostile: str) -> None:
    readable = {entry.path for entry in audit(engine, hostile, "0:0").findings}
    assert {"/opt/closed", "/srv/again", "/tmp/secret"} <= readable
    assert not {"/home/other/bin/tool", "/opt/agents", "/home/agent/barred/tool"} & readable


@pytest.mark.docker
def test_a_practice_image_has_nothing_and_is_audited_within_seconds(engine: Engine, practice_images: None) -> None:
    found = audit(engine, IMAGE)
    assert (found.findings, found.closed, found.objection) == ((), (), None)
    assert found.files > 1000
    assert len(found.reference_sha256) == 64


@pytest.mark.docker
def test_an_image_without_a_reference_cannot_be_audited_for_copies(engine: Engine, practice_images: None) -> None:
    assert audit_image(engine, IMAGE, "/workspace/nothing", AGENT, LABELS) is None
    assert audit_image(engine, IMAGE, "/workspace", AGENT, LABELS) is None


@pytest.mark.docker
def test_an_audit_that_does_not_come_to_its_end_is_no_finding_and_no_pass(
    engine: Engine, practice_images: None
) -> None:
    with pytest.raises(ImageAuditIncomplete, match="within 0 s"):
        audit(engine, IMAGE, deadline_sec=0)
    with pytest.raises(PullAbandoned):
        audit(engine, IMAGE, abandoned=lambda: True)
    assert left_over() == b""


@pytest.mark.docker
@pytest.mark.parametrize("kept", [slice(20 << 20), slice(-1024)], ids=["in a file", "between two files"])
def test_files_that_the_engine_breaks_off_are_no_audit(
    kept: slice, engine: Engine, practice_images: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = tar_stream.engine_bytes

    def broken(container: Any, what: Any, path: str | None = None) -> Iterator[bytes]:
        data = b"".join(whole(container, what, path))
        yield data if what == "archive" else data[kept]

    monkeypatch.setattr(tar_stream, "engine_bytes", broken)
    with pytest.raises(ImageAuditIncomplete, match=r"in the middle|unexpected end"):
        audit(engine, IMAGE)
    assert left_over() == b""


class Run:
    """As much of a run as the choice of an image needs."""

    def __init__(self, engine: Engine, *, allowed: bool = False) -> None:
        self.engine, self.reporter = engine, SilentReporter()
        self.options = SimpleNamespace(pull="never", allow_image_findings=allowed)
        self.pins = self.configuration = None
        self.closed = SimpleNamespace(is_set=lambda: False, wait=lambda _: None)
        self.images: dict[str, Any] = {}

    def at(self, *_: object) -> None:
        """Nobody watches."""

    def use(self, image: str) -> None:
        spec = SimpleNamespace(image=image, user=AGENT, labels=LABELS)
        usable_image(cast("Any", self), "x", cast("Any", spec))


@pytest.mark.docker
def test_an_image_with_findings_is_refused_for_good_and_recorded(engine: Engine, hostile: str) -> None:
    run = Run(engine)
    with pytest.raises(NotReady, match=r"a copy of the reference at '/home/agent/barred/tool'.*8 more.*--allow") as no:
        run.use(hostile)
    assert (no.value.reason, no.value.infrastructure) == ("image_audit_failed", False)
    assert run.images["x"]["refused"] == "image_audit_failed"
    assert run.images["x"]["audit"]["waived"] is False


@pytest.mark.docker
def test_findings_that_are_allowed_are_on_record(engine: Engine, hostile: str) -> None:
    run = Run(engine, allowed=True)
    run.use(hostile)
    told = image_facts(run.images["x"])
    assert told["image"]["id"].startswith("sha256:")
    assert told["image_findings"]["waived"] is True
    assert told["image_findings"]["findings_count"] == 9
    assert "refused" not in run.images["x"]


@pytest.mark.docker
def test_an_incomplete_audit_may_be_tried_again(engine: Engine, hostile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(*_: object, **__: object) -> None:
        raise ImageAuditIncomplete("no end")

    monkeypatch.setattr("obo_bench.programbench.solving.room_image.audit_image", hangs)
    with pytest.raises(NotReady, match="no end") as no:
        Run(engine, allowed=True).use(hostile)
    assert (no.value.reason, no.value.infrastructure) == ("image_audit_failed", True)


def entry(mode: int, uid: int, gid: int) -> tarfile.TarInfo:
    made = tarfile.TarInfo("x")
    made.mode, made.uid, made.gid = mode, uid, gid
    return made


@pytest.mark.parametrize(
    ("mode", "uid", "gid", "readable"),
    [
        (0o000, 5, 0, True),
        (0o040, 0, 6, True),
        (0o004, 0, 0, True),
        (0o404, 0, 6, False),
        (0o711, 0, 0, False),
    ],
)
def test_what_a_file_lets_a_user_do(mode: int, uid: int, gid: int, *, readable: bool) -> None:
    assert Reach("5:6").can_read(b"/a", entry(mode, uid, gid)) is readable


def test_a_directory_bars_all_that_is_below_it() -> None:
    reach = Reach("5:6")
    reach.enter(path_of("./a/"), entry(0o744, 0, 0))
    assert not reach.can_read(path_of("a/b/c"), entry(0o644, 0, 0))
    assert reach.can_read(path_of("ab/c"), entry(0o644, 0, 0))
    reach.enter(path_of("./"), entry(0o700, 0, 0))
    assert not reach.can_read(path_of("ab/c"), entry(0o644, 0, 0))
