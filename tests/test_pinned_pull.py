"""An image with a pin is pulled by its digest, so that a tag that has moved gives the pinned image all the same."""

import secrets
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from obo_bench.core.reporter import SilentReporter
from obo_bench.engine.daemon import Engine, connect_engine
from obo_bench.engine.images import ImageIdentity, find_image, remove_image
from obo_bench.programbench.image_pins import read_pins
from obo_bench.programbench.solving.not_ready import NotReady
from obo_bench.programbench.solving.pulled_images import PulledImages
from obo_bench.programbench.solving.room_image import usable_image
from tests.image_registry import digest_of, serving

pytestmark = pytest.mark.docker
IID = "a__b.0000001"


@pytest.fixture
def engine() -> Iterator[Engine]:
    made = connect_engine()
    with closing(made):
        yield made


class Run:
    """As much of a run as the choice of an image needs."""

    def __init__(self, engine: Engine, root: Path, pins: str) -> None:
        (root / "pins").write_text(pins)
        self.engine, self.reporter = engine, SilentReporter()
        self.options = SimpleNamespace(pull="missing", allow_image_findings=False)
        self.pins, self.configuration = read_pins(root / "pins"), None
        self.closed = SimpleNamespace(is_set=lambda: False, wait=lambda _: None)
        self.images: dict[str, Any] = {}
        self.pulled = PulledImages(root)

    def use(self, name: str) -> ImageIdentity:
        spec = SimpleNamespace(image=name, user="1:1", labels={})
        return usable_image(cast("Any", self), IID, cast("Any", spec))

    def refused(self, name: str) -> str:
        with pytest.raises(NotReady) as no:
            self.use(name)
        assert not no.value.infrastructure
        return no.value.reason


@pytest.fixture
def moved(engine: Engine) -> Iterator[SimpleNamespace]:
    """A registry whose tag has moved from one image to another."""
    from docker.errors import DockerException

    new, old = secrets.token_bytes(8), secrets.token_bytes(8)
    with serving(new, older=old) as host:
        repository = f"{host}/some/image"
        name = f"{repository}:v6"
        yield SimpleNamespace(name=name, repository=repository, new=digest_of(new), old=digest_of(old))
    with suppress(DockerException):
        engine.client.images.remove(name, force=True)


def test_a_tag_that_has_moved_still_gives_the_pinned_image(
    engine: Engine, moved: SimpleNamespace, tmp_path: Path
) -> None:
    run = Run(engine, tmp_path, f"{moved.repository}@{moved.old}\n")
    used = run.use(moved.name)
    assert used.digests == (f"{moved.repository}@{moved.old}",)
    assert used.pulled
    assert find_image(engine, moved.name) == ImageIdentity(used.name, used.id, used.digests)
    # Also where only the digest is on the engine, nothing need be asked of the registry.
    engine.client.images.get(f"{moved.repository}@{moved.old}").tag(moved.repository, "kept")
    engine.client.images.remove(moved.name)
    run.options.pull = "never"
    assert run.use(moved.name).id == used.id
    engine.client.images.remove(f"{moved.repository}:kept")
    assert remove_image(engine, moved.name, used.id) == "removed"
    assert find_image(engine, f"{moved.repository}@{moved.old}") is None


def test_another_image_of_the_name_is_refused_until_the_pinned_one_is_pulled(
    engine: Engine, moved: SimpleNamespace, tmp_path: Path
) -> None:
    other = Run(engine, tmp_path, f"{moved.repository}@{moved.new}\n").use(moved.name)
    run = Run(engine, tmp_path, f"{moved.repository}@{moved.old}\n")
    assert run.refused(moved.name) == "image_not_pinned"
    assert run.images[IID]["id"] == other.id
    run.options.pull = "always"
    assert run.use(moved.name).digests == (f"{moved.repository}@{moved.old}",)
    engine.client.images.remove(other.id, force=True)


def test_a_digest_that_the_registry_does_not_know_brings_no_other_image(
    engine: Engine, moved: SimpleNamespace, tmp_path: Path
) -> None:
    unknown = f"sha256:{'0' * 64}"
    assert Run(engine, tmp_path, f"{moved.repository}@{unknown}\n").refused(moved.name) == "image_not_found"
    assert find_image(engine, moved.name) is None
    assert Run(engine, tmp_path, f"other/name@{unknown}\n").refused(moved.name) == "image_not_pinned"
    assert find_image(engine, moved.name) is None
    # It may be the engine's id of the image, which only the image itself tells.
    assert Run(engine, tmp_path, f'{{"{moved.repository}": "{unknown}"}}').refused(moved.name) == "image_not_pinned"
    found = find_image(engine, moved.name)
    assert found is not None
    assert Run(engine, tmp_path, f'{{"{moved.repository}": "{found.id}"}}').use(moved.name).id == found.id
