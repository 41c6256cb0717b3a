"""Which instances of a source are exported: the options of `run`, applied to the source's list, not the benchmark's."""

from collections.abc import Sequence
from dataclasses import replace

from obo_bench.programbench.instances import Instance, load_instances
from obo_bench.programbench.selection import Selector, chosen_ids, select


def choose(requested: Sequence[str], selector: Selector) -> tuple[str, ...]:
    """Return the ids that the selector leaves of `requested`, in that order, or in that of the ids it names.

    Raises UsageError and PreflightRefused as `select` does; an id that the source does not have is `unknown_instance`.
    """
    listed = chosen_ids(requested, selector, "the source")
    known = {instance.instance_id: instance for instance in load_instances()}
    instances = [known.get(name) or _unlisted(name) for name in listed]
    # A fixture is in the set only when it is named; one that the source has was named to its run.
    naming = listed if selector.instance_ids or any(instance.is_fixture for instance in instances) else ()
    return tuple(instance.instance_id for instance in select(instances, replace(selector, instance_ids=naming)))


def _unlisted(instance_id: str) -> Instance:
    """Stand for an instance of which the installed package knows nothing: no difficulty and no language is its own."""
    return Instance(
        instance_id, language="", difficulty="unknown", repository="", commit="", image_name="", eval_clean_hashes=()
    )
