"""The figures of a run: official scores and their distribution, money, attempts, what overruled something."""

from collections import Counter
from collections.abc import Mapping, Sequence

from obo_bench.core.manifest import RunManifest
from obo_bench.core.refusal_reasons import REASONS
from obo_bench.gateway.cost import usd
from obo_bench.programbench.evaluation.instance_account import total_of
from obo_bench.programbench.solving.account import Account
from obo_bench.report.document.images import image_waivers
from obo_bench.report.document.model import InstanceReport
from obo_bench.report.document.parts import Attempts, Money, ScoreBin, Scores
from obo_bench.report.document.record import RunRecord, mapping
from obo_bench.report.graded import GRADER
from obo_bench.report.launched import is_untold
from obo_bench.report.row_grades import RowGrades, row_grades, verdict_of

_TENTHS = 10


def scores_of(record: RunRecord) -> Scores | None:
    """Return the headline as the grade summary has it; None where there is no summary."""
    summary = record.summary
    if summary is None:
        return None
    return Scores(
        evaluation_status=str(summary.evaluation_status),
        evaluator_version=summary.evaluator_version or "",
        requested=summary.requested,
        submitted=summary.submitted,
        passed=summary.passed,
        failed=summary.failed,
        ungraded=summary.ungraded,
        official_listed=summary.official_listed,
        official_mean_over_listed=summary.official_mean_over_listed,
        official_benchmark_size=summary.official_benchmark_size,
        official_mean_over_benchmark=summary.official_mean_over_benchmark,
        resolved=summary.resolved,
        near_resolved=summary.near_resolved,
        graded=summary.shrunken_denominator.graded,
        shrunken_mean=summary.shrunken_denominator.mean_over_graded,
        distribution=distribution([grade.score for grade in summary.instances.values() if grade.score is not None]),
    )


def distribution(scores: Sequence[float]) -> list[ScoreBin]:
    """Count scores: exactly 0, ten ranges of a tenth, exactly 1; an upper bound belongs to the next range."""
    found = Counter(_bin(score) for score in scores)
    labels = ["0", *(f"{tenth / 10:.1f}-{(tenth + 1) / 10:.1f}" for tenth in range(_TENTHS)), "1"]
    return [ScoreBin(label=label, count=found[number]) for number, label in enumerate(labels)]


def _bin(score: float) -> int:
    if score <= 0:
        return 0
    return _TENTHS + 1 if score >= 1 else 1 + min(int(score * _TENTHS), _TENTHS - 1)


def grades_of(record: RunRecord) -> RowGrades | None:
    """Return the verdicts of the rows, where no grade summary tells; None without one."""
    if record.summary is not None:
        return None
    return row_grades(verdict_of(record.last_row(iid)) for iid in record.instance_ids)


def money_of(record: RunRecord, instances: Sequence[InstanceReport]) -> Money:
    """Return what the run has cost: by the accounts of its instances, else by its ledger."""
    recorded = mapping(record.manifest.extra.cost) if record.manifest else {}
    costs = Account(record.all_rows).document()
    known, unknown, lower = costs["known_usd"], costs["unknown"], costs["lower_bound"]
    if record.accounts:
        totals = total_of(list(record.accounts.values()))
        known, unknown, lower = totals.known_usd, totals.unknown_costs, totals.lower_bound
    if record.command == GRADER:
        unknown = 0
    elif record.launched:
        known, unknown = _of_launcher(record, instances, known, recorded)
    return Money(
        known_usd=known,
        unknown_attempts=unknown,
        lower_bound=lower,
        at_most_usd=costs["at_most_usd"] if not unknown and known == costs["known_usd"] else None,
        ceiling_usd=usd(recorded.get("ceiling_usd")),
    )


def _of_launcher(
    record: RunRecord, instances: Sequence[InstanceReport], known: float, recorded: Mapping[str, object]
) -> tuple[float, int]:
    """Return the most that a launcher's rows or the record say was spent, and of how many attempts nobody says it.

    Only what a row tells is known of one instance; where nothing at all is told, the launcher itself is the attempt.
    """
    told = usd(recorded.get("known_usd", recorded.get("usd")))
    unknown = sum(instance.unknown_costs for instance in instances)
    if told is not None and told > known:
        return told, 0
    begun = not instances and is_untold(record.document)
    return known, unknown or int(begun and told is None)


def attempts_of(record: RunRecord) -> Attempts:
    """Return how often instances were solved."""
    totals = total_of(list(record.accounts.values()))
    return Attempts(
        attempts=totals.attempts,
        instances_with_several=totals.instances_with_several_attempts,
        after_infrastructure=totals.repeats_after_infrastructure,
        asked_for=totals.repeats_asked_for,
        undeclared=totals.repeats_undeclared,
        degraded=totals.degraded,
    )


def waivers_of(record: RunRecord) -> list[str]:
    """Return what overruled something, in this and in earlier invocations."""
    manifests = [*record.earlier, *([record.manifest] if record.manifest else [])]
    found = [waiver for manifest in manifests for waiver in _waivers(manifest)]
    return list(dict.fromkeys([*found, *(["--allow-image-findings"] if image_waivers(record) else [])]))


def _waivers(manifest: RunManifest) -> list[str]:
    harness = manifest.harness
    used = {
        "--allow-dirty-seed": manifest.seed_gate.ok and manifest.seed_gate.reason is not None,
        REASONS["runtime_skew"].waiver: mapping(manifest.extra.runtime_attestation).get("overridden"),
        "--accept-config-change": harness.get("config_changes"),
        "--redo-existing": harness.get("redo_existing"),
        "--retry": harness.get("retry"),
    }
    return [name for name, value in used.items() if value]
