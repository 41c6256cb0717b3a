"""Which plan a campaign follows: the file's where it begins, the recorded one where it goes on."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.core.redact import MASK, process_redactor
from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.session import Session
from obo_bench.launch.campaign.checking import examine
from obo_bench.launch.campaign.command_lines import CommandLines
from obo_bench.launch.campaign.options import CampaignOptions, with_defaults
from obo_bench.launch.campaign.plan import Plan
from obo_bench.launch.campaign.plan_file import Problem, parse_plan, read_bytes, refused
from obo_bench.launch.campaign.recalling import never_began
from obo_bench.launch.campaign.record import COPY_NAME, CampaignRecord, read_record
from obo_bench.launch.campaign.resolving import Frame, Step

_FREE = ("allow_dirty_seed", "ouroboros_url")
"""What may be said anew at every resume: a server may have moved, who it is is attested."""


@dataclass(frozen=True)
class Opened:
    """A campaign that can be driven."""

    plan: Plan
    """What it follows."""
    frame: Frame
    """What its steps share."""
    steps: list[Step]
    """Its steps, in their order."""
    record: CampaignRecord
    """What is to be recorded once every gate has let it through."""
    data: bytes | None
    """The file, where its copy is to be replaced."""
    ceiling_usd: float | None
    """What all steps together may cost, in USD."""
    has_begun: bool
    """Whether an earlier invocation was admitted."""
    notes: list[str]
    """What an operator may not expect of it."""


def open_plan(session: Session, options: CampaignOptions, lines: CommandLines) -> Opened:
    """Return the campaign that was asked for.

    Raises PreflightRefused: `campaign_invalid`, `run_not_found` for a resume of what never began,
    `resume_config_mismatch` for a resume with another file or other options.
    """
    known = read_record(session.run_root)
    if options.file is None and known is None:
        raise never_began(session.run_root)
    file, data = _file(session.run_root, options, known)
    plan = parse_plan(file, data)
    ceilings_only = known is not None and _hold_against(session.run_root, known, plan, data)
    shared = _shared(options, known, plan)
    frame = Frame(session.run_root.name, Path(str(shared["runs_root"])), file.parent, shared)
    steps, problems = examine(plan, frame, lines)
    if problems:
        raise refused(file, problems)
    said = options.max_cost_usd if options.max_cost_usd is not None else known.max_cost_usd if known else None
    record = CampaignRecord(
        file=str(file),
        sha256=hashlib.sha256(data).hexdigest(),
        runs_root=str(frame.runs_root),
        shared=shared,
        runtime_version=known.runtime_version if known else None,
        max_cost_usd=said,
    )
    ceiling = said if said is not None else plan.campaign.max_cost_usd
    new = data if known is None or ceilings_only else None
    notes = list(_notes(session.run_root, options, known, plan))
    return Opened(plan, frame, steps, record, new, ceiling, has_begun=known is not None, notes=notes)


def _notes(root: Path, options: CampaignOptions, known: CampaignRecord | None, plan: Plan) -> Iterator[str]:
    if known is None:
        return
    if options.file is None and not Path(known.file).exists():
        yield f"its file {known.file} is gone: the copy {root / COPY_NAME} counts"
    own, said = plan.campaign.max_cost_usd, known.max_cost_usd
    if options.max_cost_usd is None and said is not None and own not in (None, said):
        yield f"its ceiling is the {said:g} USD of an earlier --max-cost-usd, not the file's {own:g}: say it anew"


def _file(root: Path, options: CampaignOptions, known: CampaignRecord | None) -> tuple[Path, bytes]:
    """Return the file as the operator has it now; on a resume the copy stands in for one that is gone."""
    if options.file is not None:
        return options.file, read_bytes(options.file)
    assert known is not None
    file = Path(known.file)
    if not file.parent.is_dir():
        raise refused(file, [Problem("", "", "its directory is gone, in which the steps run: restore it")])
    return file, read_bytes(file if file.exists() else root / COPY_NAME)


def _hold_against(root: Path, known: CampaignRecord, plan: Plan, data: bytes) -> bool:
    """Say whether only ceilings were changed; raises PreflightRefused when anything else was."""
    if hashlib.sha256(data).hexdigest() == known.sha256:
        return False
    before = parse_plan(root / COPY_NAME, read_bytes(root / COPY_NAME))
    if before.without_ceilings() != plan.without_ceilings():
        raise _mismatch(f"its file differs from the copy in {str(root)!r}: {_difference(before, plan)}", known)
    return True


def _difference(before: Plan, now: Plan) -> str:
    if before.campaign != now.campaign and before.without_ceilings().campaign != now.without_ceilings().campaign:
        return "[campaign] is another"
    names, others = [step.id for step in before.steps], [step.id for step in now.steps]
    if names != others:
        return f"its steps were {', '.join(names)}, now they are {', '.join(others)}"
    pairs = zip(before.without_ceilings().steps, now.without_ceilings().steps, strict=True)
    return "changed: " + ", ".join(one.id for one, other in pairs if one != other)


def _shared(options: CampaignOptions, known: CampaignRecord | None, plan: Plan) -> dict[str, Any]:
    """Return what all steps are given; on a resume, what is not said again is as it was recorded."""
    given = options.given()
    if known is None:
        return with_defaults(given, plan.campaign.solve_model)
    for name, value in process_redactor().document(given).items():
        recorded = known.shared.get(name)
        if name not in _FREE and recorded != value:
            raise _mismatch(f"its {name} was {recorded!r}, now it is {value!r}", known)
    shared = {"runs_root": known.runs_root, **known.shared, **given}
    for name, value in shared.items():
        if MASK in str(value):
            raise _mismatch(f"its {name} has a secret in it, which is not recorded: give it again", known)
    return shared


def _mismatch(text: str, known: CampaignRecord) -> PreflightRefused:
    return PreflightRefused(
        "resume_config_mismatch",
        f"the campaign was begun otherwise: {text}",
        evidence={"file": known.file, "sha256": known.sha256, "shared": known.shared},
        remedy="repeat what it was begun with (only max_cost_usd may change), or begin another with its own --run-id",
    )
