"""The expressions of the walk: every name, attribute and call has to be known for harmless.

A reference counts as a call: whoever is handed a function may call it.
"""

import ast
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import replace

from tests.guard import seam
from tests.guard.findings import Finding, Summary, merged, reached_from
from tests.guard.foreign import ALWAYS_THERE, HARMLESS, may_mention, may_use
from tests.guard.infer import Inference
from tests.guard.place import Place, frame_of, keeps_seam
from tests.guard.source import Package
from tests.guard.values import UNKNOWN, Bound, Class, Foreign, Function, Instance, Kind, Ours, Super, Thing, Types

_NEVER_BUILT = {"isinstance", "issubclass", "cast"}
_COMPREHENSIONS = ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp


class Expressions(ABC):
    """Visits expressions in the order of their evaluation, until one of them has admitted the invocation."""

    def __init__(self, package: Package) -> None:
        self.package = package
        self.inference = Inference(package)
        self.dispatched = False
        """Whether the walk has come to where the dispatcher takes over."""
        self._reached = False
        self._sink: list[Finding] = []
        self._methods = _by_name(package)

    @abstractmethod
    def function(self, function: Function, *, in_seam: bool) -> Summary:
        """Walk a function's body."""

    @abstractmethod
    def construction(self, cls: Class, *, in_seam: bool) -> Summary:
        """Walk what building (and later using) an instance runs."""

    @abstractmethod
    def module(self, name: str) -> list[Finding]:
        """Walk the top level of a module that is imported."""

    # Findings

    def report(self, what: str, node: ast.AST, place: Place) -> None:
        """Record a violation."""
        frame = frame_of(node, place)
        self._sink.append(Finding(what, (frame,), frozenset({frame})))

    def adopt(self, findings: Iterable[Finding], node: ast.AST, place: Place) -> None:
        """Record the violations that are reached from here."""
        frame = frame_of(node, place)
        self._sink += [reached_from(frame, found) for found in findings]

    def collected(self, walk: Callable[[], object]) -> list[Finding]:
        """Return the violations that a part of the walk records."""
        outer, self._sink = self._sink, []
        try:
            walk()
            return merged(self._sink)
        finally:
            self._sink = outer

    # Expressions: each returns whether the invocation is admitted once it has been evaluated

    def expression(self, node: ast.AST | None, place: Place) -> bool:
        """Visit an expression."""
        if node is None:
            return False
        handler = getattr(self, f"_on_{type(node).__name__.lower()}", None)
        return bool(handler(node, place)) if handler else self._parts(ast.iter_child_nodes(node), place)

    def _parts(self, nodes: Iterable[ast.AST], place: Place) -> bool:
        return any(self.expression(node, place) for node in nodes)

    def _on_boolop(self, node: ast.BoolOp, place: Place) -> bool:
        first, *others = node.values
        if self.expression(first, place):
            return True
        for other in others:
            self.expression(other, place)
        return False

    def _on_ifexp(self, node: ast.IfExp, place: Place) -> bool:
        if self.expression(node.test, place):
            return True
        chosen, other = self.expression(node.body, place), self.expression(node.orelse, place)
        return chosen and other

    def _on_lambda(self, node: ast.Lambda, place: Place) -> bool:
        self.arguments(node.args, place)
        return self._mention(Function(node, place.scope), node, place)

    def _collection(self, node: _COMPREHENSIONS, place: Place) -> bool:
        first = node.generators[0]
        admitted = self.expression(first.iter, place)
        if not admitted:
            self._parts([*first.ifs, *node.generators[1:]], place)
            results = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
            self._parts(results, place)
        return admitted

    _on_listcomp = _on_setcomp = _on_dictcomp = _on_generatorexp = _collection

    def _on_constant(self, _node: ast.Constant, _place: Place) -> bool:
        return False

    def _on_name(self, node: ast.Name, place: Place) -> bool:
        if isinstance(node.ctx, ast.Load):
            self._mentions(self.inference.of(node, place.scope), node, place)
        return False

    def _on_attribute(self, node: ast.Attribute, place: Place) -> bool:
        owners = self.inference.owners(node, place.scope)
        named = bool(owners) and all(isinstance(kind, Foreign | Ours) for kind in owners)
        if not named and self.expression(node.value, replace(place, building=False, typing=False)):
            return True
        if isinstance(node.ctx, ast.Load) and not (place.acts and ast.unparse(node) in place.acts):
            for owner in owners or UNKNOWN:
                self._use(owner, node, place)
        if not isinstance(node.ctx, ast.Load) and any(isinstance(kind, Foreign | Ours | Class) for kind in owners):
            self.report(f"replaces {ast.unparse(node)}", node, place)
        return False

    def _use(self, owner: Kind, node: ast.Attribute, place: Place) -> None:
        """Judge the attribute of what the expression before it may be."""
        match owner:
            case Foreign() | Ours():
                kinds = self.inference.attribute(owner, node.attr)
                if isinstance(owner, Ours) and node.attr not in owner.module.scope.bindings and kinds == UNKNOWN:
                    self.report(f"unknown attribute {ast.unparse(node)}", node, place)
                self._mentions(kinds, node, place)
            case Thing(type_):
                if not may_use(type_, node.attr):
                    self.report(f"{ast.unparse(node)} of a {type_}", node, place)
            case Instance(cls) | Super(cls):
                self._use_member(owner, cls, node, place)
            case Class():
                self._use_member(owner, owner, node, place)
            case Function():
                self._harmless(node, place)
            case _ if self._harmless(node, place):
                for method in self._methods.get(node.attr, []):
                    self._mention(method, node, place)

    def _use_member(self, owner: Kind, cls: Class, node: ast.Attribute, place: Place) -> None:
        found = self.inference.member(cls, node.attr, skip_own=isinstance(owner, Super))
        if isinstance(found, Function):
            for method in {found, *self._overriding(cls, node.attr)}:
                self._mention(method, node, place)
        elif found is None:
            bases = {base.dotted for base in self.inference.foreign_bases(cls)} - {"typing.Protocol"}
            if not any(may_use(base, node.attr) for base in bases) and node.attr not in ALWAYS_THERE:
                self.report(f"unknown attribute {ast.unparse(node)}", node, place)

    def _overriding(self, cls: Class, name: str) -> list[Function]:
        """Return the methods that an instance of a subclass, or of any class that fits a protocol, would run."""
        protocol = any(base.dotted == "typing.Protocol" for base in self.inference.foreign_bases(cls))
        return [
            method
            for method in self._methods.get(name, [])
            if method.owner and (protocol or cls in self.inference.ancestry(method.owner))
        ]

    def _harmless(self, node: ast.Attribute, place: Place) -> bool:
        if node.attr not in HARMLESS:
            self.report(f"unknown attribute {ast.unparse(node)}", node, place)
        return node.attr in HARMLESS

    def _on_subscript(self, node: ast.Subscript, place: Place) -> bool:
        """Assigning to an item changes what it belongs to; the environment belongs to the process."""
        kinds = self.inference.of(node.value, place.scope)
        foreign = any(isinstance(kind, Thing) and kind.type == "collections.abc.Mapping" for kind in kinds)
        if not isinstance(node.ctx, ast.Load) and foreign:
            self.report(f"changes {ast.unparse(node.value)}", node, place)
        return self._parts((node.value, node.slice), place)

    def _mentions(self, kinds: Types, node: ast.AST, place: Place) -> None:
        for kind in kinds:
            self._mention(kind, node, place)

    def _mention(self, kind: Kind, node: ast.AST, place: Place) -> bool:
        """Judge what a name stands for as if it were called."""
        match kind:
            case Foreign(dotted):
                if not may_mention(dotted) and not place.typing:
                    self.report(dotted, node, place)
            case Bound(owner, name):
                if not may_use(owner.type, name):
                    self.report(f"{owner.type}.{name}", node, place)
            case Function():
                inside = keeps_seam(kind.qualname, place)
                return self._adopted(self.function(kind, in_seam=inside), node, place)
            case Class() if place.building:
                inside = keeps_seam(f"{kind.qualname}.__init__", place)
                self._adopted(self.construction(kind, in_seam=inside), node, place)
        return False

    def _adopted(self, summary: Summary, node: ast.AST, place: Place) -> bool:
        self.adopt(summary.findings, node, place)
        self._reached |= summary.reaches
        return summary.admits

    def _on_call(self, node: ast.Call, place: Place) -> bool:
        permitted = bool(place.acts) and seam.is_act(ast.unparse(node), place.acts)
        kinds = self.inference.of(node.func, place.scope)
        if permitted and not any(isinstance(kind, Function | Class) for kind in kinds):
            return False
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        if name in {"getattr", "setattr", "hasattr", "delattr"} and self._by_name(node, place):
            return False
        receiver = node.func.value if isinstance(node.func, ast.Attribute) else None
        place = replace(place, building=True, typing=False)
        inner = replace(place, building=False, typing=True) if name in _NEVER_BUILT else place
        named = self.inference.of(receiver, place.scope) if receiver is not None else UNKNOWN
        if not all(isinstance(kind, Foreign | Ours) for kind in named) and self.expression(
            receiver, replace(place, building=False)
        ):
            return True
        given = [keyword.value for keyword in node.keywords if not _completes(keyword, kinds)]
        if not self._registers(node, place) and self._parts([*node.args, *given], inner):
            return True
        self.expression(node.func, replace(place, permitted=permitted))
        return self._admitting(node, place)

    def _admitting(self, node: ast.Call, place: Place) -> bool:
        kinds = self.inference.of(node.func, place.scope)
        if kinds == UNKNOWN and not isinstance(node.func, ast.Attribute) and not self._registers(node, place):
            self.report(f"unknown call {ast.unparse(node.func)}", node, place)
        if any(isinstance(kind, Thing) and kind.type == seam.DISPATCHER for kind in kinds):
            self.dispatched = True
            return True
        functions = [kind for kind in kinds if isinstance(kind, Function)]
        admits = [self.function(found, in_seam=place.in_seam).admits for found in functions]
        return bool(admits) and len(admits) == len(kinds) and all(admits)

    def _registers(self, node: ast.Call, place: Place) -> bool:
        """Recognise `app.command(...)(callback)`: what the dispatcher is given is walked as a command of its own."""
        maker = node.func.func if isinstance(node.func, ast.Call) else None
        kinds = self.inference.of(maker, place.scope) if maker else UNKNOWN
        return all(isinstance(kind, Bound) and kind.thing.type == seam.DISPATCHER for kind in kinds)

    def _by_name(self, node: ast.Call, place: Place) -> bool:
        """Treat `getattr(x, "name")` as `x.name`; returns whether the name is a constant."""
        if len(node.args) < 2 or not isinstance(node.args[1], ast.Constant):
            return False
        context = ast.Store() if ast.unparse(node.func) == "setattr" else ast.Load()
        spelled = ast.Attribute(node.args[0], str(node.args[1].value), context)
        self.expression(ast.copy_location(spelled, node), place)
        self._parts(node.args[2:], place)
        return True

    def arguments(self, arguments: ast.arguments, place: Place) -> bool:
        """Visit what a definition evaluates: the defaults and, for functions, the annotations."""
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, arguments.vararg, arguments.kwarg]
        for parameter in every:
            self.annotation(parameter.annotation if parameter else None, place)
        return self._parts([*arguments.defaults, *filter(None, arguments.kw_defaults)], place)

    def annotation(self, node: ast.expr | None, place: Place) -> None:
        """Visit an annotation: it is evaluated, but the classes it names are not built."""
        self.expression(node, replace(place, building=False, typing=True))


def _completes(keyword: ast.keyword, called: Types) -> bool:
    """Recognise what completes words for a shell: the dispatcher calls it in a process that runs no command."""
    option = all(isinstance(kind, Foreign) and kind.dotted in {"typer.Option", "typer.Argument"} for kind in called)
    return option and keyword.arg == "autocompletion" and isinstance(keyword.value, ast.Name | ast.Attribute)


def _by_name(package: Package) -> dict[str, list[Function]]:
    found: dict[str, list[Function]] = {}
    for module in package.modules.values():
        for node in module.tree.body:
            if isinstance(node, ast.ClassDef):
                cls = Class(node, module.scope)
                for method in node.body:
                    if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef):
                        found.setdefault(method.name, []).append(Function(method, cls.scope, cls))
    return found
