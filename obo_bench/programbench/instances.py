"""The benchmark's instances, as the installed `programbench` package lists them.

The package is the only source: ids, images and difficulty are never copied into this project.
"""

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from obo_bench.core.refusals import PreflightRefused, UsageError

FIXTURE_PREFIX = "testorg__"
"""Ids of the package's own test instances, which are not part of the benchmark."""

_ID = re.compile(r"(?=.*__)[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")
"""An id names a directory, a container and a task; real ones have up to 42 characters, and always two underscores."""
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:-]{0,254}")


@dataclass(frozen=True)
class Instance:
    """One task of the benchmark."""

    instance_id: str
    """`<owner>__<repository>.<7 hex digits>`."""
    language: str
    """The language that the original is written in: `rs`, `go`, `c`, ..."""
    difficulty: str | None
    """`easy`, `medium`, `hard`, or None where the benchmark does not say."""
    repository: str
    """`owner/name` of the original."""
    commit: str
    """The original's commit."""
    image_name: str
    """Name of its images, without a tag."""
    eval_clean_hashes: tuple[str, ...]
    """SHA-256 of files that the evaluator deletes before it builds: the original program."""

    @property
    def is_fixture(self) -> bool:
        """Whether it is one of the package's own test instances."""
        return self.instance_id.startswith(FIXTURE_PREFIX)


def is_instance_id(text: str) -> bool:
    """Say whether a text has the shape of an instance id, so that it can name a directory."""
    return _ID.fullmatch(text) is not None


def check_instance_id(instance_id: str) -> str:
    """Return an id that has the shape of one, so that it can name a directory; raises UsageError for any other."""
    if not _ID.fullmatch(instance_id):
        raise UsageError(
            f"--instance-id {instance_id[:200]!r} is not an instance id: write <owner>__<repository>.<7 hex digits>"
        )
    return instance_id


def load_instances() -> tuple[Instance, ...]:
    """Return all instances sorted by id, fixtures among them; PreflightRefused if the package can't be read."""
    try:
        from programbench.utils.load_data import load_all_instances
    except (ImportError, ValueError) as error:
        # ValueError: the package reads its integers from the environment while it is imported
        raise _unavailable(error) from error
    # without its stubs, yaml can only be imported this way under strict typing
    yaml_error: type[Exception] = import_module("yaml").YAMLError
    try:
        return _distinct(tuple(_instance(entry) for entry in load_all_instances(include_tests=False)))
    except (OSError, ValueError, KeyError, TypeError, yaml_error) as error:
        raise _unavailable(error) from error


def programbench_version() -> str:
    """Return the version of the installed package; PreflightRefused if there is none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("programbench")
    except PackageNotFoundError as error:
        raise _unavailable(error) from error


def _instance(entry: Mapping[str, Any]) -> Instance:
    difficulty = entry.get("difficulty")
    return Instance(
        instance_id=_shaped(_ID, "instance id", str(entry["instance_id"])),
        language=str(entry["language"]),
        difficulty=None if difficulty is None else str(difficulty),
        repository=str(entry["repository"]),
        commit=str(entry["commit"]),
        image_name=_shaped(_IMAGE, "image name", str(entry["image_name"])),
        eval_clean_hashes=tuple(str(value) for value in entry.get("eval_clean_hashes") or ()),
    )


def _shaped(shape: re.Pattern[str], what: str, value: str) -> str:
    if not shape.fullmatch(value):
        raise ValueError(f"the {what} {value[:100]!r} has not the shape of one: {shape.pattern}")
    return value


def _distinct(instances: tuple[Instance, ...]) -> tuple[Instance, ...]:
    """Refuse ids that differ only in case, too: on many file systems their directories are one."""
    counted = Counter(instance.instance_id.casefold() for instance in instances)
    twice = [name for name, number in counted.items() if number > 1]
    if twice:
        raise ValueError(f"the instance id {twice[0]!r} is there twice, letter case aside")
    return instances


def _unavailable(error: Exception) -> PreflightRefused:
    cause = f"{type(error).__name__}: {error}"
    return PreflightRefused(
        "dataset_unavailable",
        f"the programbench package can't list its instances: {cause[:500]}",
        evidence={"error": cause[:500]},
    )
