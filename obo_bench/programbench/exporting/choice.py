"""Which instances of a source are exported: the options of `run`, applied to the source's list, not the benchmark's."""

import difflib
from collections.abc import Sequence
from dataclasses import replace

from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.instances import Instance, load_instances
from obo_bench.programbench.selection import Selector, select

_SHOWN_IDS = 20


def choose(requested: Sequence[str], selector: Selector) -> tuple[str, ...]:
    """Return the ids that the selector leaves of `requested`, in that order, or in that of the ids it names.

    Raises UsageError and PreflightRefused as `select` does; an id that the source does not have is `unknown_instance`.
    """
    named = tuple(dict.fromkeys(name for given in selector.instance_ids if (name := given.strip())))
    _refuse_unknown(named, requested)
    listed = named or tuple(requested)
    known = {instance.instance_id: instance for instance in load_instances()}
    instances = [known.get(name) or _unlisted(name) for name in listed]
    # A fixture is in the set only when it is named; one that the source has was named to its run.
    naming = listed if named or any(instance.is_fixture for instance in instances) else ()
    return tuple(instance.instance_id for instance in select(instances, replace(selector, instance_ids=naming)))


def _unlisted(instance_id: str) -> Instance:
    """Stand for an instance of which the installed package knows nothing: no difficulty and no language is its own."""
    return Instance(
        instance_id, language="", difficulty="unknown", repository="", commit="", image_name="", eval_clean_hashes=()
    )


def _refuse_unknown(named: Sequence[str], requested: Sequence[str]) -> None:
    unknown = [name for name in named if name not in set(requested)]
    if not unknown:
        return
    near = {name: difflib.get_close_matches(name[:200], requested, n=3, cutoff=0.5) for name in unknown[:_SHOWN_IDS]}
    told = [f"{name[:100]!r} ({'near: ' + ', '.join(ids) if ids else 'nothing near'})" for name, ids in near.items()]
    more = f", and {len(unknown) - _SHOWN_IDS} more" if len(unknown) > _SHOWN_IDS else ""
    raise PreflightRefused(
        "unknown_instance",
        f"the source has no instance {', '.join(told)}{more}",
        evidence={"unknown": unknown, "near": near},
    )
