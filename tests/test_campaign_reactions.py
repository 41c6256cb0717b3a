"""The table of what a campaign does with the outcome of a step: whole, and shown in docs/campaigns.md as it is."""

import re
from itertools import permutations
from pathlib import Path
from typing import get_args

import pytest

import obo_bench
from obo_bench.core.ledger import Ledger, Row
from obo_bench.core.manifest import Outcome
from obo_bench.core.redact import Redactor
from obo_bench.core.refusal_reasons import REASONS
from obo_bench.core.refusals import CAMPAIGN_FATAL_PROVENANCE_REASONS
from obo_bench.launch.campaign.kinds import KINDS
from obo_bench.launch.campaign.money import Spent, allowance, spent_by, worst_case_usd
from obo_bench.launch.campaign.plan_file import parse_plan
from obo_bench.launch.campaign.reactions import REACTIONS, Then, conclusion, exit_code_of, reaction_to
from obo_bench.launch.campaign.resolving import Frame, Step, resolve
from obo_bench.launch.campaign.retrying import PASSING_REASONS, is_done, is_retried
from obo_bench.launch.campaign.step_end import DIED, NOTHING_RECORDED, StepEnd
from tests.test_parity import STATUSES

PAGE = Path(obo_bench.__file__).parent.parent / "docs" / "campaigns.md"
_SOMETIMES = {
    "instances_failed": "where the infrastructure failed some",
    "refused": "for a reason that passes",
}


def table() -> str:
    """The rows as the page has them; `python -m tests.test_campaign_reactions` writes them anew."""
    lines = [
        "| a step ends as | the campaign | ends as | status | tried again first | a resume |",
        "|---|---|---|--:|---|---|",
    ]
    for outcome, row in REACTIONS.items():
        status = "the step's" if row.exit_code is None else str(int(row.exit_code))
        resume = "leaves it" if row.done else "starts it again"
        again = "yes" if row.retried else _SOMETIMES.get(outcome, "")
        lines.append(f"| `{outcome}` | {row.then} | `{row.outcome}` | {status} | {again} | {resume} |")
    return "\n".join(lines) + "\n"


def part() -> "re.Match[str]":
    found = re.search(r"<!-- reactions -->\n(.*?)<!-- end -->", PAGE.read_text(), re.DOTALL)
    assert found
    return found


def test_the_page_shows_the_table() -> None:
    assert part()[1] == table()


def test_every_outcome_has_its_row() -> None:
    assert set(REACTIONS) == {*get_args(Outcome), NOTHING_RECORDED, DIED} - {"started"}


@pytest.mark.parametrize("outcome", REACTIONS)
def test_a_status_fits_the_outcome_and_success_is_never_a_stop(outcome: str) -> None:
    reaction = REACTIONS[outcome]
    if reaction.exit_code is not None:
        assert int(reaction.exit_code) in STATUSES[reaction.outcome]
    for status in (None, 0, 1, 2, 5, 70, 130, 137, 255):
        if reaction.then is not Then.GOES_ON:
            assert exit_code_of(reaction, StepEnd(outcome, status)) in STATUSES[reaction.outcome]


def test_conditions_name_outcomes_after_which_a_campaign_goes_on() -> None:
    for kind in KINDS.values():
        assert all(REACTIONS[outcome].then is Then.GOES_ON for outcome in kind.outcomes)


@pytest.mark.parametrize("reason", sorted(REASONS))
def test_one_authority_says_what_is_fatal(reason: str) -> None:
    end = StepEnd("refused", 4, {"reason": reason})
    fatal = reason in CAMPAIGN_FATAL_PROVENANCE_REASONS
    assert (reaction_to(end).outcome == "stopped_provenance") is fatal
    assert not (fatal and reason in PASSING_REASONS)


def test_a_word_of_a_later_version_stops() -> None:
    assert reaction_to(StepEnd("added_later", 1)).then is Then.STOPS


def test_the_worst_step_decides_the_end_whatever_the_order() -> None:
    for order in permutations(["completed", "instances_failed", "gate_no_go"]):
        assert conclusion(order)[1] == 1
    for order in permutations(["official_eval_error", "child_failed", "completed"]):
        assert conclusion(order) == ("official_eval_error", 6)
    assert conclusion(["gate_no_go", "completed"]) == ("gate_no_go", 1)
    assert conclusion([]) == ("completed", 0)


def steps(*ceilings: str) -> list[Step]:
    text = "".join(f'[[steps]]\nid = "s{n}"\nkind = "run"\n{ceiling}\n' for n, ceiling in enumerate(ceilings))
    return resolve(parse_plan(Path("c"), text.encode()), Frame("c", Path("/runs"), Path("/d"), {}))[0]


def test_a_step_starts_only_when_its_worst_case_fits_into_the_ceiling() -> None:
    own, open_ended = steps("max_cost_usd = 3", "")
    spent = {
        "s9": spent_by(own, [StepEnd("completed", 0, cost_usd=7.5)]),
        "s0": spent_by(own, [StepEnd("stopped_budget", 8, cost_usd=2.0)]),
    }
    assert allowance(own, spent, None).ceiling_usd == 3
    assert allowance(own, spent, 10.5).why_not == ""
    assert "there are 2.5000 left" in allowance(own, spent, 10.0).why_not
    assert (allowance(own, spent, 10.0).needed_usd, allowance(open_ended, spent, 9.5).needed_usd) == (10.5, None)
    assert allowance(open_ended, spent, 10.0).ceiling_usd == pytest.approx(0.5)
    assert allowance(open_ended, spent, 9.5).why_not
    assert (worst_case_usd([own], None), worst_case_usd([own, open_ended], None)) == (3, None)
    assert worst_case_usd([own, open_ended], 5) == 5


DIED_USD_3 = StepEnd(DIED, None, ceiling_usd=3.0)
SPENT = {
    "no start": ("run", [], Spent(None, False, 0)),
    "a known cost": ("run", [StepEnd("completed", 0, cost_usd=2.0, ceiling_usd=5.0)], Spent(2.0, False, 2.0)),
    "a lower bound": (
        "run",
        [StepEnd("completed", 0, cost_usd=2.0, cost_is_lower_bound=True, ceiling_usd=5.0)],
        Spent(2.0, True, 5.0),
    ),
    "a lower bound above its ceiling": (
        "run",
        [StepEnd("completed", 0, cost_usd=6.0, cost_is_lower_bound=True, ceiling_usd=5.0)],
        Spent(6.0, True, 6.0),
    ),
    "an unknown cost": ("exec", [StepEnd("completed", 0, ceiling_usd=5.0)], Spent(None, True, 5.0)),
    "an unknown cost of an older ledger": ("exec", [StepEnd("completed", 0)], Spent(None, True, 4.0)),
    "a run tells of all its starts": (
        "run",
        [DIED_USD_3, StepEnd("completed", 0, cost_usd=2.0)],
        Spent(2.0, False, 2.0),
    ),
    "a launcher tells of one": ("exec", [DIED_USD_3, StepEnd("completed", 0, cost_usd=2.0)], Spent(2.0, True, 5.0)),
    "a start that was refused": ("run", [DIED_USD_3, StepEnd("refused", 5, cost_usd=0.0)], Spent(None, True, 3.0)),
    "nothing but refusals": ("exec", [StepEnd("refused", 5, cost_usd=0.0)], Spent(0.0, False, 0.0)),
    "what cannot cost": ("attest", [StepEnd("completed", 0)], Spent(None, False, 0.0)),
}


@pytest.mark.parametrize("case", SPENT)
def test_an_unknown_cost_counts_with_what_the_step_was_allowed(case: str) -> None:
    kind, ends, expected = SPENT[case]
    ceiling = "" if kind == "attest" else "max_cost_usd = 4\n"
    text = f'[[steps]]\nid = "s"\nkind = "{kind}"\n{ceiling}options.benchmark = "b"\n'
    [step] = resolve(parse_plan(Path("c"), text.encode()), Frame("c", Path("/runs"), Path("/d"), {}))[0]
    assert spent_by(step, ends) == expected


def test_at_worst_each_start_of_a_launcher_costs_its_ceiling() -> None:
    text = '[[steps]]\nid = "s"\nkind = "exec"\nmax_cost_usd = 2\nretries = 2\noptions.benchmark = "b"\n'
    [step] = resolve(parse_plan(Path("c"), text.encode()), Frame("c", Path("/runs"), Path("/d"), {}))[0]
    assert worst_case_usd([step], None) == 6
    begun = {"s": spent_by(step, [StepEnd("interrupted", 130, ceiling_usd=2.0)])}
    assert "there are 1.0000 left" in allowance(step, begun, 3.0).why_not


def test_what_nothing_bounds_lets_nothing_more_start_under_a_ceiling() -> None:
    own, open_ended = steps("max_cost_usd = 3", "")
    spent = {"s1": spent_by(open_ended, [StepEnd("completed", 0)])}
    assert allowance(own, spent, None).why_not == ""
    refused = allowance(own, spent, 100.0)
    assert "what step s1 has cost is not known, and no ceiling bounds it" in refused.why_not
    assert "max_cost_usd of that step" in refused.remedy


@pytest.mark.parametrize("by_infrastructure", [True, False])
def test_a_run_is_repeated_for_the_infrastructure_and_never_for_an_agent(
    tmp_path: Path, by_infrastructure: bool
) -> None:
    text = '[[steps]]\nid = "one"\nkind = "run"\n'
    [step] = resolve(parse_plan(Path("c"), text.encode()), Frame("c", tmp_path, tmp_path, {}))[0]
    step.root.mkdir(parents=True)
    ledger = Ledger(step.root, "i", Redactor())
    for name, infrastructure in (("a", False), ("b", by_infrastructure)):
        row = {
            "benchmark": "programbench",
            "instance_id": name,
            "status": "failed",
            "reason_code": "task_not_completed",
        }
        ledger.append(Row.model_validate({**row, "details": {"infrastructure": infrastructure}}))
    end = StepEnd("instances_failed", 1)
    assert is_retried(step, end) is by_infrastructure
    assert is_done(step, end) is not by_infrastructure


if __name__ == "__main__":
    found = part()
    text = PAGE.read_text()
    PAGE.write_text(f"{text[: found.start(1)]}{table()}{text[found.end(1) :]}")
