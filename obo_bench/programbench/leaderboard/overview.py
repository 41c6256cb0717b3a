"""The system overview of the README, from the manifests: agent, model, harness, limits, dates and money."""

import time
from collections.abc import Iterator, Mapping, Sequence

from obo_bench.core.manifest import RunManifest
from obo_bench.gateway.cost import usd
from obo_bench.programbench.leaderboard.markdown import code
from obo_bench.programbench.leaderboard.selection import Graded
from obo_bench.programbench.leaderboard.source import RunRecord, value_at

UNKNOWN = "not recorded"


def overview_lines(record: RunRecord, graded: Sequence[Graded], costs: Mapping[str, float]) -> list[str]:
    """Return the overview as list items; `costs` are those that are known, in USD, by instance."""
    manifest = record.manifest
    lines = [] if manifest is None else [*_system(manifest), *_limits(manifest), *_dates(record)]
    if manifest is None:
        lines = ["The run's manifest is absent, damaged or of another format: the system is not recorded."]
    lines += [_attempts(record, graded), _results(graded), _cost(graded, costs), *_run_cost(manifest)]
    return [f"- {line}" for line in lines]


def _system(manifest: RunManifest) -> Iterator[str]:
    source, harness = manifest.source, manifest.harness
    attested = value_at(manifest.extra.runtime_attestation, "runtime_version")
    yield (
        f"Agent: Ouroboros {_shown(source.version)}, commit {_shown(source.head)}; "
        f"the server said that it ran {_shown(attested)}"
    )
    yield f"Model: {_shown(harness.get('solve_model'))} (as asked for); asked directly of {_provider(manifest)}"
    for slot, name in manifest.model_slots.items():
        yield f"Model slot {code(slot)}: {code(name)}"
    live = value_at(harness, "settings", "live")
    for name, value in live.items() if isinstance(live, Mapping) else ():
        yield f"Setting {code(name)}: {code(value)}"
    if not isinstance(live, Mapping):
        yield f"Settings of the live server, reasoning effort among them: {UNKNOWN}"
    yield (
        f"Harness: obo-bench {_shown(harness.get('obo_bench'))}, programbench {_shown(harness.get('programbench'))}, "
        f"Python {_shown(harness.get('python'))}; container engine {_shown(value_at(harness, 'engine', 'version'))}"
    )


def _limits(manifest: RunManifest) -> Iterator[str]:
    limits = manifest.harness.get("limits")
    cpus, memory = value_at(limits, "cpus"), value_at(limits, "memory")
    yield f"Cleanroom per task: {_shown(cpus)} CPUs, {_shown(memory)} memory, network mode `none`"
    yield f"Time limit per task: {_shown(manifest.timeout_sec)} s, counted from the submission to the server"


def _dates(record: RunRecord) -> Iterator[str]:
    first, last = record.invocations[0] if record.invocations else None, record.manifest
    begun = _utc(first.created_at_unix) if first is not None else UNKNOWN
    ended = last.extra.finished_at_unix if last is not None else None
    yield f"From {begun} to {_utc(ended) if ended is not None else UNKNOWN}, {len(record.invocations)} invocation(s)"


def _attempts(record: RunRecord, graded: Sequence[Graded]) -> str:
    numbers = [one.tasks(record.instances[one.instance_id]) for one in graded]
    several = sum(number > 1 for number in numbers)
    return f"Attempts: {sum(numbers)} tasks for {len(graded)} instances; {several} instance(s) had more than one"


def _results(graded: Sequence[Graded]) -> str:
    solved = sum(one.grade.verdict == "pass" for one in graded)
    versions = ", ".join(code(v) for v in sorted({one.proof.evaluator_version for one in graded}))
    return f"Results: {len(graded)} instances, {solved} of them fully solved; evaluated with programbench {versions}"


def _cost(graded: Sequence[Graded], costs: Mapping[str, float]) -> str:
    told = f"Cost of these instances, all attempts: {round(sum(costs.values()), 6):g} USD known"
    unknown = len(graded) - len(costs)
    return f"{told}; of {unknown} instance(s) it is not known, so the sum is a lower bound" if unknown else told


def _run_cost(manifest: RunManifest | None) -> Iterator[str]:
    cost = manifest.extra.cost if manifest is not None else {}
    known, unknown = usd(cost.get("known_usd")), cost.get("unknown")
    if known is not None:
        bound = ", a lower bound" if cost.get("lower_bound") else ""
        yield f"Cost of the whole run: {known:g} USD known{bound}; attempts of unknown cost: {_shown(unknown)}"


def _provider(manifest: RunManifest) -> str:
    direct = manifest.harness.get("direct_provider")
    return code(direct) if direct else "no single provider, or it is not recorded"


def _shown(value: object) -> str:
    return UNKNOWN if value is None or value == "" else code(value)


def _utc(seconds: float) -> str:
    try:
        return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(seconds))
    except (OverflowError, ValueError, OSError):
        return UNKNOWN
