"""Where code is planted: the places before admission that the walk over the product has come to."""

import ast
import random
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tests.guard.kinds import Kind
from tests.guard.place import Place
from tests.guard.values import Instance
from tests.guard.walk import Walk

Edits = dict[str, list["Edit"]]


@dataclass(frozen=True)
class Edit:
    """Replaces the text from one position of a file to another; both are the same for an insertion."""

    start: tuple[int, int]
    """Line from 1, column from 0."""
    end: tuple[int, int]
    """The first character that stays."""
    lines: tuple[str, ...]
    """The new text."""


@dataclass(frozen=True)
class Plant:
    """Code that is planted: what, how, and by which changes of which files."""

    number: int
    """Marks its lines."""
    kind: str
    """Key of the table of kinds."""
    way: str
    """Name of the function here that planted it."""
    edits: Edits
    """By file, relative to the directory that holds the package."""

    @property
    def mark(self) -> str:
        return f"# planted {self.number}."


class Places:
    """Finds places of every sort, by a random generator of the caller's."""

    def __init__(self, walk: Walk, sources: Path) -> None:
        self._walk = walk
        self._sources = sources
        self._texts: dict[str, list[str]] = {}
        found = list(walk.statements.items())
        functions = [(node, place) for node, place in found if isinstance(place.scope.node, ast.FunctionDef)]
        self.statements = [(node, place) for node, place in functions if self._free_standing(node, place)]
        self.top_level = [
            (node, place)
            for node, place in found
            if isinstance(place.scope.node, ast.Module) and self._free_standing(node, place) and node.col_offset == 0
        ]

    def text(self, file: str) -> list[str]:
        if file not in self._texts:
            self._texts[file] = (self._sources / file).read_text("utf-8").splitlines()
        return self._texts[file]

    def _free_standing(self, node: ast.stmt, place: Place) -> bool:
        """Say whether a line can be put before the statement: not for `elif`, docstrings and `__future__`."""
        before = self.text(place.scope.module.file)[first_line(node) - 1]
        docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        return not docstring and not before.lstrip().startswith("elif ") and not before[: node.col_offset].strip()

    def certain(self, functions: frozenset[str]) -> list[tuple[ast.stmt, Place]]:
        """Return the first statements of functions (`module:name`): they run whenever the function does."""
        found = []
        for node, place in self.statements:
            body = getattr(place.scope.node, "body", [])
            code = [s for s in body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
            if code and code[0] is node and f"{place.scope.module.name}:{place.scope.qualname}" in functions:
                found.append((node, place))
        return found

    def suffered(self, kind: Kind, mark: str, site: tuple[ast.stmt, Place]) -> Edits:
        """Plant at a given place code that may fail without ending the process."""
        body = (f"    {line}  {mark}" for line in kind.statement)
        return {site[1].scope.module.file: [self._insert(site[0], ["try:", *body, "except Exception:", "    pass"])]}

    # Ways to plant; each returns the edits

    def statement(self, kind: Kind, mark: str, dice: random.Random) -> Edits:
        return self._before(dice, [f"{line}  {mark}" for line in kind.statement])

    def branch(self, kind: Kind, mark: str, dice: random.Random) -> Edits:
        return self._before(dice, ["if len('x') == 1:", *(f"    {line}  {mark}" for line in kind.statement)])

    def cleanup(self, kind: Kind, mark: str, dice: random.Random) -> Edits:
        lines = ["try:", "    len('x')", "finally:", *(f"    {line}  {mark}" for line in kind.statement)]
        return self._before(dice, lines)

    def comprehension(self, kind: Kind, mark: str, dice: random.Random) -> Edits:
        return self._before(dice, [*_imports(kind, mark), f"[{kind.expression} for _ in (1,)]  {mark}"])

    def called_lambda(self, kind: Kind, mark: str, dice: random.Random) -> Edits:
        return self._before(dice, [*_imports(kind, mark), f"(lambda: {kind.expression})()  {mark}"])

    def formatted(self, kind: Kind, mark: str, dice: random.Random) -> Edits:
        return self._before(dice, [*_imports(kind, mark), f'planted_text = f"{{({kind.expression})}}"  {mark}'])

    def local_function(self, kind: Kind, mark: str, dice: random.Random) -> Edits:
        lines = ["def planted_here() -> None:", *(f"    {line}  {mark}" for line in kind.statement), "planted_here()"]
        return self._before(dice, lines)

    def local_class(self, kind: Kind, mark: str, dice: random.Random) -> Edits:
        body = (f"        {line}  {mark}" for line in kind.statement)
        return self._before(dice, ["class PlantedHere:", "    def __init__(self) -> None:", *body, "PlantedHere()"])

    def default_argument(self, kind: Kind, mark: str, dice: random.Random) -> Edits:
        line = f"def planted_default(value: object = {kind.expression}) -> None: ...  {mark}"
        return self._before(dice, [*_imports(kind, mark), line])

    def helper(self, kind: Kind, mark: str, dice: random.Random) -> Edits:
        node, place = dice.choice(self.statements)
        number = mark.rsplit(maxsplit=1)[-1].strip(".")
        file = place.scope.module.file
        helper = [f"def planted_{number}() -> None:", *(f"    {line}  {mark}" for line in kind.statement), ""]
        return {file: [self._insert(node, [f"planted_{number}()"]), self._append(file, helper)]}

    def two_deep(self, kind: Kind, mark: str, dice: random.Random) -> Edits:
        node, place = dice.choice(self.statements)
        number = mark.rsplit(maxsplit=1)[-1].strip(".")
        call = [f"from obo_bench.core.planted_{number} import first", "first()"]
        body = [f"    {line}  {mark}" for line in kind.statement]
        new = ["def first() -> None:", "    second()", "", "", "def second() -> None:", *body, ""]
        edit = Edit((1, 0), (1, 0), tuple(new))
        return {place.scope.module.file: [self._insert(node, call)], f"obo_bench/core/planted_{number}.py": [edit]}

    def argument(self, kind: Kind, mark: str, dice: random.Random) -> Edits:
        calls = [
            (call, place)
            for node, place in self.statements
            for call in ast.walk(node)
            if isinstance(call, ast.Call) and ast.unparse(call.func) in {"AdmissionRequest", "benchmark_session"}
        ]
        call, place = dice.choice(calls)
        value = dice.choice([*call.args, *(keyword.value for keyword in call.keywords)])
        assert value.end_lineno is not None
        assert value.end_col_offset is not None
        start, end = (value.lineno, value.col_offset), (value.end_lineno, value.end_col_offset)
        opening, closing = Edit(start, start, ("(", f"{kind.expression},  {mark}", "")), Edit(end, end, (")[1]",))
        file = place.scope.module.file
        return {file: [opening, closing, *self._at_top(file, kind, mark)]}

    def top(self, kind: Kind, mark: str, dice: random.Random) -> Edits:
        node, place = dice.choice(self.top_level)
        return {place.scope.module.file: [self._insert(node, [f"{line}  {mark}" for line in kind.statement])]}

    def decorator(self, kind: Kind, mark: str, dice: random.Random) -> Edits:
        node, place = dice.choice([found for found in self.top_level if isinstance(found[0], ast.FunctionDef)])
        number = mark.rsplit(maxsplit=1)[-1].strip(".")
        body = (f"    {line}  {mark}" for line in kind.statement)
        lines = [f"def planted_{number}(function):", *body, "    return function", f"@planted_{number}"]
        return {place.scope.module.file: [self._insert(node, lines)]}

    def default_factory(self, kind: Kind, mark: str, dice: random.Random) -> Edits:
        node, place = dice.choice([found for found in self.top_level if self._is_dataclass(*found)])
        assert isinstance(node, ast.ClassDef)
        file, number = place.scope.module.file, mark.rsplit(maxsplit=1)[-1].strip(".")
        line = f"    planted_{number}: object = field(default_factory=lambda: {kind.expression})  {mark}"
        return {file: [self._after(node, [line]), *self._at_top(file, kind, mark)]}

    def property_read(self, kind: Kind, mark: str, dice: random.Random) -> Edits:
        sites = [(node, place, found) for node, place in self.statements for found in self._parameters(place)]
        node, place, (parameter, cls) = dice.choice(sites)
        number = mark.rsplit(maxsplit=1)[-1].strip(".")
        getter = ["    @property", f"    def planted_{number}(self) -> object:"]
        getter += [*(f"        {line}  {mark}" for line in kind.statement), "        return None"]
        edits: Edits = {place.scope.module.file: [self._insert(node, [f"{parameter}.planted_{number}"])]}
        edits.setdefault(cls.cls.outer.module.file, []).append(self._after(cls.cls.node, getter))
        return edits

    # Helpers

    def _before(self, dice: random.Random, lines: list[str]) -> Edits:
        node, place = dice.choice(self.statements)
        return {place.scope.module.file: [self._insert(node, lines)]}

    def _insert(self, node: ast.stmt, lines: list[str]) -> Edit:
        indent = " " * node.col_offset
        at = (first_line(node), 0)
        return Edit(at, at, (*(indent + line for line in lines), ""))

    def _after(self, node: ast.ClassDef, lines: list[str]) -> Edit:
        assert node.end_lineno is not None
        at = (node.end_lineno + 1, 0)
        return Edit(at, at, (*lines, ""))

    def _append(self, file: str, lines: list[str]) -> Edit:
        at = (len(self.text(file)) + 1, 0)
        return Edit(at, at, ("", *lines))

    def _at_top(self, file: str, kind: Kind, mark: str) -> list[Edit]:
        """Import at the top what an expression needs, before the first import there."""
        tree = ast.parse("\n".join(self.text(file)))
        first = next(node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom))
        return [self._insert(first, _imports(kind, mark))] if kind.imports else []

    def _is_dataclass(self, node: ast.stmt, place: Place) -> bool:
        decorated = isinstance(node, ast.ClassDef) and any("dataclass" in ast.unparse(d) for d in node.decorator_list)
        return decorated and "field" in place.scope.module.scope.bindings and self._walk.is_built(node)

    def _parameters(self, place: Place) -> list[tuple[str, Instance]]:
        node = place.scope.node
        assert isinstance(node, ast.FunctionDef)
        found = []
        for parameter in node.args.args:
            kinds = self._walk.inference.name(parameter.arg, place.scope)
            if len(kinds) == 1 and isinstance(kind := next(iter(kinds)), Instance) and not kind.cls.node.bases:
                found.append((parameter.arg, kind))
        return found


WAYS: dict[str, Callable[[Places, Kind, str, random.Random], Edits]] = {
    "statement": Places.statement,
    "branch": Places.branch,
    "finally": Places.cleanup,
    "comprehension": Places.comprehension,
    "lambda": Places.called_lambda,
    "f-string": Places.formatted,
    "local function": Places.local_function,
    "local class": Places.local_class,
    "default argument": Places.default_argument,
    "helper, same module": Places.helper,
    "two helpers deep": Places.two_deep,
    "admission's argument": Places.argument,
    "module top level": Places.top,
    "decorator": Places.decorator,
    "default factory": Places.default_factory,
    "property": Places.property_read,
}
"""How code gets in."""


def first_line(node: ast.stmt) -> int:
    """Return the statement's first line, decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(found.lineno for found in decorators)])


def _imports(kind: Kind, mark: str) -> list[str]:
    return [f"{kind.imports}  {mark}"] if kind.imports else []
