"""The answer of `--explain`: what a recorded command would be admitted with, and where each value comes from."""

from typing import Any, Literal

from pydantic import Field

from obo_bench.core.wire_format import WireModel


class ExplainedValue(WireModel):
    """One option or argument."""

    value: Any
    """What counts; null where the command decides by itself."""
    origin: str
    """`flag`, `argument`, `environment NAME`, `settings` (the server's settings decide) or `default`."""
    variables: list[str] = Field(default_factory=list)
    """Environment variables that set it, the first one that is not empty counts."""


class Explanation(WireModel):
    """What a recorded command would do, from its arguments and the environment alone."""

    schema_: Literal["obo_bench.explain.v1"] = Field("obo_bench.explain.v1", alias="schema")
    """Format name."""
    command: str
    """The command that would be recorded."""
    run_root: str
    """The directory that it would write; without a run id a new one is made at each start."""
    manifest: str
    """The manifest that it would leave."""
    values: dict[str, ExplainedValue]
    """Every option and argument by its name: `max_cost_usd` is --max-cost-usd."""
