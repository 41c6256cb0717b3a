"""stdout is the answer: one JSON document of a published format, whatever command, also for what cannot be parsed."""

import copy

import jsonschema
import pytest

from obo_bench.cli import registry, variables
from obo_bench.core.json_schema import format_name
from obo_bench.report.wire_formats import FORMATS
from tests.answer_check import WITHOUT_FORMAT, check_answer
from tests.conftest import obo
from tests.parity.command_lines import built

COMMANDS = sorted(registry.RECORDED | registry.READ_ONLY)
WITHOUT_ANSWER = {"practice gateway"}
"""Commands that serve until they are stopped."""
NAMED_OTHERWISE = {
    "campaign check": "campaign-plan",
    "campaign resume": "campaign-status",
    "campaign run": "campaign-status",
    "campaign status": "campaign-status",
    "ledger append": "ledger-append",
    "practice": "run",
}


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - WITHOUT_ANSWER))
def test_every_command_answers_with_json_also_when_it_cannot_be_parsed(command: str) -> None:
    assert "--json" in {flag for flag, _ in variables.options(built(command))}
    done = obo(*command.split(), "--json", "--no-such-option")
    assert done.status == 2
    assert (done.envelope["command"], done.envelope["outcome"]) == (command, "usage_error")
    assert "--no-such-option" in done.envelope["error"]["message"]
    assert done.stdout.count("\n") == 1


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - WITHOUT_ANSWER - WITHOUT_FORMAT))
def test_the_result_of_every_command_has_a_published_format(command: str) -> None:
    name = NAMED_OTHERWISE.get(command, command.rpartition(" ")[2])
    assert format_name(FORMATS[name]).startswith("obo_bench.")


def test_real_answers_are_of_the_formats() -> None:
    for words in (["programbench", "gate-tasks", "--seed", "7"], ["reasons"], ["schema"], ["schema", "run"]):
        assert obo(*words, "--json").envelope["outcome"] == "completed"


def test_answers_of_another_form_would_be_noticed() -> None:
    """Every other test that looks at an answer rests on this one."""
    answer = obo("programbench", "gate-tasks", "--seed", "7", "--json").envelope
    for spoil in ({"seed": "seven"}, {"unseen": None}, {"schema": "obo_bench.run.v1"}):
        wrong = copy.deepcopy(answer)
        wrong["result"] |= spoil
        with pytest.raises(jsonschema.ValidationError):
            check_answer(wrong)
    with pytest.raises(jsonschema.ValidationError):
        check_answer({**answer, "exit_code": "0"})
