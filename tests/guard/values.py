"""What an expression may be, as far as the source tells: the vocabulary of the type inference."""

import ast
from dataclasses import dataclass

from tests.guard.source import FunctionNode, Module, Scope


@dataclass(frozen=True)
class Foreign:
    """A module, class or function of somebody else, by its dotted name."""

    dotted: str


@dataclass(frozen=True)
class Thing:
    """An instance of a foreign class."""

    type: str
    """Dotted name of the class; builtins without a prefix."""
    args: "tuple[Types, ...]" = ()
    """Type arguments, such as those of `dict[str, Path]`."""


@dataclass(frozen=True)
class Bound:
    """An attribute of a foreign instance that is not read as data."""

    thing: Thing
    """The instance."""
    name: str
    """The attribute."""


@dataclass(frozen=True)
class Ours:
    """A module of the package."""

    module: Module


@dataclass(frozen=True)
class Class:
    """A class of the package."""

    node: ast.ClassDef
    outer: Scope

    @property
    def scope(self) -> Scope:
        return self.outer.enter(self.node, self.node.name)

    @property
    def qualname(self) -> str:
        return f"{self.outer.module.name}:{self.scope.qualname}"


@dataclass(frozen=True)
class Function:
    """A function, method or lambda of the package."""

    node: FunctionNode
    outer: Scope
    owner: Class | None = None

    @property
    def name(self) -> str:
        return getattr(self.node, "name", "<lambda>")

    @property
    def scope(self) -> Scope:
        return self.outer.enter(self.node, self.name)

    @property
    def qualname(self) -> str:
        return f"{self.outer.module.name}:{self.scope.qualname}"

    @property
    def decorators(self) -> list[str]:
        return [ast.unparse(found) for found in getattr(self.node, "decorator_list", [])]

    @property
    def is_property(self) -> bool:
        return any(found in {"property", "cached_property", "functools.cached_property"} for found in self.decorators)


@dataclass(frozen=True)
class Instance:
    """An instance of a class of the package."""

    cls: Class


@dataclass(frozen=True)
class Super:
    """What `super()` gives in a method of a class."""

    cls: Class


@dataclass(frozen=True)
class Unknown:
    """Anything."""


Kind = Foreign | Thing | Bound | Ours | Class | Function | Instance | Super | Unknown
Types = frozenset[Kind]

NOTHING: Types = frozenset()
UNKNOWN: Types = frozenset({Unknown()})


def thing(name: str, *args: Types) -> Types:
    """Return the type of an instance of a foreign class."""
    return frozenset({Thing(name, args)})
