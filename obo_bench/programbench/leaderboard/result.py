"""What became of a leaderboard directory: the part of `export_manifest.json` that is called `leaderboard`."""

from typing import Literal

from pydantic import ConfigDict, Field

from obo_bench.core.wire_format import LaterWord, WireModel

Support = Literal["supported", "limited", "unsupported"]
"""What the record says of a statement: it holds throughout, with the named exceptions, or not at all."""
LeftOutReason = Literal[
    "submission_missing", "not_a_benchmark_instance", "ungraded", "grade_of_another_archive", "grade_not_proven"
]
"""Why an instance has no result in the directory."""


class _Frozen(WireModel):
    model_config = ConfigDict(frozen=True)


class LeftOut(_Frozen):
    """An instance that was asked for and has no result in the directory."""

    instance_id: str
    """The instance."""
    reason: LeftOutReason | LaterWord
    """Why."""
    detail: str
    """The same for people; may hold foreign text."""


class Attestation(_Frozen):
    """One statement on how the results came about, and how far the record carries it."""

    name: str
    """Short name, stable over versions."""
    support: Support | LaterWord
    """supported, limited or unsupported."""
    statement: str
    """What holds."""
    exceptions: list[str]
    """Where it does not, or is not known to; foreign text."""
    proof: list[str]
    """Files of the directory that show it; `<instance>` stands for each instance id."""


class Statistic(_Frozen):
    """One file of `_stats` that is made from the records."""

    meaning: str
    """What is counted, and its unit."""
    known: int
    """Instances that have a value."""
    unknown: dict[str, str]
    """Instances without one, and why: unknown is not 0."""


class LeaderboardResult(_Frozen):
    """The whole account of one leaderboard directory."""

    schema_: Literal["obo_bench.leaderboard.v1"] = Field("obo_bench.leaderboard.v1", alias="schema")
    """The wire format."""
    graded: list[str]
    """Instances whose official result is in the directory, in the order asked for."""
    left_out: list[LeftOut]
    """All others that were asked for."""
    statistics: dict[str, Statistic]
    """By the name of the file in `_stats`."""
    attestations: list[Attestation]
    """What the record says on how the results came about."""
    to_confirm: list[str]
    """What no record can show: a human has to answer for it."""
    next_commands: list[str]
    """The official commands that come next, to be run in the directory."""
