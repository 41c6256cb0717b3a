"""The allowlist: foreign names that depend on nothing but their arguments, the process and the clock.

Whatever is not listed here is a violation before admission, also what nobody has thought of yet.
"""

import builtins
import sys

from tests.guard.foreign_types import METHODS

ALLOWED_DISTRIBUTIONS = frozenset({"filelock", "pydantic", "pydantic_core", "typer"})
"""Third-party packages that parse arguments, model the manifest and take the lock."""

_WORLDLY_MODULES = frozenset({"antigravity", "idlelib", "this", "turtle", "webbrowser"})
"""Standard modules that do something when they are merely imported."""

IMPORTABLE = frozenset(sys.stdlib_module_names) - _WORLDLY_MODULES | ALLOWED_DISTRIBUTIONS
"""Top-level modules that may be imported before admission."""


FORBIDDEN_RESULTS = {"pathlib.Path.resolve": "pathlib.Path", "pathlib.Path.read_bytes": "bytes"}
"""Types of what the seam alone may call."""

VALUES = {
    "os.environ": "collections.abc.Mapping[str, str]",
    "os.sep": "str",
    "os.devnull": "str",
    "os.name": "str",
    "sys.argv": "list[str]",
    "sys.stderr": "typing.TextIO",
    "sys.stdout": "typing.TextIO",
    "sys.platform": "str",
    "sys.version": "str",
    "sys.version_info": "tuple[int]",
    "sys.executable": "str",
    "math.inf": "float",
    "math.nan": "float",
    "math.pi": "float",
}
"""Allowed foreign values and their types."""

_BUILTIN_FUNCTIONS = {
    "abs": "int",
    "all": "bool",
    "any": "bool",
    "ascii": "str",
    "bin": "str",
    "bool": "bool",
    "bytearray": "bytearray",
    "bytes": "bytes",
    "callable": "bool",
    "chr": "str",
    "classmethod": "",
    "dict": "dict",
    "divmod": "tuple[int, int]",
    "enumerate": "",
    "filter": "",
    "float": "float",
    "format": "str",
    "frozenset": "=list",
    "hash": "int",
    "hex": "str",
    "id": "int",
    "int": "int",
    "isinstance": "bool",
    "issubclass": "bool",
    "iter": "=",
    "len": "int",
    "list": "=list",
    "map": "",
    "max": "",
    "min": "",
    "next": "",
    "object": "",
    "ord": "int",
    "pow": "int",
    "property": "property",
    "range": "range",
    "repr": "str",
    "reversed": "=list",
    "round": "int",
    "set": "=list",
    "slice": "slice",
    "sorted": "=list",
    "staticmethod": "",
    "str": "str",
    "sum": "int",
    "super": "",
    "tuple": "=list",
    "type": "",
    "zip": "",
    "NotImplemented": "",
    "Ellipsis": "",
}

RETURNS: dict[str, str] = {
    **_BUILTIN_FUNCTIONS,
    "abc.ABC": "",
    "abc.abstractmethod": "",
    **{
        name: name
        for name, found in vars(builtins).items()
        if isinstance(found, type) and issubclass(found, BaseException)
    },
    "base64.b64decode": "bytes",
    "base64.b64encode": "bytes",
    "base64.urlsafe_b64decode": "bytes",
    "base64.urlsafe_b64encode": "bytes",
    "collections.Counter": "",
    "collections.defaultdict": "",
    "collections.deque": "",
    "collections.abc.Callable": "",
    "contextlib.contextmanager": "",
    "contextlib.nullcontext": "",
    "contextlib.suppress": "contextlib.suppress",
    "dataclasses.asdict": "dict",
    "dataclasses.dataclass": "",
    "dataclasses.field": "",
    "dataclasses.fields": "",
    "dataclasses.replace": "=",
    "enum.Enum": "",
    "enum.IntEnum": "",
    "enum.StrEnum": "",
    "enum.auto": "",
    "fnmatch.fnmatchcase": "bool",
    "functools.cache": "",
    "functools.cached_property": "",
    "functools.partial": "",
    "functools.update_wrapper": "",
    "functools.wraps": "",
    "hashlib.sha256": "hashlib.sha256",
    "html.escape": "str",
    "html.unescape": "str",
    "inspect.Parameter": "inspect.Parameter",
    "inspect.Parameter.KEYWORD_ONLY": "enum.IntEnum",
    "inspect.currentframe": "types.FrameType",
    "inspect.signature": "inspect.Signature",
    "itertools.chain": "",
    "itertools.count": "",
    "itertools.pairwise": "",
    "json.JSONDecodeError": "ValueError",
    "json.dumps": "str",
    "json.loads": "",
    "math.isfinite": "bool",
    "math.isnan": "bool",
    "math.ceil": "int",
    "math.floor": "int",
    "os.PathLike": "",
    "os.fspath": "str",
    "os.fsdecode": "str",
    "os.fsencode": "bytes",
    "os.strerror": "str",
    "os.getpid": "int",
    "os.path.basename": "str",
    "os.path.commonpath": "str",
    "os.path.dirname": "str",
    "os.path.isabs": "bool",
    "os.path.join": "str",
    "os.path.normpath": "str",
    "os.path.split": "tuple[str, str]",
    "os.path.splitext": "tuple[str, str]",
    "pathlib.Path": "pathlib.Path",
    "pathlib.Path.cwd": "pathlib.Path",
    "pathlib.PurePath": "pathlib.Path",
    "pathlib.PurePosixPath": "pathlib.Path",
    "platform.python_version": "str",
    "posixpath.join": "str",
    "pydantic.BaseModel": "",
    "pydantic.ConfigDict": "dict",
    "pydantic.Field": "",
    "pydantic.field_validator": "",
    "pydantic.model_validator": "",
    "pydantic.GetCoreSchemaHandler": "",
    "pydantic.GetJsonSchemaHandler": "",
    "pydantic.ValidationInfo": "",
    "pydantic.json_schema.JsonSchemaValue": "",
    "pydantic_core.CoreSchema": "",
    "pydantic_core.PydanticOmit": "",
    "pydantic_core.core_schema": "",
    "pydantic_core.to_jsonable_python": "",
    "re.Match": "",
    "re.Pattern": "",
    "re.compile": "re.Pattern",
    "re.error": "",
    "re.escape": "str",
    "re.findall": "list[str]",
    "re.fullmatch": "re.Match",
    "re.match": "re.Match",
    "re.search": "re.Match",
    "re.split": "list[str]",
    "re.sub": "str",
    "secrets.token_hex": "str",
    "shlex.join": "str",
    "shlex.quote": "str",
    "shlex.split": "list[str]",
    "signal.SIGHUP": "int",
    "signal.SIGINT": "int",
    "signal.SIGTERM": "int",
    "signal.Signals": "enum.IntEnum",
    "signal.SIG_DFL": "",
    "signal.SIG_IGN": "",
    "signal.getsignal": "",
    "signal.signal": "",
    "contextvars.ContextVar": "contextvars.ContextVar",
    "threading.RLock": "threading.RLock",
    "string.ascii_letters": "str",
    "threading.Lock": "threading.Lock",
    "threading.current_thread": "threading.Thread",
    "threading.main_thread": "threading.Thread",
    "pydantic.ValidationError": "ValueError",
    "struct.Struct": "struct.Struct",
    "struct.calcsize": "int",
    "threading.Event": "threading.Event",
    "threading.Condition": "",
    "time.monotonic": "float",
    "time.sleep": "None",
    "time.strftime": "str",
    "time.time": "float",
    "typer.Argument": "",
    "typer.BadParameter": "",
    "typer.Context": "typer.Context",
    "typer.Exit": "",
    "typer.Option": "",
    "typer.Typer": "typer.Typer",
    "typer.core.TyperCommand": "",
    "typer.core.TyperGroup": "",
    "typer.echo": "",
    "types.CodeType": "",
    "types.FrameType": "",
    "types.MappingProxyType": "",
    "types.TracebackType": "",
    "typing.NamedTuple": "",
    "typing.ParamSpec": "typing.ParamSpec",
    "typing.TypeVar": "",
    "typing.cast": "",
    "textwrap.dedent": "str",
    "textwrap.indent": "str",
    "urllib.parse.parse_qsl": "list[tuple[str, str]]",
    "urllib.parse.quote": "str",
    "urllib.parse.quote_plus": "str",
    "urllib.parse.unquote": "str",
    "urllib.parse.urlencode": "str",
    "urllib.parse.urljoin": "str",
    "urllib.parse.urlparse": "urllib.parse.SplitResult",
    "urllib.parse.urlsplit": "urllib.parse.SplitResult",
    "urllib.parse.urlunsplit": "str",
}
"""Allowed foreign functions and classes with what a call returns: `=` its argument, `=list` its elements as a list."""

ALWAYS_THERE = frozenset({"__name__", "__class__", "__doc__", "__qualname__", "__module__"})
"""Attributes of everything, which are data."""
HARMLESS = (
    frozenset(
        name for cls in (str, bytes, list, dict, set, tuple, int) for name in dir(cls) if not name.startswith("_")
    )
    | {"value", "hostname", "scheme", "port", "strerror", "errno", "args", "lineno", "colno", "msg", "pos"}
    | {"__code__", *ALWAYS_THERE}
) - {"replace"}
"""Attributes that are harmless on whatever it is: methods of the builtin types that no path, file or socket has."""

TYPE_ONLY_MODULES = ("pydantic_core.core_schema.", "typing.", "collections.abc.", "typing_extensions.")
"""Names of these may always be mentioned: they are annotations."""


_CONSTANTS = frozenset({"errno", "fcntl", "re", "signal", "stat", "zlib"})
"""Modules whose names in capitals are plain numbers."""


def canonical(dotted: str) -> str:
    """Return one spelling for a foreign name."""
    for other, known in (("posixpath", "os.path"), ("builtins.", ""), ("typing.Iterator", "collections.abc.Iterator")):
        if dotted == other or dotted.startswith(other if other.endswith(".") else f"{other}."):
            return known + dotted[len(other) :]
    return "pathlib.Path" if dotted in {"pathlib.PosixPath", "pathlib.PurePath"} else dotted


def may_mention(dotted: str) -> bool:
    """Say whether a foreign name may be read, called or handed on before admission."""
    owner, _, name = dotted.rpartition(".")
    if owner in METHODS and owner != "BaseException":
        return dotted in RETURNS or may_use(owner, name)
    constant = (owner in _CONSTANTS and name.isupper()) or dotted.startswith("os.O_")
    return constant or dotted in RETURNS or dotted in VALUES or dotted.startswith(TYPE_ONLY_MODULES)


def may_use(type_: str, attribute: str) -> bool:
    """Say whether an attribute of a foreign instance may be read or called before admission."""
    known = METHODS.get(type_)
    if known is None:
        return attribute in HARMLESS
    return attribute in known or f".{attribute}" in known or attribute in {"__name__", "__class__", "__doc__"}
