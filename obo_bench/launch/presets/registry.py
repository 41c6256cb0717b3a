"""All presets, by the names that --preset takes."""

from collections.abc import Mapping

from obo_bench.core.refusals import UsageError
from obo_bench.launch.presets.cl_bench import CL_BENCH
from obo_bench.launch.presets.evolving import SWE_BENCH_PRO_EVOLVING
from obo_bench.launch.presets.gaia import GAIA
from obo_bench.launch.presets.harness_bench import HARNESS_BENCH_FAST
from obo_bench.launch.presets.osworld import OSWORLD
from obo_bench.launch.presets.preset import Preset
from obo_bench.launch.presets.swe_bench import SWE_BENCH
from obo_bench.launch.presets.swe_bench_pro import SWE_BENCH_PRO
from obo_bench.launch.presets.terminal_bench import TERMINAL_BENCH

_ALL = (
    SWE_BENCH,
    SWE_BENCH_PRO,
    SWE_BENCH_PRO_EVOLVING,
    HARNESS_BENCH_FAST,
    GAIA,
    CL_BENCH,
    TERMINAL_BENCH,
    OSWORLD,
)
PRESETS: Mapping[str, Preset] = {preset.name: preset for preset in _ALL}
"""Every preset, in the order in which they are told."""


def preset(name: str) -> Preset:
    """Return the preset of a name; raises UsageError, naming all, for one that there is not."""
    found = PRESETS.get(name)
    if found is None:
        raise UsageError(f"--preset {name[:100]!r}: there is no such preset; use {', '.join(PRESETS)}")
    return found
