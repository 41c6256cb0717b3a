"""Images: pulled once, their errors read from the stream, and removed only where the run itself brought them."""

import secrets
import threading
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from obo_bench.core.ledger import Row
from obo_bench.core.reporter import SilentReporter
from obo_bench.engine.daemon import Engine, connect_engine
from obo_bench.engine.images import (
    PULL_WAITS_SEC,
    ImageUnavailable,
    PullAbandoned,
    ensure_image,
    find_image,
    pull_failure,
    remove_image,
)
from obo_bench.programbench.instances import Instance
from obo_bench.programbench.solving.image_use import ImageUse
from obo_bench.programbench.solving.pulled_images import PulledImages
from obo_bench.programbench.solving.room_image import usable_image
from tests.image_registry import serving

pytestmark = pytest.mark.docker


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = connect_engine()
    with closing(made):
        yield made


@pytest.fixture
def named(engine: Engine) -> Iterator[list[str]]:
    """Names that are removed from the engine afterwards."""
    from docker.errors import DockerException

    names: list[str] = []
    yield names
    for name in names:
        with suppress(DockerException):
            engine.client.images.remove(name, force=True)


def pull(engine: Engine, host: str, named: list[str], tag: str = "task_cleanroom_v6") -> Any:
    named.append(f"{host}/some/image:{tag}")
    return ensure_image(engine, named[-1], "missing", SilentReporter(), wait=lambda _: None)


def test_a_pull_says_that_the_image_was_not_there_before(engine: Engine, named: list[str]) -> None:
    with serving(secrets.token_bytes(8)) as host:
        assert pull(engine, host, named).pulled
        again = ensure_image(engine, named[0], "always", SilentReporter())
    assert not again.pulled


def test_an_error_in_the_middle_of_a_pull_is_no_missing_image(engine: Engine, named: list[str]) -> None:
    pauses: list[float] = []
    with serving(secrets.token_bytes(8), broken=True) as host, pytest.raises(ImageUnavailable) as raised:
        ensure_image(engine, f"{host}/some/image:v6", "missing", SilentReporter(), wait=pauses.append)
    assert raised.value.reason == "image_pull_failed"
    assert tuple(pauses) == PULL_WAITS_SEC


def test_a_full_disk_of_the_engine_is_told_from_the_words_of_the_daemon() -> None:
    said = "failed to register layer: write /usr/lib/x.so: no space left on device"
    assert pull_failure(said) == "engine_disk_low"


def test_a_pull_that_nobody_waits_for_ends_without_another_try(engine: Engine) -> None:
    abandoned = threading.Event()

    def wait(_: float) -> None:
        abandoned.set()

    with serving(secrets.token_bytes(8), broken=True) as host, pytest.raises(PullAbandoned):
        ensure_image(
            engine, f"{host}/some/image:v6", "missing", SilentReporter(), wait=wait, abandoned=abandoned.is_set
        )


def test_only_an_image_that_nothing_else_needs_is_removed(engine: Engine, named: list[str]) -> None:
    with serving(secrets.token_bytes(8)) as host:
        image = pull(engine, host, named)
    name = named[0]
    assert "another image" in remove_image(engine, name, "sha256:0")
    named.append(f"obo-test/{secrets.token_hex(4)}:x")
    engine.client.images.get(name).tag(named[-1])
    assert "other names" in remove_image(engine, name, image.id)
    engine.client.images.remove(named[-1])
    container = engine.client.containers.create(name, command=["hello"])
    assert "container" in remove_image(engine, name, image.id)
    container.remove()
    assert remove_image(engine, name, image.id) == "removed"
    assert find_image(engine, name) is None
    assert remove_image(engine, name, image.id) == "gone"


class Run:
    """As much of a run as the use of images needs."""

    def __init__(self, engine: Engine, root: Path, *, evaluate: bool = False, dry_run: bool = False) -> None:
        self.engine, self.reporter = engine, SilentReporter()
        self.session = SimpleNamespace(run_root=root)
        self.options = SimpleNamespace(rm_images=True, evaluate=evaluate, dry_run=dry_run, pull="missing")
        self.pins = self.configuration = None
        self.closed = threading.Event()
        self.images: dict[str, dict[str, object]] = {}
        self.attempts: dict[str, Any] = {}
        self.pulled = PulledImages(root)

    def uses(self, *instances: Instance) -> ImageUse:
        return ImageUse(cast("Any", self), instances)

    def solve(self, uses: ImageUse, instance: Instance, *, live: bool = False) -> None:
        def solved(context: Any, instance: Instance) -> Row:
            name = f"{instance.image_name}:task_cleanroom_v6"
            found = ensure_image(context.engine, name, "missing", context.reporter)
            if found.pulled:
                context.pulled.note(name, found.id)
            context.images[instance.instance_id] = found.facts()
            context.attempts[instance.instance_id] = SimpleNamespace(task_may_live=live)
            return cast("Row", None)

        uses.releasing(solved)(cast("Any", self), instance)

    def removal(self, name: str) -> object:
        return self.images[name].get("removal")


def instance(name: str, host: str) -> Instance:
    return Instance(name, "c", "easy", "a/b", "0" * 40, f"{host}/some/image", ())


def test_a_shared_image_goes_after_its_last_use_and_one_that_was_there_stays(
    engine: Engine, named: list[str], tmp_path: Path
) -> None:
    run = Run(engine, tmp_path)
    with serving(secrets.token_bytes(8)) as host, serving(secrets.token_bytes(8)) as other:
        pull(engine, other, named)
        first, second, present = instance("a", host), instance("b", host), instance("c", other)
        uses = run.uses(first, second, present)
        run.solve(uses, first)
        assert run.removal("a") is None
        run.solve(uses, second)
        run.solve(uses, present)
    assert (run.removal("a"), run.removal("b"), run.removal("c")) == ("removed", "removed", None)
    assert find_image(engine, f"{other}/some/image:task_cleanroom_v6") is not None


def test_the_image_of_a_live_task_stays_and_goes_in_a_later_invocation(
    engine: Engine, named: list[str], tmp_path: Path
) -> None:
    with serving(secrets.token_bytes(8)) as host:
        one = instance("a", host)
        named.append(f"{host}/some/image:task_cleanroom_v6")
        run = Run(engine, tmp_path)
        run.solve(run.uses(one), one, live=True)
        assert run.removal("a") is None
        later = Run(engine, tmp_path)
        later.solve(later.uses(one), one)
    assert later.removal("a") == "removed"


def test_an_evaluation_to_come_keeps_the_images_until_it_is_over(
    engine: Engine, named: list[str], tmp_path: Path
) -> None:
    with serving(secrets.token_bytes(8)) as host:
        one = instance("a", host)
        named.append(f"{host}/some/image:task_cleanroom_v6")
        run = Run(engine, tmp_path, evaluate=True)
        uses = run.uses(one)
        run.solve(uses, one)
        assert run.removal("a") is None
        uses.remove_rest()
    assert run.removal("a") == "removed"


def test_what_a_killed_run_had_pulled_goes_in_a_later_invocation(
    engine: Engine, named: list[str], tmp_path: Path
) -> None:
    with serving(secrets.token_bytes(8)) as host:
        one = instance("a", host)
        named.append(f"{host}/some/image:task_cleanroom_v6")
        killed = Run(engine, tmp_path)
        # The image has no reference, so that nothing can be audited; a kill would leave the same files here.
        usable_image(cast("Any", killed), "a", cast("Any", SimpleNamespace(image=named[-1], user="1:1", labels={})))
        later = Run(engine, tmp_path)
        later.solve(later.uses(one), one)
    assert later.removal("a") == "removed"


def test_a_dry_run_waits_for_no_evaluation(engine: Engine, named: list[str], tmp_path: Path) -> None:
    with serving(secrets.token_bytes(8)) as host:
        one = instance("a", host)
        named.append(f"{host}/some/image:task_cleanroom_v6")
        run = Run(engine, tmp_path, evaluate=True, dry_run=True)
        run.solve(run.uses(one), one)
    assert run.removal("a") == "removed"


def test_a_pull_ends_when_the_run_does(engine: Engine) -> None:
    held, abandoned = threading.Event(), threading.Event()
    with serving(secrets.token_bytes(8), held=held) as host:
        threading.Timer(0.5, abandoned.set).start()
        threading.Timer(2.0, held.set).start()
        started = time.monotonic()
        with pytest.raises(PullAbandoned):
            ensure_image(engine, f"{host}/some/image:v6", "missing", SilentReporter(), abandoned=abandoned.is_set)
        assert time.monotonic() - started < 30
