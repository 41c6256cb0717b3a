"""The generated parts of docs/presets.md."""

import re

from obo_bench.core.result_reasons import LAUNCHER_REASONS
from obo_bench.launch.presets.preset import Preset
from obo_bench.launch.presets.registry import PRESETS


def preset_table() -> str:
    """Every preset: what is requested, and what its results are read from."""
    head = "| preset | data set | requested tasks | results |\n|---|---|---|---|"
    rows = [f"| `{one.name}` | `{one.dataset}` | {one.requests} | {one.leaves} |" for one in PRESETS.values()]
    return "\n".join([head, *rows])


def demand_table() -> str:
    """What a preset demands of the checkout, and what its launcher limits itself to."""
    head = (
        "| preset | of the checkout | own limit for a task | statuses that refuse the provenance |\n|---|---|--:|---|"
    )
    rows = [f"| `{one.name}` | {_demands(one)} | {_limit(one)} | {_statuses(one)} |" for one in PRESETS.values()]
    return "\n".join([head, *rows])


def example_commands() -> str:
    """A command line for each preset."""
    lines = [f"obo-bench exec --preset {one.name}{_ids(one)} -- \\\n  {one.example}" for one in PRESETS.values()]
    return "```sh\n" + "\n".join(lines) + "\n```"


def result_reason_table() -> str:
    """The words of ours that a launcher's rows carry."""
    return "\n".join(
        ["| reason | meaning |\n|---|---|", *(f"| `{key}` | {text} |" for key, text in LAUNCHER_REASONS.items())]
    )


def launcher_options() -> set[str]:
    """The options of the launchers themselves, as the presets name them."""
    told = " ".join(text for one in PRESETS.values() for text in (one.requests, one.leaves, one.example))
    return set(re.findall(r"(?<![\w-])--[a-z][a-z_-]+", told)) | set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", told))


def _demands(one: Preset) -> str:
    wanted = ["a real `.git` directory"] if one.needs_git_directory else []
    return ", ".join([*wanted, *(["the seed's stamp"] if one.needs_stamp else [])])


def _limit(one: Preset) -> str:
    return f"{one.task_timeout_sec:g} s" if one.task_timeout_sec else ""


def _statuses(one: Preset) -> str:
    return ", ".join(str(status) for status in sorted(one.provenance_statuses))


def _ids(one: Preset) -> str:
    return " --ids-file ids.txt" if "--ids-file" in one.requests else ""
