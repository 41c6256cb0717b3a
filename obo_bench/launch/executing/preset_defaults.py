"""What the presets say for options, known without loading them: nothing of theirs may run before the admission.

A test holds this table against the presets themselves.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from obo_bench.core.refusals import UsageError


@dataclass(frozen=True)
class PresetDefaults:
    """The options that one preset has values for; explicit ones win."""

    benchmark: str
    """--benchmark."""
    dataset: str
    """--dataset."""
    timeout_sec: float | None
    """--timeout-sec."""
    git_directory: bool
    """--require-git-directory."""
    stamp: bool
    """--require-stamp."""


PRESET_DEFAULTS: Mapping[str, PresetDefaults] = {
    "swe-bench": PresetDefaults("swe-bench", "SWE-bench/SWE-bench_Verified", None, git_directory=False, stamp=False),
    "swe-bench-pro": PresetDefaults("swe-bench-pro", "ScaleAI/SWE-bench_Pro", None, git_directory=True, stamp=False),
    "swe-bench-pro-evolving": PresetDefaults(
        "swe-bench-pro-evolving", "ScaleAI/SWE-bench_Pro", None, git_directory=True, stamp=True
    ),
    "harness-bench-fast": PresetDefaults(
        "harness-bench-fast", "ai-forever/harness-bench-fast", None, git_directory=False, stamp=False
    ),
    "gaia": PresetDefaults("gaia", "gaia-benchmark/GAIA", None, git_directory=False, stamp=False),
    "cl-bench": PresetDefaults("cl-bench", "cl-bench", None, git_directory=False, stamp=False),
    "terminal-bench": PresetDefaults("terminal-bench", "terminal-bench@2.0", None, git_directory=False, stamp=False),
    "osworld": PresetDefaults("osworld", "OSWorld", None, git_directory=False, stamp=False),
}
"""By the preset's name."""
NO_PRESET = PresetDefaults("", "", None, git_directory=False, stamp=False)
"""Where no preset is named."""


def preset_defaults(name: str | None) -> PresetDefaults:
    """Return the defaults of a preset; raises UsageError, naming all, for one that there is not."""
    if name is None:
        return NO_PRESET
    found = PRESET_DEFAULTS.get(name)
    if found is None:
        raise UsageError(f"--preset {name[:100]!r}: there is no such preset; use {', '.join(PRESET_DEFAULTS)}")
    return found
