"""The numbers of an evaluation.

Those of the environment are checked before the package reads them and fails in its own words.
"""

from collections.abc import Mapping

from obo_bench.core.refusals import PreflightRefused

CPUS_VARIABLE = "PROGRAMBENCH_DOCKER_CPUS"
"""The official variable with the cores of each container."""
DEFAULT_CPUS = 4
"""Cores of a container, where the engine has so many; the package's own default of 10 fails on less."""
INSTANCE_LIMIT_SEC = 7 * 24 * 3600.0
"""Longer than the official limits per step of one instance add up to: it only ends one that hangs outside of them."""
_NUMBERS = (CPUS_VARIABLE, "PROGRAMBENCH_DOCKER_RUN_TIMEOUT", "PROGRAMBENCH_DOCKER_CP_TIMEOUT")


def check_numbers(environ: Mapping[str, str]) -> None:
    """Raise PreflightRefused `evaluator_unavailable` for a variable that is not a whole number of at least 1."""
    for name in _NUMBERS:
        value = environ.get(name)
        if value is not None and not _is_number(value):
            raise PreflightRefused(
                "evaluator_unavailable",
                f"{name} is {value[:100]!r}: it has to be a whole number of at least 1",
                evidence={"variable": name, "value": value[:100]},
                remedy=f"correct {name}, or unset it",
            )


def container_cpus(asked: int | None, environ: Mapping[str, str], engine_cpus: int) -> int:
    """Return the cores of a container: as asked for, else as the environment says, else 4; at most the engine's.

    More than the engine has would fail the start of every container. Raises PreflightRefused as `check_numbers`.
    """
    check_numbers(environ)
    wanted = asked if asked is not None else int(environ.get(CPUS_VARIABLE, DEFAULT_CPUS))
    return min(wanted, engine_cpus)


def _is_number(value: str) -> bool:
    try:
        return int(value) >= 1
    except ValueError:
        return False
