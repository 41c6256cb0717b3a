"""submission.yaml: what the record says of the system, and TODO for what it does not.

`submit package` writes the file anew and keeps the author's fields; without one it would quietly claim defaults
(single-agent, closed model, closed scaffold). Source: `_CARRIED` of programbench 1.2.5 and its template.
"""

import json
from pathlib import Path

from obo_bench.core.files import write_text
from obo_bench.core.manifest import RunManifest
from obo_bench.core.reporter import printable

NAME = "submission.yaml"
TODO = "TODO"
"""What the official package writes for a field that its author must fill in."""
_LONGEST = 200


class UnreadableSubmissionYaml(ValueError):
    """A submission.yaml is there, and the official package could not read it."""


def check_submission_yaml(dest: Path) -> None:
    """Raise UnreadableSubmissionYaml when one is there that is no YAML; raises OSError, too."""
    import yaml  # type: ignore[import-untyped]  # a dependency of programbench, which reads the file with it

    path = dest / NAME
    try:
        if path.exists():
            yaml.safe_load(path.read_text("utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise UnreadableSubmissionYaml(f"{path}: {error}") from error


def write_submission_yaml(dest: Path, manifest: RunManifest | None) -> None:
    """Write a first one; one that is there is its author's, who may have filled it in. Raises OSError."""
    path = dest / NAME
    if not path.exists():
        write_text(path, _text(dest.resolve().name, manifest))


def _text(submission_id: str, manifest: RunManifest | None) -> str:
    model = str((manifest.harness.get("solve_model") if manifest is not None else None) or TODO)
    version = manifest.source.version if manifest is not None else None
    fields = {
        "agent": f"Ouroboros {version}" if version else TODO,
        "description_url": "README.md",
        "is_os_model": TODO,
        "is_os_scaffold": TODO,
        "model": model,
        "provider": _provider(model, manifest),
        "type": TODO,
    }
    lines = [
        "schema_version: 1",
        f"submission_id: {_quoted(submission_id)}",
        "submitter:",
        *(f'  {name}: "{value}"' for name, value in {"name": TODO, "contact": TODO, "affiliation": ""}.items()),
        "system:",
        *(f"  {name}: {_quoted(value)}" for name, value in fields.items()),
    ]
    return "\n".join(lines) + "\n"


def _provider(model: str, manifest: RunManifest | None) -> str:
    """`provider::model` names it; `vendor/model` does not say who serves it."""
    prefix, marked, _ = model.partition("::")
    direct = manifest.harness.get("direct_provider") if manifest is not None else None
    return prefix if marked else str(direct or TODO)


def _quoted(text: str) -> str:
    """JSON strings are YAML's double-quoted ones; only printable text is."""
    return json.dumps(printable(text)[:_LONGEST], ensure_ascii=False)
