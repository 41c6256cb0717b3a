"""What in a submission meets the hidden tests although it may be honest source: kept, and flagged.

The evaluator unpacks the tests into `eval/` and starts `python3 -m pytest eval/tests` (or the like) in the root. Python
then looks for modules in the root first, and pytest reads its options from the first file in the root that has a
section for it, unless the tests bring a configuration of their own. Below the root nothing is loaded.
"""

import re
import sys
import tomllib

PYTEST_MODULES = frozenset(
    {
        *("pytest", "_pytest", "py", "pluggy", "iniconfig", "packaging", "attr", "exceptiongroup", "tomli", "colorama"),
        *("pygments", "xdist", "execnet", "pytest_timeout", "pytest_rerunfailures"),
    }
)
"""Modules of pytest, of the plug-ins that the evaluator uses, and of what they need."""

CONFIGURATION_FILES = ("pyproject.toml", "tox.ini", "setup.cfg")
"""Files of other tools in the root that may hold a section for pytest."""
CONFIGURATION_BYTES = 1 << 20
"""How much of them is read; a larger one counts as one that has a section."""

_NAMES = re.compile(rb"conftest|pytest\.(?:ini|toml)|PYTEST_|pytest_plugins")
"""How a build script names what would bend the tests: it runs where they are unpacked, before they are."""
_MODULES = sys.stdlib_module_names | PYTEST_MODULES
_SUFFIXES = ("py", "pyc", "so")
_SECTION = re.compile(r"\s*\[(?:tool:)?pytest\]")


def shadows_test_module(path: str, *, is_link: bool) -> bool:
    """Tell whether `import` in the tests would find this entry instead of a module of Python or pytest.

    A directory counts by its `__init__`, a link in the root by its name alone, since it may lead to a package.
    """
    parent, _, name = path.rpartition("/")
    stem, _, suffixes = name.partition(".")
    if is_link and not parent and name in _MODULES:
        return True
    if suffixes.rpartition(".")[2] not in _SUFFIXES:
        return False
    return (parent if stem == "__init__" else stem) in _MODULES and (not parent or stem == "__init__")


def names_pytest_setup(script: bytes) -> bool:
    """Tell whether a build script names files or variables that configure pytest, so that it may make some."""
    return _NAMES.search(script) is not None


def configures_pytest(name: str, content: bytes) -> bool:
    """Tell whether a file of CONFIGURATION_FILES has a section for pytest, or is so broken that pytest gives up."""
    if not name.endswith(".toml"):
        # A line ends for pytest where it ends for Python, which is at more than a line feed.
        return any(_SECTION.match(line) for line in content.decode("utf-8", "replace").splitlines())
    try:
        tool = tomllib.loads(content.decode("utf-8")).get("tool", {})
    except (ValueError, RecursionError):
        return True
    return isinstance(tool, dict) and "pytest" in tool
