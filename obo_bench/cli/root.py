"""The root of the command line: gives every command below it the values that the environment has for its options."""

from typing import Any, cast

import typer

from obo_bench.cli import answer, mistakes, origins, variables
from obo_bench.cli.panels import HelpfulGroup
from obo_bench.cli.parsing import take_as_typed


class Root(HelpfulGroup):
    """The outermost group."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse, with the environment as defaults of this command and all below it.

        A shell that completes a word parses too ("resilient"): it needs no values, and reading them takes longer than
        everything else.
        """
        if ctx.resilient_parsing:
            take_as_typed(cast("Any", self), ctx)
        ctx.default_map = variables.defaults(cast("Any", self), frozenset(args))
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command; one that is in a group alone is named in full."""
        try:
            return super().resolve_command(ctx, args)
        except Exception as error:
            mistakes.name_command(error, cast("Any", self), args[0])
            raise

    def invoke(self, ctx: Any) -> object:
        """Run the command; raises UsageError for a variable whose value its option does not take."""
        for name in variables.strangers(cast("Any", self)):
            answer.say(f"note: the environment variable {name} is ignored: there is no option of that name")
        try:
            return super().invoke(ctx)
        except typer.BadParameter as error:
            mistakes.name_value(error)
            mistaken = origins.mistaken_variable(error)
            if mistaken is None:
                raise
            raise mistaken from error
