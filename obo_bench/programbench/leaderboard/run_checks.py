"""Statements that hold, or not, for the whole run behind a leaderboard directory."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from obo_bench.core.ledger import LEDGER_NAME
from obo_bench.core.ledger_check import ledger_notices
from obo_bench.core.manifest import RunManifest
from obo_bench.programbench.evaluation.load_records import read_load
from obo_bench.programbench.leaderboard.selection import Graded
from obo_bench.programbench.leaderboard.source import RunRecord, value_at

_NO_MANIFEST = "the run's manifest is absent, damaged or of another format"
_LISTED = 10
_WAIVING = ("allow_", "accept_", "waive")
"""How options begin that let something pass."""


@dataclass(frozen=True)
class RunCheck:
    """One statement."""

    name: str
    """Stable short name."""
    statement: str
    """What is stated."""
    objections: Callable[[RunRecord, Sequence[Graded]], list[str]]
    """Returns what speaks against it, or that it is not known; empty where it holds."""
    proof: tuple[str, ...]
    """Files that show it."""


def _ending(record: RunRecord, graded: Sequence[Graded]) -> list[str]:
    del graded
    if record.manifest is None:
        return [_NO_MANIFEST]
    extra = record.manifest.extra
    told = [f"{m.invocation or 'an invocation'} ended as {m.extra.outcome}" for m in record.invocations[:-1]]
    told = [text for text in told if not text.endswith(" completed")]
    if extra.outcome != "completed":
        told.append(f"the run ended as {extra.outcome}, exit status {extra.exit_code}")
    if extra.still_running:
        told.append(f"{len(extra.still_running)} task(s) were left at work on the server")
    return told


def _checkout(record: RunRecord, graded: Sequence[Graded]) -> list[str]:
    del graded
    return _over_invocations(record, _checkout_of)


def _checkout_of(manifest: RunManifest) -> list[str]:
    if not manifest.source.head:
        return ["the commit is not recorded"]
    told = [f"the seed gate objected: {manifest.seed_gate.reason}"] if manifest.seed_gate.reason else []
    if manifest.source.dirty:
        told.append(f"{len(manifest.source.status_entries)} path(s) of the checkout differ from the commit")
    if manifest.source.dirty is None or not (manifest.seed_gate.ok or told):
        told.append("whether the checkout was clean is not known")
    return told


def _server(record: RunRecord, graded: Sequence[Graded]) -> list[str]:
    del graded
    return _over_invocations(record, _server_of)


def _server_of(manifest: RunManifest) -> list[str]:
    attestation = manifest.extra.runtime_attestation or {}
    if attestation.get("ok") is not True:
        return [f"not attested: {attestation.get('reason') or attestation.get('skipped') or 'nothing is recorded'}"]
    told = (
        ["the attestation's objection was waived by OBO_ALLOW_EVOLVED_VOLUME"] if attestation.get("overridden") else []
    )
    if "server_events" not in manifest.extra.model_fields_set:
        told.append("whether the server was restarted is not recorded")
    if manifest.extra.server_events:
        told.append(f"{len(manifest.extra.server_events)} restart(s) or change(s) of the server were seen")
    return told


def _configuration(record: RunRecord, graded: Sequence[Graded]) -> list[str]:
    del graded
    if record.order is None or record.order.admitted is None:
        return ["the configuration that the run was admitted with is not recorded"]
    changed = [f"{change.key} was {change.old!r}, then {change.new!r}" for change in record.order.history]
    return changed[:_LISTED] + ([f"and {len(changed) - _LISTED} more"] if len(changed) > _LISTED else [])


def _waivers(record: RunRecord, graded: Sequence[Graded]) -> list[str]:
    del graded
    return _over_invocations(record, _waivers_of)


def _waivers_of(manifest: RunManifest) -> list[str]:
    if "seed_gate" not in manifest.model_fields_set or "runtime_attestation" not in manifest.extra.model_fields_set:
        return ["the gates and their waivers are not recorded"]
    told = []
    if manifest.seed_gate.allow_dirty_seed:
        used = f"it let {manifest.seed_gate.reason} pass" if manifest.seed_gate.reason else "there was nothing to waive"
        told.append(f"--allow-dirty-seed was given, {used}")
    if value_at(manifest.extra.runtime_attestation, "override_set"):
        used = "" if value_at(manifest.extra.runtime_attestation, "overridden") else "not "
        told.append(f"OBO_ALLOW_EVOLVED_VOLUME was set and {used}used")
    given = [name for name, value in manifest.harness.items() if value and name.startswith(_WAIVING)]
    return told + [f"--{name.replace('_', '-')} was given" for name in given]


def _selection(record: RunRecord, graded: Sequence[Graded]) -> list[str]:
    requested = record.manifest.requested_task_ids if record.manifest is not None else None
    if requested is None:
        return ["what the run was asked for is not recorded"]
    missing = sorted(set(requested) - {one.instance_id for one in graded})
    more = f" and {len(missing) - _LISTED} more" if len(missing) > _LISTED else ""
    told = f"{len(missing)} of {len(requested)} are not here: {', '.join(missing[:_LISTED])}{more}"
    return [told] if missing else []


def _evaluation(record: RunRecord, graded: Sequence[Graded]) -> list[str]:
    del record
    versions = sorted({one.proof.evaluator_version for one in graded})
    return [f"several versions of it: {', '.join(versions)}"] if len(versions) > 1 else []


def _evaluation_load(record: RunRecord, graded: Sequence[Graded]) -> list[str]:
    told = []
    for invocation in sorted({one.proof.invocation for one in graded}):
        load = read_load(record.root, invocation)
        overload = "how busy the host was is not recorded" if load is None else load.overload()
        if overload is None and load is not None and load.peak.load_5min is None:
            overload = "the host did not tell its load"
        told += [f"evaluation {invocation}: {overload}"] if overload else []
    return told


def _ledger(record: RunRecord, graded: Sequence[Graded]) -> list[str]:
    del graded
    if not (record.root / LEDGER_NAME).is_file():
        return ["the run has no ledger"]
    return [notice.replace(f"{record.root}/", "") for notice in ledger_notices(record.root)]


def _over_invocations(record: RunRecord, objections_of: Callable[[RunManifest], list[str]]) -> list[str]:
    """Ask every invocation: what one let pass is not undone by a later one."""
    if record.manifest is None:
        return [_NO_MANIFEST]
    several = len(record.invocations) > 1
    return [
        f"invocation {manifest.invocation}: {text}" if several else text
        for manifest in record.invocations
        for text in objections_of(manifest)
    ]


_MANIFESTS = ("_record/run/run_manifest.json", "_record/run/manifests/*.json")

RUN_CHECKS = (
    RunCheck(
        "run_completed",
        "The run, and every invocation of it, ended as completed: every instance was solved or had been.",
        _ending,
        (f"{_MANIFESTS[0]} (extra.outcome)", _MANIFESTS[1]),
    ),
    RunCheck(
        "clean_checkout",
        "The agent's checkout was exactly its commit.",
        _checkout,
        (f"{_MANIFESTS[0]} (source, seed_gate)", _MANIFESTS[1]),
    ),
    RunCheck(
        "server_attested",
        "The live server said that it ran the version of this checkout, from the first task to the last.",
        _server,
        (f"{_MANIFESTS[0]} (extra.runtime_attestation, extra.server_events)", _MANIFESTS[1]),
    ),
    RunCheck(
        "one_configuration",
        "Models, settings, limits and images were the same in all of the run.",
        _configuration,
        ("_record/run/instance_order.json (admitted, history)",),
    ),
    RunCheck("no_waivers", "No gate was waived.", _waivers, _MANIFESTS),
    RunCheck(
        "whole_selection",
        "All instances that the run was asked for are here: none was dropped for its result.",
        _selection,
        (f"{_MANIFESTS[0]} (requested_task_ids)", "export_manifest.json (leaderboard.left_out)"),
    ),
    RunCheck(
        "ledger_whole",
        "The run's ledger is whole: every row holds the hash of the one before it.",
        _ledger,
        ("_record/run/result_index.jsonl",),
    ),
    RunCheck(
        "official_results",
        "Each result was written for exactly this archive by the official evaluator, of one version, ending normally. "
        "The proof holds the hash of the result as written, before `submit package` moved its log out.",
        _evaluation,
        ("<instance>/<instance>.eval.provenance.json", "_record/run/grade_summary.json"),
    ),
    RunCheck(
        "host_not_overloaded",
        "The host was not overloaded while the results were made, so that no test failed for want of time.",
        _evaluation_load,
        ("_record/run/eval/*/host_load.json",),
    ),
)
