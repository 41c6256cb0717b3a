"""What annotations say: of the package's own code, and of the tables of foreign code."""

import ast
from collections.abc import Iterator

from tests.guard.classes import Classes, owner_of
from tests.guard.source import Module, Package, Scope
from tests.guard.values import UNKNOWN, Class, Foreign, Instance, Kind, Ours, Types, thing

_TRANSPARENT = {"typing.Annotated", "typing.Final", "typing.ClassVar", "typing.Optional", "typing.Required"}


class Annotations(Classes):
    """Reads annotations."""

    def __init__(self, package: Package) -> None:
        super().__init__(package)
        self._texts: dict[str, Types] = {}
        self._followed: list[ast.AST] = []

    def text(self, annotation: str) -> Types:
        """Return the type that the tables of foreign code state."""
        if annotation not in self._texts:
            empty = Scope(Module("", "", ast.Module([], []), is_package=False), ast.Module([], []))
            self._texts[annotation] = self.annotated(ast.parse(annotation, mode="eval").body, empty)
        return self._texts[annotation]

    def annotated(self, node: ast.AST, scope: Scope) -> Types:
        """Return what a value with this annotation is."""
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                return self.annotated(ast.parse(node.value, mode="eval").body, scope)
            return thing("None") if node.value is None else UNKNOWN
        if isinstance(node, ast.BinOp):
            return self.annotated(node.left, scope) | self.annotated(node.right, scope)
        if isinstance(node, ast.Subscript):
            return self._parametrized(node, scope)
        return self._stated(node, scope)

    def _stated(self, node: ast.AST, scope: Scope) -> Types:
        dotted = ast.unparse(node)
        if dotted in {"Any", "object", "typing.Any"}:
            return UNKNOWN
        found = self.of(node, scope) if isinstance(node, ast.Name | ast.Attribute) else UNKNOWN
        if found == UNKNOWN and scope.module.name == "":
            return thing(dotted)
        return frozenset().union(*(self._meant(kind, node, scope) for kind in found))

    def _meant(self, kind: Kind, node: ast.AST, scope: Scope) -> Types:
        if isinstance(kind, Class):
            return frozenset({Instance(kind)})
        if isinstance(kind, Foreign):
            if kind.dotted == "typing.Self" and (owner := owner_of(scope) or owner_of(scope.parent)):
                return frozenset({Instance(owner)})
            return thing(kind.dotted) if kind.dotted not in {"typing.Any", "object"} else UNKNOWN
        return self._alias(node, scope)

    def _alias(self, node: ast.AST, scope: Scope) -> Types:
        """Follow `Name = Literal[...]` and the like."""
        name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
        for home in self._homes(node, scope):
            for binding in home.bindings.get(name, []):
                if binding.how == "from":
                    module, _, taken = binding.target.partition(":")
                    own = self.package.modules.get(module)
                    return self._alias(ast.Name(taken), own.scope) if own else UNKNOWN
                if binding.how == "value" and binding.node not in self._followed:
                    self._followed.append(binding.node)  # an alias may name itself
                    try:
                        return self.annotated(binding.node, home)
                    finally:
                        self._followed.pop()
        return UNKNOWN

    def _homes(self, node: ast.AST, scope: Scope) -> Iterator[Scope]:
        if isinstance(node, ast.Attribute):
            yield from (kind.module.scope for kind in self.of(node.value, scope) if isinstance(kind, Ours))
        else:
            yield scope.module.scope

    def _parametrized(self, node: ast.Subscript, scope: Scope) -> Types:
        heads = [kind for kind in self.of(node.value, scope) if isinstance(kind, Foreign)]
        head = heads[0].dotted if heads else ast.unparse(node.value)
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if head.endswith("Literal"):
            return frozenset().union(*(self.of(part, scope) for part in parts))
        if head in _TRANSPARENT:
            return self.annotated(parts[0], scope)
        if head in {"type", "typing.Type"}:
            return self.of(parts[0], scope)
        if head.endswith("Callable"):
            return thing("collections.abc.Callable", self.annotated(parts[-1], scope))
        if not heads and scope.module.name:
            return self._stated(node.value, scope)
        return thing(head, *(self.annotated(part, scope) for part in parts if not _is_ellipsis(part)))


def _is_ellipsis(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is Ellipsis
