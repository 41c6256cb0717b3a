"""The allowlist of foreign types: the attributes that depend on nothing but the instance and the arguments."""

import builtins
import datetime as dt
import enum
import re
import urllib.parse


def _public(cls: type, default: str = "", **returns: str) -> dict[str, str]:
    return {name: returns.get(name, default) for name in dir(cls) if not name.startswith("_")}


_CONTEXT = {"__enter__": "", "__exit__": ""}
_PATH_VALUES = ("parent", "name", "stem", "suffix", "suffixes", "parts", "parents", "anchor", "drive", "root")
_PATH_METHODS = ("absolute", "joinpath", "with_name", "with_suffix", "with_stem", "relative_to")
_PATH_OTHERS = ("is_relative_to", "is_absolute", "match", "as_posix", "as_uri", "is_reserved")

METHODS: dict[str, dict[str, str]] = {
    "str": _public(
        str,
        "str",
        split="list[str]",
        rsplit="list[str]",
        splitlines="list[str]",
        partition="tuple[str, str, str]",
        rpartition="tuple[str, str, str]",
        encode="bytes",
    ),
    "bytes": _public(bytes, "bytes", decode="str", hex="str", splitlines="list[bytes]", split="list[bytes]"),
    "bytearray": _public(bytearray),
    "int": _public(int, "int", to_bytes="bytes") | {"__new__": "int"},
    "float": _public(float, "float"),
    "bool": _public(bool, "int"),
    "complex": _public(complex),
    "None": {},
    "slice": _public(slice),
    "range": _public(range),
    "list": _public(list),
    "tuple": _public(tuple),
    "set": _public(set),
    "frozenset": _public(frozenset),
    "dict": _public(dict),
    "type": {"mro": ""},
    "property": {"setter": "", "getter": ""},
    "collections.abc.Iterator": {},
    "collections.abc.Iterable": {},
    "collections.abc.Callable": {},
    "collections.abc.Sequence": _public(tuple),
    "collections.abc.Collection": {},
    "collections.abc.Set": _public(frozenset),
    "collections.abc.Mapping": dict.fromkeys(("get", "items", "keys", "values", "copy"), ""),
    "collections.abc.MutableMapping": _public(dict),
    "re.Pattern": _public(re.Pattern, "re.Match", findall="list[str]", sub="str", split="list[str]", pattern="str")
    | {"finditer": "list[re.Match]", ".pattern": "str"},
    "re.Match": _public(re.Match, "str", groups="tuple[str]", groupdict="dict[str, str]"),
    "urllib.parse.SplitResult": _public(urllib.parse.SplitResult)
    | {f".{name}": "str" for name in ("scheme", "netloc", "path", "query", "fragment", "hostname", "username")}
    | {".port": "int"},
    "datetime.datetime": _public(dt.datetime, "str"),
    "enum.Enum": {".value": "str", ".name": "str"} | _public(enum.Enum),
    "enum.IntEnum": {".value": "int", ".name": "str"} | _public(int),
    "enum.StrEnum": {".value": "str", ".name": "str"} | _public(str),
    "threading.Lock": {**_CONTEXT, "acquire": "", "release": "", "locked": ""},
    "threading.Thread": {".ident": "int", ".name": "str"},
    "types.FrameType": {"f_back": "", ".f_back": "types.FrameType", "f_code": "", "f_lineno": ""},
    "contextvars.ContextVar": {"get": "", "set": "", "reset": ""},
    "threading.RLock": {**_CONTEXT, "acquire": "", "release": ""},
    "typing.TextIO": {"write": "int", "flush": "None", ".encoding": "str", "isatty": "bool"},
    "contextlib.suppress": _CONTEXT,
    "typing.ParamSpec": {"args": "", "kwargs": ""},
    "typing.Protocol": {},
    "random.Random": {},
    "hashlib.sha256": {"hexdigest": "str", "digest": "bytes", "update": ""},
    "pathlib.Path": {f".{name}": "pathlib.Path" if name == "parent" else "str" for name in _PATH_VALUES}
    | {".parts": "tuple[str]", ".parents": "collections.abc.Sequence[pathlib.Path]"}
    | dict.fromkeys(_PATH_VALUES, "")
    | dict.fromkeys(_PATH_METHODS, "pathlib.Path")
    | dict.fromkeys(_PATH_OTHERS, "str"),
    "pydantic.BaseModel": dict.fromkeys(
        (
            *("model_copy", "model_dump", "model_dump_json", "model_fields", "model_config"),
            *("model_validate", "model_json_schema", "model_post_init", "__init__"),
        ),
        "",
    ),
    "inspect.Parameter": {"replace": "inspect.Parameter", ".name": "str", ".annotation": "str"},
    "inspect.Signature": {"replace": "", ".parameters": "collections.abc.Mapping[str, inspect.Parameter]"},
    "typer.Typer": {
        "add_typer": "",
        "callback": "",
        "command": "",
        ".registered_callback": "typer.models.TyperInfo",
        ".registered_commands": "list[typer.models.CommandInfo]",
        ".registered_groups": "list[typer.models.TyperInfo]",
    },
    "typer.models.CommandInfo": {".name": "str", ".epilog": "str", ".callback": "collections.abc.Callable"},
    "typer.models.TyperInfo": {
        ".name": "str",
        ".epilog": "str",
        ".callback": "collections.abc.Callable",
        ".typer_instance": "typer.Typer",
    },
    "typer.core.TyperGroup": {"parse_args": "list[str]", "invoke": ""},
    "typer.Context": {
        "params": "",
        ".params": "dict[str, object]",
        "invoked_subcommand": "",
        "get_parameter_source": "enum.Enum",
    },
}
"""Allowed attributes of foreign instances, with the type a call returns; `.name` gives the type of a data attribute."""

for _name, _error in vars(builtins).items():
    if isinstance(_error, type) and issubclass(_error, BaseException):
        METHODS[_name] = {
            **_public(_error),
            **dict.fromkeys(("__init__", "__cause__", "__context__"), ""),
            ".args": "tuple[str]",
        } | ({".strerror": "str", ".errno": "int", ".filename": "str"} if issubclass(_error, OSError) else {})
