"""Plant manifest writers and endings in the bodies, after admission, where only the second static check looks."""

import ast
import random
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.guard.places import Edit, Plant, first_line
from tests.guard.planted import Verdict, make_copy, marked_lines
from tests.guard.source import Package
from tests.guard.writers import SEAM, foreign_writers

BODIES: dict[str, tuple[str, ...]] = {
    "store of its own": (
        "from obo_bench.core.record import ManifestStore",
        "ManifestStore(session.run_root, 'run_manifest.json', 'i').write({})",
    ),
    "store, renamed": ("from obo_bench.core import record as r", "r.ManifestStore(session.run_root, 'x', 'i')"),
    "the session's store": ("session._store.write({})",),
    "the session's store, by name": ("getattr(session, '_store').write({})",),
    "write_json, constant": (
        "from obo_bench.core.files import write_json",
        "from obo_bench.core.manifest import MANIFEST_NAME",
        "write_json(session.run_root / MANIFEST_NAME, {})",
    ),
    "write_json, literal": (
        "from obo_bench.core.files import write_json",
        "write_json(session.run_root / 'run_manifest.json', {})",
    ),
    "write_json, through a variable": (
        "from obo_bench.core.files import write_json",
        "target = session.run_root / 'run_manifest.json'",
        "write_json(target, {})",
    ),
    "write_text": ("(session.run_root / 'run_manifest.json').write_text('{}')",),
    "open for writing": ("open(session.run_root / 'run_manifest.json', 'w').write('{}')",),
    "unlink": ("(session.run_root / 'run_manifest.json').unlink()",),
    "rename onto it": ("import os", "os.replace('/tmp/x', session.run_root / 'run_manifest.json')"),
    "outcome assigned": ("session.manifest.extra.outcome = 'completed'",),
    "exit code assigned": ("extra = session.manifest.extra", "extra.exit_code = 0"),
    "session's outcome assigned": ("session.outcome = 'completed'",),
    "outcome by setattr": ("setattr(session.manifest.extra, 'outcome', 'completed')",),
    "outcome by model_copy": (
        "session.manifest.extra = session.manifest.extra.model_copy(update={'outcome': 'completed'})",
    ),
    "finished by the body": ("session.finish(None)",),
    "published by the body": ("from obo_bench.core import ending", "ending.publish(session.run_root, {})"),
    "described by the body": ("from obo_bench.core.ending import describe", "describe(session, None, [])"),
}
"""Kind to statements for a function that has the session at hand."""


def judge_bodies(
    bodies: Mapping[str, tuple[str, ...]], sources: Path, work: Path, seed: int, rounds: int = 2
) -> Iterator[Verdict]:
    """Plant each kind in functions that take a session, chosen by the seed, and yield what the check says."""
    dice = random.Random(seed)
    sites = _sites(sources)
    found = [
        Plant(number, kind, "statement", _edits(dice.choice(sites), bodies[kind], f"# planted {number}."))
        for number, kind in enumerate(kind for _ in range(rounds) for kind in bodies)
    ]
    for start in range(0, len(found), 8):
        group = found[start : start + 8]
        copy = make_copy(sources, work / f"bodies-{start}", group)
        findings = foreign_writers(copy / "obo_bench")
        for plant in group:
            lines = {f"{file}:{number}": text for file, number, text in marked_lines(copy, plant)}
            told = tuple(finding for finding in findings if str(finding.frames[-1]) in lines)
            yield Verdict(plant, told, tuple(f"{place}: {text.strip()}" for place, text in lines.items()))


def _sites(sources: Path) -> list[tuple[str, ast.stmt]]:
    """Return the statements of functions outside the seam that have a parameter `session: Session`."""
    package = Package(sources / "obo_bench")
    found = []
    for module in package.modules.values():
        if module.name.removeprefix("obo_bench.") in SEAM:
            continue
        for node in ast.walk(module.tree):
            if isinstance(node, ast.FunctionDef) and any(
                a.arg == "session" and a.annotation and ast.unparse(a.annotation).strip("'") == "Session"
                for a in node.args.args
            ):
                code = [s for s in node.body if not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))]
                found += [(module.file, statement) for statement in code]
    return found


def _edits(site: tuple[str, ast.stmt], lines: tuple[str, ...], mark: str) -> dict[str, list[Edit]]:
    file, node = site
    at = (first_line(node), 0)
    return {file: [Edit(at, at, (*(f"{' ' * node.col_offset}{line}  {mark}" for line in lines), ""))]}
