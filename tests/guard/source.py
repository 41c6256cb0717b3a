"""The package as syntax trees: its modules, and what each scope binds. Unchanged text is parsed only once."""

import ast
import functools
from dataclasses import dataclass, field
from pathlib import Path

FunctionNode = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


@dataclass(frozen=True)
class Binding:
    """How a scope gives a name its value."""

    how: str
    """value, element, annotation, enter, error, import, from, def, class, parameter or opaque."""
    node: ast.AST
    """The expression or statement that the value comes from."""
    steps: tuple[int, ...] = ()
    """Positions in the tuples that are unpacked on the way."""
    target: str = ""
    """For imports: the dotted module; `module:name` where a name is taken from it."""


@dataclass(eq=False)
class Scope:
    """A module, class or function body."""

    module: "Module"
    """Where it is written."""
    node: ast.AST
    """Its syntax tree."""
    parent: "Scope | None" = None
    """The scope around it."""
    qualname: str = ""
    """As Python would name it; empty for a module."""
    bindings: dict[str, list[Binding]] = field(default_factory=dict)
    """What its names may be."""
    inner: dict[ast.AST, "Scope"] = field(default_factory=dict)
    """Scopes in it that were asked for."""

    def enter(self, node: ast.AST, name: str) -> "Scope":
        """Return the scope of a function or class that is defined in this one."""
        if node not in self.inner:
            self.inner[node] = _bind(Scope(self.module, node, self, f"{self.qualname}.{name}".lstrip(".")))
        return self.inner[node]


@dataclass(eq=False)
class Module:
    """One file of the package."""

    name: str
    """Dotted, from `obo_bench` on."""
    file: str
    """Relative to the directory that holds the package."""
    tree: ast.Module
    """Its syntax tree."""
    is_package: bool
    """Whether it is an `__init__`."""

    @functools.cached_property
    def scope(self) -> Scope:
        return _bind(Scope(self, self.tree))

    def absolute(self, node: ast.ImportFrom) -> str:
        """Return the dotted module that a `from` import names, relative ones resolved."""
        if not node.level:
            return node.module or ""
        parts = self.name.split(".")
        base = parts[: len(parts) - node.level + (1 if self.is_package else 0)]
        return ".".join([*base, *([node.module] if node.module else [])])


class Package:
    """All modules below a directory named as the package."""

    def __init__(self, root: Path) -> None:
        self.name = root.name
        self.root = root
        files = sorted(root.rglob("*.py"))
        self.modules = {
            module.name: module
            for path in files
            for module in [_module(path.relative_to(root.parent).as_posix(), path.read_text("utf-8"))]
        }


@functools.cache
def _module(file: str, text: str) -> Module:
    name = file.removesuffix(".py").replace("/", ".")
    return Module(name.removesuffix(".__init__"), file, ast.parse(text, file), name.endswith(".__init__"))


def _bind(scope: Scope) -> Scope:
    binder = _Binder(scope)
    node = scope.node
    if isinstance(node, FunctionNode):
        binder.parameters(node.args)
    body = getattr(node, "body", [])
    for statement in body if isinstance(body, list) else [body]:
        binder.visit(statement)
    return scope


class _Binder(ast.NodeVisitor):
    """Collects the bindings of one scope; comprehensions count as part of it, nested functions and classes do not."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def add(self, name: str, binding: Binding) -> None:
        self.scope.bindings.setdefault(name, []).append(binding)

    def parameters(self, arguments: ast.arguments) -> None:
        for parameter in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]:
            self.add(parameter.arg, Binding("parameter", parameter))
        for rest in (arguments.vararg, arguments.kwarg):
            if rest is not None:
                self.add(rest.arg, Binding("rest" if rest is arguments.vararg else "keywords", rest))

    def assign(self, target: ast.expr, how: str, node: ast.AST, steps: tuple[int, ...] = ()) -> None:
        if isinstance(target, ast.Name):
            self.add(target.id, Binding(how, node, steps))
        elif isinstance(target, ast.Starred):
            self.assign(target.value, "opaque", node)
        elif isinstance(target, ast.Tuple | ast.List):
            for position, part in enumerate(target.elts):
                self.assign(part, how, node, (*steps, position))

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.add(node.name, Binding("def", node))

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
        self.add(node.name, Binding("def", node))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.add(node.name, Binding("class", node))

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Its parameters are its own."""

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            bound = alias.asname or alias.name.partition(".")[0]
            self.add(bound, Binding("import", node, target=alias.name if alias.asname else bound))

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            source = f"{self.scope.module.absolute(node)}:{alias.name}"
            self.add(alias.asname or alias.name, Binding("from", node, target=source))

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self.assign(target, "value", node.value)
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.assign(node.target, "value", node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self.assign(node.target, "annotation", node.annotation)
        self.generic_visit(node)

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.assign(node.target, "value", node.value)
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        self.assign(node.target, "element", node.iter)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        self.assign(node.target, "element", node.iter)
        self.generic_visit(node)

    def visit_withitem(self, node: ast.withitem) -> None:
        if node.optional_vars is not None:
            self.assign(node.optional_vars, "enter", node.context_expr)
        self.generic_visit(node)

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.add(node.name, Binding("error", node.type) if node.type else Binding("opaque", node))
        self.generic_visit(node)

    def visit_MatchAs(self, node: ast.MatchAs) -> None:
        if node.name:
            self.add(node.name, Binding("opaque", node))
        self.generic_visit(node)

    def visit_MatchStar(self, node: ast.MatchStar) -> None:
        if node.name:
            self.add(node.name, Binding("opaque", node))
