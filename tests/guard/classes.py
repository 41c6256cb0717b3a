"""What the classes of the package give their names: methods, fields, and what is assigned to `self`."""

import ast
import functools
from abc import ABC, abstractmethod

from tests.guard.source import Binding, Package, Scope
from tests.guard.values import NOTHING, Class, Foreign, Function, Instance, Types


class Classes(ABC):
    """Looks names up in classes; the base of the inference, whose methods it declares where it needs them."""

    def __init__(self, package: Package) -> None:
        self.package = package

    @abstractmethod
    def of(self, node: ast.AST, scope: Scope) -> Types:
        """Return what an expression may be."""

    @abstractmethod
    def annotated(self, node: ast.AST, scope: Scope) -> Types:
        """Return what a value with this annotation is."""

    @abstractmethod
    def binding(self, binding: Binding, scope: Scope) -> Types:
        """Return what one binding gives."""

    @abstractmethod
    def result(self, function: Function) -> Types:
        """Return what a function returns, by its annotation."""

    def member(self, cls: Class, name: str, *, skip_own: bool = False) -> "Function | Types | None":
        """Return the method, or the type of the field, that a class of ours gives a name."""
        for owner in self.ancestry(cls)[1 if skip_own else 0 :]:
            for binding in owner.scope.bindings.get(name, []):
                if binding.how == "def":
                    [found] = self.binding(binding, owner.scope)
                    assert isinstance(found, Function)
                    return Function(found.node, found.outer, owner)
                if self._is_enum(owner) and binding.how == "value":
                    return frozenset({Instance(owner)})
                return self.binding(binding, owner.scope)
            assigned = self._assigned(owner, name)
            if assigned:
                return assigned
        return None

    def _assigned(self, owner: Class, name: str) -> Types:
        """Return the types that the methods assign to `self.name`."""
        found: Types = NOTHING
        for method, value, annotation in _self_assignments(owner.node).get(name, []):
            inner = owner.scope.enter(method, method.name)
            found |= self.annotated(annotation, inner) if annotation else self.of(value, inner)
        return found

    def ancestry(self, cls: Class) -> list[Class]:
        """Return the class and its bases in the package, nearest first."""
        found = [cls]
        for base in cls.node.bases:
            for kind in self.of(base, cls.outer):
                if isinstance(kind, Class) and kind not in found:
                    found += [other for other in self.ancestry(kind) if other not in found]
        return found

    def foreign_bases(self, cls: Class) -> list[Foreign]:
        """Return the bases that are somebody else's."""
        heads = [
            kind
            for owner in self.ancestry(cls)
            for base in owner.node.bases
            for kind in self.of(base.value if isinstance(base, ast.Subscript) else base, owner.outer)
        ]
        return [kind for kind in heads if isinstance(kind, Foreign)]

    def _is_enum(self, cls: Class) -> bool:
        return any("Enum" in base.dotted for base in self.foreign_bases(cls))


def owner_of(scope: Scope | None) -> Class | None:
    """Return the class that a class scope, or the scope of a method, belongs to."""
    while scope is not None and not isinstance(scope.node, ast.ClassDef | ast.Module):
        scope = scope.parent if isinstance(scope.parent and scope.parent.node, ast.ClassDef) else None
    if scope is None or not isinstance(scope.node, ast.ClassDef) or scope.parent is None:
        return None
    return Class(scope.node, scope.parent)


@functools.cache
def _self_assignments(cls: ast.ClassDef) -> dict[str, list[tuple[ast.FunctionDef, ast.expr, ast.expr | None]]]:
    """Return where the methods of a class assign to `self.name`: method, value, annotation."""
    found: dict[str, list[tuple[ast.FunctionDef, ast.expr, ast.expr | None]]] = {}
    for method in cls.body:
        for node in ast.walk(method) if isinstance(method, ast.FunctionDef) else ():
            targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
            annotation = node.annotation if isinstance(node, ast.AnnAssign) else None
            value = getattr(node, "value", None) or annotation
            for target in targets if isinstance(node, ast.Assign | ast.AnnAssign) else []:
                if isinstance(target, ast.Attribute) and ast.unparse(target.value) == "self" and value is not None:
                    assert isinstance(method, ast.FunctionDef)
                    found.setdefault(target.attr, []).append((method, value, annotation))
    return found
