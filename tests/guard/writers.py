"""Who writes a manifest, and who says how an invocation ended: the seam alone (invariant I3)."""

import ast
from collections.abc import Iterator
from pathlib import Path

from tests.guard.findings import Finding, Frame
from tests.guard.infer import Inference
from tests.guard.source import FunctionNode, Module, Package, Scope
from tests.guard.values import Class, Foreign, Function, Instance

SEAM = frozenset({"core.session", "core.record", "core.ending", "core.manifest", "core.admission"})
"""Modules that hold the manifest's name, store and ending."""

_TERMINAL = {"outcome", "exit_code"}
_RESERVED = {
    "obo_bench.core.record:ManifestStore",
    "obo_bench.core.session:Session.finish",
    "obo_bench.core.ending:describe",
    "obo_bench.core.ending:publish",
}
_PRIVATE = {"_store", "_write", "_conclude", "_claim", "_record", "_finished", "_recorded"}
_WRITERS = {
    *("write_json", "write_text", "write_bytes", "open", "replace", "rename", "unlink", "touch", "symlink_to"),
    *("copy", "copy2", "copyfile", "move", "link", "hardlink_to", "dump", "truncate", "fdopen", "remove"),
}


def foreign_writers(root: Path) -> list[Finding]:
    """Return every place of a package, outside the seam, that writes a manifest or states an ending."""
    package = Package(root)
    inference = Inference(package)
    namers = _namers(package)
    found: list[Finding] = []
    for module in package.modules.values():
        if module.name.removeprefix(f"{package.name}.") not in SEAM:
            check = _Check(module, inference, namers)
            check.visit(module.tree)
            found += check.findings
    return found + list(_requests(package))


def _namers(package: Package) -> frozenset[str]:
    """Return the names that stand for a manifest's path: the constant, and functions and constants built of it."""
    names = {"MANIFEST_NAME"}
    while True:
        more = {name for module in package.modules.values() for name in _built_of(module, frozenset(names))}
        if more <= names:
            return frozenset(names)
        names |= more


def _built_of(module: Module, names: frozenset[str]) -> Iterator[str]:
    for node in ast.walk(module.tree):
        if isinstance(node, ast.FunctionDef) and len(node.body) <= 3:
            returned = [inner.value for inner in ast.walk(node) if isinstance(inner, ast.Return) and inner.value]
            if any(_is_path(value, names) for value in returned):
                yield node.name
    for statement in module.tree.body:
        if isinstance(statement, ast.Assign) and _is_path(statement.value, names):
            yield from (target.id for target in statement.targets if isinstance(target, ast.Name))


def _is_path(node: ast.expr, names: frozenset[str]) -> bool:
    """Say whether an expression is a manifest's path: its name, alone or behind a slash or in a join."""
    if isinstance(node, ast.BinOp):
        return _is_path(node.right, names)
    if isinstance(node, ast.Call):
        return _last_name(node.func) in names or any(_is_path(argument, names) for argument in node.args)
    return _named(node, names)


def _named(node: ast.AST, names: frozenset[str]) -> bool:
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and node.value.endswith("run_manifest.json") and " " not in node.value
    return _last_name(node) in names


def _last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


class _Check(ast.NodeVisitor):
    """Looks at one module outside the seam."""

    def __init__(self, module: Module, inference: Inference, namers: frozenset[str]) -> None:
        self.findings: list[Finding] = []
        self._module = module
        self._inference = inference
        self._namers = namers
        self._scope: Scope = module.scope
        self._tainted: frozenset[str] = namers

    def report(self, what: str, node: ast.AST) -> None:
        self.findings.append(Finding(what, (Frame(self._module.file, getattr(node, "lineno", 1)),)))

    def _inside(self, node: ast.AST, name: str) -> None:
        outer, tainted = self._scope, self._tainted
        self._scope = outer.enter(node, name)
        if isinstance(node, FunctionNode):
            self._tainted |= _tainted(node, tainted)
        self.generic_visit(node)
        self._scope, self._tainted = outer, tainted

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._inside(node, node.name)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._inside(node, node.name)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        self._inside(node, "<lambda>")

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        for alias in node.names:
            if (taken := f"{self._module.absolute(node)}:{alias.name}") in _RESERVED:
                self.report(f"takes what the seam alone may use: {taken}", node)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._asked(node)
        self.generic_visit(node)

    def _asked(self, node: ast.Attribute) -> None:
        if node.attr in {name.rpartition(":")[2].rpartition(".")[2] for name in _RESERVED}:
            self._mentioned(node)
        own = isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}
        if node.attr in _PRIVATE and not own and self._is_a("Session", node.value):
            self.report(f"reaches into the seam: {ast.unparse(node)}", node)
        if isinstance(node.ctx, ast.Store) and node.attr in _TERMINAL and self._states_ending(node):
            self.report(f"states an ending: {ast.unparse(node)}", node)

    def _mentioned(self, node: ast.expr) -> None:
        for kind in self._inference.of(node, self._scope):
            if isinstance(kind, Class | Function) and kind.qualname in _RESERVED:
                self.report(f"uses what the seam alone may use: {kind.qualname}", node)

    def _is_a(self, name: str, node: ast.expr) -> bool:
        kinds = self._inference.of(node, self._scope)
        return any(isinstance(kind, Instance) and kind.cls.node.name == name for kind in kinds)

    def _states_ending(self, node: ast.Attribute) -> bool:
        """Only an object's own field of that name is its own business."""
        return not (isinstance(node.value, ast.Name) and node.value.id == "self")

    def visit_Call(self, node: ast.Call) -> None:
        name = _last_name(node.func)
        handed = [*node.args, *(keyword.value for keyword in node.keywords)]
        receiver = [node.func.value] if isinstance(node.func, ast.Attribute) else []
        named = any(self._is_manifest(value) for value in [*handed, *receiver])
        if name in _WRITERS and named and not self._reads(node):
            self.report(f"writes a manifest: {ast.unparse(node)[:100]}", node)
        if name == "getattr" and len(node.args) > 1 and isinstance(node.args[1], ast.Constant):
            spelled = ast.Attribute(node.args[0], str(node.args[1].value), ast.Load())
            self._asked(ast.copy_location(spelled, node))
        if name == "setattr" and len(node.args) == 3 and _may_name_ending(node.args[1]):
            self.report(f"states an ending: {ast.unparse(node)}", node)
        if name in {"model_copy", "update", "__setattr__"} and self._of_extra(receiver) and _names_ending(node):
            self.report(f"states an ending: {ast.unparse(node)[:100]}", node)
        self.generic_visit(node)

    def _of_extra(self, receiver: list[ast.expr]) -> bool:
        return any(self._is_a("Extra", node) or "extra" in ast.unparse(node) for node in receiver)

    def _is_manifest(self, node: ast.expr) -> bool:
        return _is_path(node, self._tainted)

    def _reads(self, node: ast.Call) -> bool:
        if _last_name(node.func) == "replace" and isinstance(node.func, ast.Attribute):
            return any(kind != Foreign("pathlib.Path") and "str" in str(kind) for kind in self._kinds(node.func.value))
        modes = [a.value for a in [*node.args, *(k.value for k in node.keywords)] if isinstance(a, ast.Constant)]
        reading = all(str(mode) in {"r", "rb", "utf-8"} or str(mode).endswith(".json") for mode in modes)
        return _last_name(node.func) == "open" and reading

    def _kinds(self, node: ast.expr) -> list[object]:
        return [getattr(kind, "type", kind) for kind in self._inference.of(node, self._scope)]


def _tainted(function: ast.AST, names: frozenset[str]) -> frozenset[str]:
    """Return the local names that are assigned a manifest's path."""
    found = set(names)
    for node in ast.walk(function):
        if (
            isinstance(node, ast.Assign | ast.NamedExpr | ast.AnnAssign)
            and node.value
            and _is_path(node.value, frozenset(found))
        ):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return frozenset(found)


def _may_name_ending(node: ast.expr) -> bool:
    if isinstance(node, ast.Constant):
        return node.value in _TERMINAL
    if isinstance(node, ast.JoinedStr) and isinstance(node.values[-1], ast.Constant):
        return any(name.endswith(str(node.values[-1].value)) for name in _TERMINAL)
    return False


def _names_ending(node: ast.Call) -> bool:
    """Say whether a bulk update of a manifest's `extra` names the outcome or the exit status."""
    keys = [key for part in ast.walk(node) if isinstance(part, ast.Dict) for key in part.keys if key is not None]
    constants = {key.value for key in keys if isinstance(key, ast.Constant)} | {k.arg for k in node.keywords}
    return bool(constants & _TERMINAL)


def _requests(package: Package) -> Iterator[Finding]:
    """Check that what the seam confines against is what the command was handed.

    In every request run root, checkout and settings are read off one object, and no request states an ending.
    """
    for module in package.modules.values():
        for node in ast.walk(module.tree):
            if isinstance(node, ast.Call) and _last_name(node.func) == "AdmissionRequest":
                frame = Frame(module.file, node.lineno)
                yield from (Finding(what, (frame,)) for what in _wrong_request(node))


def _wrong_request(node: ast.Call) -> Iterator[str]:
    handed = {keyword.arg: keyword.value for keyword in node.keywords}
    sources = set()
    for name in ("run_root", "repo_dir", "settings_path"):
        value = handed.get(name)
        if not (isinstance(value, ast.Attribute) and value.attr == name and isinstance(value.value, ast.Name)):
            yield f"the request's {name} is not the {name} that the command was handed"
        else:
            sources.add(value.value.id)
    if len(sources) > 1:
        yield f"the request mixes {', '.join(sorted(sources))}"
    extra = handed.get("extra")
    if extra is not None and _TERMINAL & {k.value for k in getattr(extra, "keys", []) if isinstance(k, ast.Constant)}:
        yield "the request states an ending"
