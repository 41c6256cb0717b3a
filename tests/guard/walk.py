"""Walk everything that runs before the manifest exists, in the order in which it runs.

Nothing is taken for harmless because the guard does not know it.
"""

import ast
from collections.abc import Sequence
from dataclasses import replace

from tests.guard import seam
from tests.guard.expressions import Expressions
from tests.guard.findings import Finding, Summary
from tests.guard.foreign import IMPORTABLE, may_mention
from tests.guard.place import Place
from tests.guard.source import Module, Package
from tests.guard.values import Class, Function

_CALLED_BY_BASES = {"model_post_init", "_missing_", "_generate_next_value_"}
"""What pydantic and enum call by themselves."""
_ON_DEMAND = {
    *("property", "cached_property", "functools.cached_property", "classmethod", "staticmethod"),
    *("contextmanager", "contextlib.contextmanager", "abstractmethod"),
}
"""Decorators of methods that run only when they are asked for."""


class Walk(Expressions):
    """One walk over one package; each function, class and module is entered once."""

    def __init__(self, package: Package) -> None:
        super().__init__(package)
        self.statements: dict[ast.stmt, Place] = {}
        """Every statement that was walked: what runs before admission."""
        self._functions: dict[tuple[ast.AST, bool], Summary] = {}
        self._classes: dict[tuple[ast.AST, bool], Summary] = {}
        self._modules: dict[str, list[Finding]] = {}
        self._returned_early = False

    # What is entered

    def module(self, name: str) -> list[Finding]:
        parts = name.split(".")
        found: list[Finding] = []
        for length in range(1, len(parts) + 1):
            dotted = ".".join(parts[:length])
            module = self.package.modules.get(dotted)
            if module is not None and dotted not in self._modules:
                self._modules[dotted] = []
                self._modules[dotted] += self._top_level(module)
            found += self._modules.get(dotted, [])
        return found

    def _top_level(self, module: Module) -> list[Finding]:
        return self.collected(lambda: self.block(module.tree.body, Place(module.scope)))

    def function(self, function: Function, *, in_seam: bool) -> Summary:
        inside = in_seam or function.qualname in seam.ENTRANCES
        key = (function.node, inside)
        if key not in self._functions:
            summary = self._functions[key] = Summary()
            acts = seam.FIRST_ACTS.get(function.qualname, frozenset()) if inside else frozenset()
            place = Place(function.scope, acts | seam.PROBES.get(function.qualname, frozenset()), inside)
            before = self._returned_early, self._reached
            self._returned_early = self._reached = False
            summary.findings += self.collected(lambda: self._body(function, place, summary))
            self._returned_early, self._reached = before
        return self._functions[key]

    def _body(self, function: Function, place: Place, summary: Summary) -> None:
        body = function.node.body
        done = self.block(body, place) if isinstance(body, list) else self.expression(body, place)
        summary.admits = (done and not self._returned_early) or function.qualname in seam.RECORDED
        summary.reaches = self._reached or summary.admits

    def construction(self, cls: Class, *, in_seam: bool) -> Summary:
        key = (cls.node, in_seam)
        if key not in self._classes:
            summary = self._classes[key] = Summary()
            summary.findings += self.collected(lambda: self._build(cls, in_seam=in_seam))
        return self._classes[key]

    def is_built(self, node: ast.AST) -> bool:
        """Say whether instances of a class were built before admission."""
        return any(built is node for built, _ in self._classes)

    def _build(self, cls: Class, *, in_seam: bool) -> None:
        for base in self.inference.foreign_bases(cls):
            if not may_mention(base.dotted):
                self.report(f"builds a {base.dotted}", cls.node, Place(cls.outer))
        for owner in self.inference.ancestry(cls):
            for method in owner.node.body:
                function = Function(method, owner.scope, owner) if isinstance(method, ast.FunctionDef) else None
                if function is not None and self._runs_by_itself(function):
                    self._adopted(self.function(function, in_seam=in_seam), method, Place(owner.scope))

    def _runs_by_itself(self, method: Function) -> bool:
        """Say whether a method runs without being named: by the language, by a base, or by a foreign decorator.

        What a decorator of ours does with it is seen where that is walked.
        """
        if method.name.startswith("__") or method.name in _CALLED_BY_BASES:
            return True
        decorators = getattr(method.node, "decorator_list", [])
        makers = [found.func if isinstance(found, ast.Call) else found for found in decorators]
        foreign = [found for found in makers if not self._is_ours(found, method)]
        return any(ast.unparse(found) not in _ON_DEMAND and not _is_setter(found) for found in foreign)

    def _is_ours(self, decorator: ast.expr, method: Function) -> bool:
        return any(isinstance(kind, Function) for kind in self.inference.of(decorator, method.outer))

    # Statements: each returns whether nothing unadmitted goes on after it

    def block(self, statements: Sequence[ast.stmt], place: Place) -> bool:
        """Walk statements until the invocation is admitted or the block is left."""
        return any(self._statement(statement, place) for statement in statements)

    def _statement(self, node: ast.stmt, place: Place) -> bool:
        self.statements.setdefault(node, place)
        handler = getattr(self, f"_on_{type(node).__name__.lower()}", None)
        return bool(handler(node, place)) if handler else self._parts(ast.iter_child_nodes(node), place)

    def _on_return(self, node: ast.Return, place: Place) -> bool:
        admitted = self.expression(node.value, place)
        self._returned_early |= not admitted
        return True

    def _on_raise(self, node: ast.Raise, place: Place) -> bool:
        self._parts(filter(None, (node.exc, node.cause)), place)
        return True

    def _leave(self, _node: ast.stmt, _place: Place) -> bool:
        return True

    _on_break = _on_continue = _leave

    def _on_annassign(self, node: ast.AnnAssign, place: Place) -> bool:
        if not isinstance(place.scope.node, ast.FunctionDef):
            self.annotation(node.annotation, place)
        return self._parts(filter(None, (node.value, node.target)), place)

    def _on_assign(self, node: ast.Assign, place: Place) -> bool:
        return self._parts([node.value, *node.targets], place)

    def _on_if(self, node: ast.If, place: Place) -> bool:
        if ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}:
            return self.block(node.orelse, place)
        if self.expression(node.test, place):
            return True
        chosen, other = self.block(node.body, place), self.block(node.orelse, place)
        return chosen and (other or self._nothing_recorded(node.test, place))

    def _nothing_recorded(self, test: ast.expr, place: Place) -> bool:
        """Recognise `if manifest is None` for what `ending.concluded()` gave: what follows comes after admission."""
        match test:
            case ast.Compare(ast.Name(name), [ast.Is()], [ast.Constant(None)]):
                bindings = place.scope.bindings.get(name, [])
                callees = [
                    kind
                    for binding in bindings
                    if isinstance(binding.node, ast.Call)
                    for kind in self.inference.of(binding.node.func, place.scope)
                ]
                asked = [isinstance(kind, Function) and kind.qualname == seam.CONCLUDED for kind in callees]
                return len(asked) == len(bindings) and all(asked) and bool(asked)
        return False

    def _loop(self, node: ast.For | ast.While, place: Place) -> bool:
        if self.expression(node.iter if isinstance(node, ast.For) else node.test, place):
            return True
        if isinstance(node, ast.For):
            self.expression(node.target, place)
        self.block(node.body, place)
        self.block(node.orelse, place)
        return False

    _on_for = _on_while = _loop

    def _on_try(self, node: ast.Try, place: Place) -> bool:
        done = self.block([*node.body, *node.orelse], place)
        if self.dispatched:
            return True
        for handler in node.handlers:
            self.annotation(handler.type, place)
            done = self.block(handler.body, place) and done
        return self.block(node.finalbody, place) or done

    def _on_with(self, node: ast.With, place: Place) -> bool:
        for item in node.items:
            if self._parts(filter(None, (item.context_expr, item.optional_vars)), place):
                return True
        swallows = any("suppress" in ast.unparse(item.context_expr) for item in node.items)
        return self.block(node.body, place) and not swallows

    def _on_match(self, node: ast.Match, place: Place) -> bool:
        if self.expression(node.subject, place):
            return True
        for case in node.cases:
            self._parts(filter(None, (case.pattern, case.guard)), replace(place, building=False))
            self.block(case.body, place)
        return False

    # Definitions and imports

    def _on_functiondef(self, node: ast.FunctionDef, place: Place) -> bool:
        self._parts(node.decorator_list, place)
        self.arguments(node.args, place)
        self.annotation(node.returns, place)
        return False

    _on_asyncfunctiondef = _on_functiondef

    def _on_classdef(self, node: ast.ClassDef, place: Place) -> bool:
        cls = Class(node, place.scope)
        self._parts(node.decorator_list, place)
        for base in node.bases:
            self.annotation(base, place)
        self._parts([keyword.value for keyword in node.keywords], place)
        self._inherited_hooks(cls, place)
        self.block(node.body, replace(place, scope=cls.scope))
        if any("Enum" in base.dotted for base in self.inference.foreign_bases(cls)):
            self._mention(cls, node, place)
        return False

    def _inherited_hooks(self, cls: Class, place: Place) -> None:
        """Walk what a base runs when a class is derived from it."""
        for base in self.inference.ancestry(cls)[1:]:
            hook = self.inference.member(base, "__init_subclass__")
            if isinstance(hook, Function):
                self._mention(hook, cls.node, place)

    def _on_import(self, node: ast.Import, place: Place) -> bool:
        for alias in node.names:
            self._imported(alias.name, node, place)
        return False

    def _on_importfrom(self, node: ast.ImportFrom, place: Place) -> bool:
        module = place.scope.module.absolute(node)
        self._imported(module, node, place)
        own = self.package.modules.get(module)
        for alias in node.names:
            if alias.name == "*":
                self.report(f"import of every name of {module}", node, place)
            elif own is None or alias.name in own.scope.bindings:
                continue
            elif f"{module}.{alias.name}" in self.package.modules:
                self._imported(f"{module}.{alias.name}", node, place)
            else:
                self._looked_up(own, alias.name, node, place)
        return False

    def _looked_up(self, module: Module, name: str, node: ast.AST, place: Place) -> None:
        """A module's own `__getattr__` runs for names it does not define."""
        self.report(f"import of {name}, which {module.name} looks up when it is asked", node, place)

    def _imported(self, dotted: str, node: ast.AST, place: Place) -> None:
        top = dotted.partition(".")[0]
        if top == self.package.name:
            self.adopt(self.module(dotted), node, place)
        elif top not in IMPORTABLE:
            self.report(f"import of {dotted}", node, place)


def _is_setter(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Attribute) and decorator.attr in {"setter", "deleter"}
