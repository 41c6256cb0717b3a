"""What names stand for: the bindings of the scopes, imports included."""

import ast
import builtins
from collections.abc import Iterator

from tests.guard.annotations import Annotations
from tests.guard.classes import owner_of
from tests.guard.foreign import VALUES, canonical
from tests.guard.source import Binding, Package, Scope
from tests.guard.values import (
    NOTHING,
    UNKNOWN,
    Class,
    Foreign,
    Function,
    Instance,
    Kind,
    Ours,
    Thing,
    Types,
    Unknown,
    thing,
)


class Bindings(Annotations):
    """Resolves names."""

    def __init__(self, package: Package) -> None:
        super().__init__(package)
        self._asked: set[tuple[Scope, str]] = set()

    def foreign(self, dotted: str) -> Types:
        """Return a foreign name: as the value that the tables state, else as the name itself."""
        return self.text(VALUES[dotted]) if dotted in VALUES else frozenset({Foreign(dotted)})

    def name(self, name: str, scope: Scope) -> Types:
        """Return what a name may be in a scope."""
        start: Scope | None = scope
        while start is not None:
            if name in start.bindings and (start is scope or not isinstance(start.node, ast.ClassDef)):
                found = [self.binding(binding, start) for binding in start.bindings[name]]
                return frozenset().union(*found)
            start = start.parent
        if name in {"__file__", "__name__", "__doc__"}:
            return thing("str")
        return frozenset({Foreign(name)}) if hasattr(builtins, name) else UNKNOWN

    def binding(self, binding: Binding, scope: Scope) -> Types:
        """Return what one binding gives."""
        node = binding.node
        match binding.how:
            case "import":
                return self.module(binding.target)
            case "from":
                return self._taken(*binding.target.split(":"))
            case "class":
                assert isinstance(node, ast.ClassDef)
                return frozenset({Class(node, scope)})
            case "def":
                assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
                return frozenset({Function(node, scope, owner_of(scope))})
            case "opaque":
                return UNKNOWN
        return self._unpacked(self._bound(binding, scope), binding.steps)

    def _bound(self, binding: Binding, scope: Scope) -> Types:
        node = binding.node
        match binding.how:
            case "annotation":
                return self.annotated(node, scope)
            case "element":
                return self.element(self.of(node, scope))
            case "enter":
                return self._entered(self.of(node, scope))
            case "error":
                return self._caught(node, scope)
            case "parameter" | "rest" | "keywords":
                assert isinstance(node, ast.arg)
                return self._parameter(node, binding.how, scope)
        return self.of(node, scope)

    def _parameter(self, node: ast.arg, how: str, scope: Scope) -> Types:
        if node.annotation is None:
            return self._receiver(node, scope)
        assert scope.parent is not None
        stated = self.annotated(node.annotation, scope.parent)
        if how == "rest":
            return thing("tuple", stated)
        return thing("dict", thing("str"), stated) if how == "keywords" else stated

    def _receiver(self, node: ast.arg, scope: Scope) -> Types:
        """Return what the first parameter of a method is; others without an annotation may be anything."""
        method = scope.node
        in_class = isinstance(scope.parent and scope.parent.node, ast.ClassDef)
        if not in_class or not isinstance(method, ast.FunctionDef) or node is not method.args.args[0]:
            return UNKNOWN
        owner = owner_of(scope.parent)
        assert owner is not None
        return frozenset({owner if node.arg in {"cls", "mcs"} else Instance(owner)})

    def module(self, dotted: str) -> Types:
        """Return a module by its dotted name."""
        own = self.package.modules.get(dotted)
        return frozenset({Ours(own) if own else Foreign(canonical(dotted))})

    def _taken(self, module: str, name: str) -> Types:
        """Return what `from module import name` gives."""
        inner = self.package.modules.get(f"{module}.{name}")
        own = self.package.modules.get(module)
        if own is None:
            return self.foreign(canonical(f"{module}.{name}"))
        if name in own.scope.bindings:
            return self._held(name, own.scope)
        return frozenset({Ours(inner)}) if inner else UNKNOWN

    def _held(self, name: str, scope: Scope) -> Types:
        """Return what a module's name may be; modules that take it from each other add nothing."""
        if (scope, name) in self._asked:
            return NOTHING
        self._asked.add((scope, name))
        try:
            return self.name(name, scope)
        finally:
            self._asked.discard((scope, name))

    def _unpacked(self, types: Types, steps: tuple[int, ...]) -> Types:
        for step in steps:
            types = frozenset().union(*(self._part(kind, step) for kind in types)) if types else NOTHING
        return types

    def _part(self, kind: Kind, step: int) -> Types:
        if isinstance(kind, Thing) and kind.type == "tuple" and step < len(kind.args):
            return kind.args[step]
        return self.element(frozenset({kind}))

    def _entered(self, types: Types) -> Types:
        """Return what `with` binds: the yielded value of a context manager function, else the object itself."""
        entered: Types = NOTHING
        for kind in types:
            if isinstance(kind, Thing) and kind.type == "collections.abc.Iterator":
                entered |= self.element(frozenset({kind}))
            elif isinstance(kind, Instance) and isinstance(found := self.member(kind.cls, "__enter__"), Function):
                entered |= self.result(found)
            else:
                entered |= frozenset({kind})
        return entered

    def _caught(self, node: ast.AST, scope: Scope) -> Types:
        return frozenset(self._instance(kind) for kind in self._alternatives(node, scope))

    def _alternatives(self, node: ast.AST, scope: Scope) -> Iterator[Kind]:
        if isinstance(node, ast.Tuple):
            for part in node.elts:
                yield from self.of(part, scope)
        elif isinstance(node, ast.BinOp):
            yield from self._alternatives(node.left, scope)
            yield from self._alternatives(node.right, scope)
        else:
            yield from self.of(node, scope)

    def _instance(self, kind: Kind) -> Kind:
        if isinstance(kind, Class):
            return Instance(kind)
        return Thing(kind.dotted) if isinstance(kind, Foreign) else Unknown()

    def element(self, types: Types) -> Types:
        """Return what iteration gives."""
        return frozenset().union(*(self._elements(kind) for kind in types))

    def _elements(self, kind: Kind) -> Types:
        if isinstance(kind, Class):
            return frozenset({Instance(kind)})
        if not isinstance(kind, Thing):
            return UNKNOWN
        if kind.type == "str":
            return thing("str")
        if kind.type == "bytes":
            return thing("int")
        if kind.type == "tuple" and kind.args:
            return frozenset().union(*kind.args)
        return kind.args[0] if kind.args else UNKNOWN
