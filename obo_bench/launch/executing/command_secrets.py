"""Secrets among the arguments of a launcher: a value that stands by itself behind an option such as --api-key."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from obo_bench.core.redact import is_secret_name

_NO_SECRET = ("file", "path", "dir", "env", "tokens", "limit", "name", "budget")
"""Ends of options that speak of secrets, or of another kind of token, without holding one."""


def command_secrets(command: Sequence[str]) -> Iterator[str]:
    """Yield the words of a command line that must be shown nowhere."""
    for option, value in pairwise(command):
        named = option.startswith("-") and "=" not in option and is_secret_name("_".join(option.split("-")))
        if named and not option.lower().endswith(_NO_SECRET) and not value.startswith("-"):
            yield value
