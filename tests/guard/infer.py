"""What an expression may be: a small type inference over annotations, constructors and literals.

It never guesses: what it cannot tell is `Unknown`, and the walker treats that as a violation unless it is harmless
whatever it turns out to be.
"""

import ast
import builtins

from tests.guard.bindings import Bindings
from tests.guard.classes import owner_of
from tests.guard.foreign import FORBIDDEN_RESULTS, RETURNS, canonical, may_use
from tests.guard.foreign_types import METHODS
from tests.guard.source import Package, Scope
from tests.guard.values import (
    NOTHING,
    UNKNOWN,
    Bound,
    Class,
    Foreign,
    Function,
    Instance,
    Kind,
    Ours,
    Super,
    Thing,
    Types,
    thing,
)

_CONTAINERS = {
    ast.List: "list",
    ast.ListComp: "list",
    ast.Set: "set",
    ast.SetComp: "set",
    ast.GeneratorExp: "collections.abc.Iterator",
}
NONE = thing("None")
_WIDE: Types = UNKNOWN | {
    Thing(name) for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)
}
"""Types that an `isinstance` test makes narrower."""
_PAIRS = {"dict", "collections.abc.Mapping", "collections.abc.MutableMapping"}


class Inference(Bindings):
    """Answers for one package, each asked once."""

    def __init__(self, package: Package) -> None:
        super().__init__(package)
        self._known: dict[tuple[ast.AST, Scope], Types] = {}
        self._open: set[tuple[ast.AST, Scope]] = set()
        self._cycles: set[tuple[ast.AST, Scope]] = set()
        self._isinstance: dict[Scope, list[ast.Call]] = {}

    def of(self, node: ast.AST, scope: Scope) -> Types:
        """Return what an expression may be."""
        key = (node, scope)
        if key in self._known:
            return self._known[key]
        if key in self._open:
            self._cycles.add(key)
            return NOTHING
        self._open.add(key)
        handler = getattr(self, f"_on_{type(node).__name__.lower()}", None)
        found: Types = handler(node, scope) if handler else UNKNOWN
        self._open.discard(key)
        self._cycles.discard(key)
        if not self._cycles:  # else it rests on an answer that is not complete yet
            self._known[key] = found
        return found

    def _tested(self, node: ast.AST, scope: Scope) -> Types:
        """Return the classes that the function around tests an expression for with `isinstance`."""
        spelled = ast.dump(node)
        found: Types = NOTHING
        for test in self._tests(scope):
            if ast.dump(test.args[0]) == spelled:
                found |= self._caught(test.args[1], scope)
        return found

    def _tests(self, scope: Scope) -> list[ast.Call]:
        if scope not in self._isinstance:
            calls = [found for found in ast.walk(scope.node) if isinstance(found, ast.Call)]
            self._isinstance[scope] = [
                call for call in calls if ast.unparse(call.func) == "isinstance" and len(call.args) == 2
            ]
        return self._isinstance[scope]

    def _on_name(self, node: ast.Name, scope: Scope) -> Types:
        return self.name(node.id, scope)

    def _on_constant(self, node: ast.Constant, _scope: Scope) -> Types:
        return thing("None") if node.value is None else thing(type(node.value).__name__)

    def _on_joinedstr(self, _node: ast.JoinedStr, _scope: Scope) -> Types:
        return thing("str")

    def _container(self, node: ast.AST, scope: Scope) -> Types:
        parts = getattr(node, "elts", None) or [getattr(node, "elt", None)]
        inner = [self.of(part, scope) for part in parts if part is not None and not isinstance(part, ast.Starred)]
        return thing(_CONTAINERS[type(node)], frozenset().union(*inner))

    _on_list = _on_set = _on_listcomp = _on_setcomp = _on_generatorexp = _container

    def _on_tuple(self, node: ast.Tuple, scope: Scope) -> Types:
        return thing("tuple", *(self.of(part, scope) for part in node.elts))

    def _on_dict(self, node: ast.Dict, scope: Scope) -> Types:
        keys = [self.of(key, scope) for key in node.keys if key is not None]
        values = [self.of(value, scope) for key, value in zip(node.keys, node.values, strict=True) if key is not None]
        return thing("dict", frozenset().union(*keys), frozenset().union(*values))

    def _on_dictcomp(self, node: ast.DictComp, scope: Scope) -> Types:
        return thing("dict", self.of(node.key, scope), self.of(node.value, scope))

    def _on_lambda(self, node: ast.Lambda, scope: Scope) -> Types:
        return frozenset({Function(node, scope)})

    def _on_compare(self, _node: ast.Compare, _scope: Scope) -> Types:
        return thing("bool")

    def _on_unaryop(self, node: ast.UnaryOp, scope: Scope) -> Types:
        return thing("bool") if isinstance(node.op, ast.Not) else self.of(node.operand, scope)

    def _on_boolop(self, node: ast.BoolOp, scope: Scope) -> Types:
        return frozenset().union(*(self.of(part, scope) for part in node.values))

    def _on_ifexp(self, node: ast.IfExp, scope: Scope) -> Types:
        return self.of(node.body, scope) | self.of(node.orelse, scope)

    def _on_namedexpr(self, node: ast.NamedExpr, scope: Scope) -> Types:
        return self.of(node.value, scope)

    def _on_binop(self, node: ast.BinOp, scope: Scope) -> Types:
        left, right = self.of(node.left, scope), self.of(node.right, scope)
        paths = {kind for kind in left | right if isinstance(kind, Thing) and kind.type == "pathlib.Path"}
        if isinstance(node.op, ast.Div) and paths:
            return frozenset(paths)
        return left if left - UNKNOWN else right

    def _on_subscript(self, node: ast.Subscript, scope: Scope) -> Types:
        return frozenset().union(*(self._item(kind, node) for kind in self.of(node.value, scope)))

    def _item(self, kind: Kind, node: ast.Subscript) -> Types:
        if isinstance(kind, Thing):
            if isinstance(node.slice, ast.Slice) or kind.type in {"str", "bytes"}:
                return frozenset({kind})
            if kind.type in _PAIRS:
                return kind.args[1] if len(kind.args) > 1 else UNKNOWN
            if kind.type == "tuple" and isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, int):
                return self._part(kind, node.slice.value)
            return thing("str") if kind.type == "re.Match" else self.element(frozenset({kind}))
        return UNKNOWN

    def _on_attribute(self, node: ast.Attribute, scope: Scope) -> Types:
        return frozenset().union(*(self.attribute(kind, node.attr) for kind in self.owners(node, scope)))

    def owners(self, node: ast.Attribute, scope: Scope) -> Types:
        """Return what is asked for an attribute; where the function tests it with `isinstance`, what passes."""
        owners = present(self.of(node.value, scope))
        fitting = {kind for kind in self._tested(node.value, scope) if self._has(kind, node.attr)}
        return owners - _WIDE | fitting if fitting and owners & _WIDE else owners

    def _has(self, kind: Kind, name: str) -> bool:
        if isinstance(kind, Instance):
            return self.member(kind.cls, name) is not None
        return isinstance(kind, Thing) and may_use(kind.type, name)

    def attribute(self, kind: Kind, name: str) -> Types:
        """Return what an attribute may be."""
        match kind:
            case Foreign(dotted):
                return self.foreign(canonical(f"{dotted}.{name}"))
            case Ours(module):
                return self._taken(module.name, name)
            case Thing():
                stated = METHODS.get(kind.type, {}).get(f".{name}")
                return self.text(stated) if stated else frozenset({Bound(kind, name)})
            case Instance(cls) | Super(cls):
                return self._member_types(kind, cls, name)
            case Class():
                return self._member_types(kind, kind, name)
        return UNKNOWN

    def _member_types(self, kind: Kind, cls: Class, name: str) -> Types:
        found = self.member(cls, name, skip_own=isinstance(kind, Super))
        if isinstance(found, Function) and found.is_property and isinstance(kind, Instance):
            return self.result(found)
        if isinstance(found, Function):
            return frozenset({found})
        if found is not None:
            return found
        return frozenset({Bound(Thing(base.dotted), name) for base in self.foreign_bases(cls)}) or UNKNOWN

    def _on_call(self, node: ast.Call, scope: Scope) -> Types:
        if isinstance(node.func, ast.Name) and node.func.id == "super":
            inner: Scope | None = scope
            while inner is not None and owner_of(inner) is None:
                inner = inner.parent
            owner = owner_of(inner) if inner else None
            return frozenset({Super(owner)}) if owner else UNKNOWN
        if ast.unparse(node.func) == "getattr" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            return frozenset().union(
                *(self.attribute(kind, str(node.args[1].value)) for kind in self.of(node.args[0], scope))
            )
        return frozenset().union(*(self._called(kind, node, scope) for kind in self.of(node.func, scope)))

    def _called(self, kind: Kind, node: ast.Call, scope: Scope) -> Types:
        match kind:
            case Class():
                return frozenset({Instance(kind)})
            case Function():
                return self.result(kind)
            case Foreign(dotted):
                return self._foreign_result(dotted, node, scope)
            case Bound(owner, name):
                return self._method_result(owner, name)
            case Thing("collections.abc.Callable", args) if args:
                return args[0]
        return UNKNOWN

    def result(self, function: Function) -> Types:
        """Return what a function returns, by its annotation."""
        if isinstance(function.node, ast.Lambda):
            return self.of(function.node.body, function.scope)
        return self.annotated(function.node.returns, function.outer) if function.node.returns else UNKNOWN

    def _foreign_result(self, dotted: str, node: ast.Call, scope: Scope) -> Types:
        stated = RETURNS.get(dotted, "")
        if stated.startswith("="):  # the same as its argument, such as sorted(...)
            inner = self.of(node.args[0], scope) if node.args else UNKNOWN
            return thing("list", self.element(inner)) if stated == "=list" else inner
        if stated:
            return self.text(stated)
        return thing(dotted) if dotted in METHODS else UNKNOWN

    def _method_result(self, owner: Thing, name: str) -> Types:
        if owner.type in _PAIRS and len(owner.args) == 2:
            key, value = owner.args
            pairs = {"items": thing("list", thing("tuple", key, value)), "keys": thing("list", key)}
            pairs |= {
                "values": thing("list", value),
                "get": value,
                "pop": value,
                "setdefault": value,
                "copy": frozenset({owner}),
            }
            if name in pairs:
                return pairs[name]
        if (owner.type, name) == ("contextvars.ContextVar", "get") and owner.args:
            return owner.args[0]
        if name in {"copy", "union", "intersection", "difference"} and owner.type in {"list", "set", "frozenset"}:
            return frozenset({owner})
        stated = METHODS.get(owner.type, {}).get(name) or FORBIDDEN_RESULTS.get(f"{owner.type}.{name}")
        return self.text(stated) if stated else UNKNOWN


def present(types: Types) -> Types:
    """Return the types without None, of which nobody asks an attribute."""
    return types - NONE or types
