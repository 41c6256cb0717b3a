"""Which instances of a run are evaluated now: ids, filter and slice cut what is in the run, not the benchmark's list.

The official slice cuts the list of all task directories, whatever was submitted. Nothing is imported from the
package: it may be installed for another Python than ours.
"""

import re
from collections.abc import Sequence

from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.selection import Selector, chosen_ids


def choose(requested: Sequence[str], selector: Selector) -> tuple[str, ...]:
    """Return what the selector leaves of `requested`, in its order; the selector's values are checked already.

    Raises PreflightRefused `unknown_instance` for an id that the run does not have, `empty_selection`.
    """
    chosen = set(chosen_ids(requested, selector, "the run"))
    steps = [f"{len(requested)} instances in the run"]
    left = [name for name in requested if name in chosen]
    if selector.filter:
        left = [name for name in left if re.match(selector.filter, name)]
        steps.append(f"--filter {selector.filter[:100]!r} left {len(left)}")
    if selector.slice:
        left = left[slice(*(int(part) if part else None for part in selector.slice.split(":")))]
        steps.append(f"--slice {selector.slice[:100]!r} left {len(left)}")
    if not left:
        raise PreflightRefused(
            "empty_selection",
            f"{'; '.join(steps)} (the pattern of --filter has to match from the start of the id)",
            evidence={"steps": steps},
        )
    return tuple(left)
