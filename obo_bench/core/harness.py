"""What every manifest says of the tool itself."""

import platform
from typing import Any

from obo_bench import __version__


def base_harness() -> dict[str, Any]:
    """Return the first entries of a manifest's `harness`: our version and Python's."""
    return {"obo_bench": __version__, "python": platform.python_version()}
