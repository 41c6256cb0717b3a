"""stdout is the answer: one JSON document of a published format, whatever command, also for what cannot be parsed."""

import copy
from pathlib import Path

import jsonschema
import pytest

from obo_bench.cli import answer, registry, variables, why_ended
from obo_bench.core import ending
from obo_bench.core.admission import AdmissionRequest, SeedDemands
from obo_bench.core.json_schema import format_name
from obo_bench.core.manifest import Outcome
from obo_bench.core.session import benchmark_session
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


@pytest.mark.parametrize("command", sorted(registry.RECORDED))
def test_with_q_every_recorded_command_says_why_it_did_not_end_well(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "--quiet" in {flag for flag, _ in variables.options(built(command))}

    def ended(outcome: Outcome, status: int, *said: str) -> str:
        answer.begin(command.split())
        answer.hush()
        demands = SeedDemands(gated=False)
        with benchmark_session(AdmissionRequest("b", command, tmp_path / outcome, None, seed=demands)) as session:
            session.manifest.requested_count, session.manifest.extra.failed_count = 3, 2
            session.gates_passed()
            session.conclude(outcome, status)
        for text in said:
            answer.say(text)
        why_ended.tell(ending.concluded())
        return capsys.readouterr().err

    assert ended("instances_failed", 1) == f"{command}: instances_failed (exit status 1): of 3 instance(s) 2 failed\n"
    assert ended("instances_failed", 1, "it has said it") == "it has said it\n"
    assert ended("completed", 0) == ""


@pytest.mark.parametrize("command", sorted(set(COMMANDS) - WITHOUT_ANSWER - WITHOUT_FORMAT))
def test_the_result_of_every_command_has_a_published_format(command: str) -> None:
    name = NAMED_OTHERWISE.get(command, command.rpartition(" ")[2])
    assert format_name(FORMATS[name]).startswith("obo_bench.")


def test_real_answers_are_of_the_formats() -> None:
    for words in (["programbench", "gate-tasks", "--seed", "7"], ["reasons"], ["schema"], ["schema", "run"]):
        assert obo(*words, "--json").envelope["outcome"] == "completed"


def test_answers_of_another_form_would_be_noticed() -> None:
    """Every other test that looks at an answer rests on this one."""
    envelope = obo("programbench", "gate-tasks", "--seed", "7", "--json").envelope
    for spoil in ({"seed": "seven"}, {"unseen": None}, {"schema": "obo_bench.run.v1"}):
        wrong = copy.deepcopy(envelope)
        wrong["result"] |= spoil
        with pytest.raises(jsonschema.ValidationError):
            check_answer(wrong)
    with pytest.raises(jsonschema.ValidationError):
        check_answer({**envelope, "exit_code": "0"})
