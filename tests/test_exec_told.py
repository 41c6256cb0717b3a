"""What `exec` tells its operator at the end: why, in one line that the record has too, and what to type next."""

import json
import os
import re
import shlex
import signal
import socket
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from obo_bench.core.ending import LONGEST_MESSAGE
from obo_bench.core.manifest import RunManifest
from obo_bench.core.reporter import SilentReporter
from obo_bench.gateway.admitted import AdmittedServer
from obo_bench.gateway.client import GatewayClient
from obo_bench.launch.answers import ExecAnswer
from obo_bench.launch.child.supervised import ChildEnd
from obo_bench.launch.contract.child_outcome import ChildOutcome, UnusableOutcome, read_child_outcome
from obo_bench.launch.executing.explaining import remedy, why_it_ended
from obo_bench.launch.executing.server_watch import ServerWatch
from obo_bench.launch.executing.stop import Stop
from obo_bench.report.status.collect import StatusReader
from tests.conftest import obo
from tests.exec_world import Ended, ExecWorld, launcher, shell
from tests.help_pages import parsed

SEE = "see `obo-bench schema child-outcome`"
SKEW_REMEDY = "restart the server from the checkout, or check out the version that it runs"


@pytest.fixture
def world(tmp_path: Path, checkout: Path) -> ExecWorld:
    return ExecWorld(tmp_path / "else where", checkout)


def claims(text: str) -> list[str]:
    return shell(f"printf %s {shlex.quote(text)} > $OBO_BENCH_OUTCOME_FILE")


def lines(found: Ended) -> list[str]:
    return found.stderr.decode().splitlines()


def line_of(found: Ended, begin: str) -> str:
    """Return the rest of the one line that begins so."""
    [line] = [line for line in lines(found) if line.startswith(begin)]
    return line.removeprefix(begin)


@pytest.mark.parametrize("status", [2, 3, 4, 5, 70, 130, 143])
def test_a_number_of_a_launcher_is_never_explained_as_one_of_ours(world: ExecWorld, status: int) -> None:
    found = world.run(shell(f"exit {status}"), "--json")
    assert (found.status, found.extra["outcome"]) == (status, "child_failed")
    told = found.stderr.decode()
    for ours in ("this is a bug", "Traceback", "usage error", "refused", "ended by", "crashed"):
        assert ours not in told
    signalled = f" (128 + {signal.Signals(status - 128).name})" if status > 128 else ""
    assert line_of(found, "child_failed: ") == f"the launcher ended with {status}{signalled}"
    error = json.loads(found.stdout)["error"]
    assert error == {"type": "child_failed", "message": f"the launcher ended with {status}{signalled}"}


@pytest.mark.parametrize(
    ("command", "options", "told"),
    [
        (shell("exit 9"), (), "child_failed: the launcher ended with 9"),
        (shell("kill -9 $$"), (), "child_failed: the launcher was ended by SIGKILL"),
        (
            ["sleep", "60"],
            ("--timeout-sec", "1"),
            "child_failed: stopped: it has run for 1 s (--timeout-sec); the launcher was ended by SIGTERM",
        ),
        (
            shell("trap 'exit 0' TERM; sleep 60 & wait"),
            ("--timeout-sec", "1"),
            "child_failed: stopped: it has run for 1 s (--timeout-sec); the launcher ended with 0",
        ),
        (
            claims('{"outcome": "refused", "refusal_reason": "what\\never", "message": "bad\\u001b[31m\\n\\nnews"}'),
            (),
            (
                "child_failed: the launcher claims refused (what ever); the launcher says: bad [31m news; "
                "the launcher ended with 0"
            ),
        ),
        (
            claims('{"outcome": "compleated"}'),
            (),
            (
                "child_failed: the outcome file claims 'compleated', which is none of completed, instances_failed, "
                "refused, stopped_systemic, stopped_budget, nothing_exported, official_eval_error, child_failed; "
                f"{SEE}; the launcher ended with 0"
            ),
        ),
        (
            claims("[]"),
            (),
            (
                f"child_failed: the outcome file is of another shape: Input should be an object; {SEE}; "
                "the launcher ended with 0"
            ),
        ),
        (
            claims('{"outcome": "stopped_budget", "failed_count": 2}'),
            (),
            "stopped_budget: the launcher claims stopped_budget; the launcher ended with 0",
        ),
        (
            launcher("spend"),
            ("--max-cost-usd", "3"),
            "stopped_budget: stopped: it has cost 3.5000 USD, --max-cost-usd is 3; the launcher was ended by SIGTERM",
        ),
    ],
)
def test_quiet_tells_why_it_ended_and_nothing_else_and_the_record_has_it(
    world: ExecWorld, command: list[str], options: tuple[str, ...], told: str
) -> None:
    found = world.run(command, *options, "-q")
    assert lines(found) == [told]
    outcome, _, why = told.partition(": ")
    assert found.extra["error"] == {"type": outcome, "message": why}
    assert StatusReader(found.run_root).read().why == why


def test_a_reason_that_stops_everything_is_told_with_its_remedy_and_one_hint(world: ExecWorld) -> None:
    text = '{"outcome": "refused", "refusal_reason": "runtime_skew", "message": "it is another one"}'
    found = world.run(claims(text), "--json")
    why = (
        "the launcher reports runtime_skew: its outcome file says so; the launcher says: it is another one; "
        "the launcher ended with 0"
    )
    assert line_of(found, "stopped_provenance: ") == why
    assert line_of(found, "  what to do: ") == SKEW_REMEDY
    assert line_of(found, "next: ") == shlex.join(["obo-bench", "programbench", "status", str(world.run_root)])
    assert found.extra["refusal"]["message"] == StatusReader(found.run_root).read().why == why
    world.run_id = "quiet"
    quiet = world.run(claims(text), "-q")
    assert lines(quiet) == [f"stopped_provenance: {why}", f"  what to do: {SKEW_REMEDY}"]


def test_after_each_run_the_hint_is_one_command_and_the_log_has_a_line_of_its_own(world: ExecWorld) -> None:
    found = world.run(shell("exit 0"))
    hint = line_of(found, "next: ")
    assert lines(found)[-1] == f"next: {hint}"
    assert parsed(hint) == "programbench status"
    assert shlex.split(hint)[-1] == str(world.run_root)
    assert line_of(found, "  what it printed: ") == str(world.run_root / "child" / "output.log")
    assert obo(*shlex.split(hint)[1:]).status == 0


def test_json_tells_a_stop(world: ExecWorld) -> None:
    result = json.loads(world.run(["sleep", "60"], "--timeout-sec", "1", "--json").stdout)["result"]
    assert (result["timed_out"], result["stopped_for"]) == (True, "it has run for 1 s (--timeout-sec)")
    world.run_id = "s"
    result = json.loads(world.run(["true"], "--json").stdout)["result"]
    assert (result["timed_out"], result["stopped_for"]) == (False, None)


def test_after_a_signal_the_run_is_named(world: ExecWorld) -> None:
    process = world.start(launcher("sleep"))
    world.until_ready()
    process.send_signal(signal.SIGINT)
    found = world.ended(process)
    assert "ended by SIGINT" in lines(found)
    assert line_of(found, "  on record: ") == str(world.run_root / "run_manifest.json")
    assert shlex.split(line_of(found, "next: ")) == ["obo-bench", "programbench", "status", str(world.run_root)]


def test_a_refusal_says_where_it_is_on_record_and_no_option_of_the_launcher_is_handed_on(
    world: ExecWorld, serve: Callable[..., str]
) -> None:
    found = world.run(["./solve", "--repo-dir", "/elsewhere"], "--expect", "deadbeef", url=serve())
    assert found.status == 4
    assert line_of(found, "  on record: ") == str(world.run_root / "run_manifest.json")
    hint = shlex.split(line_of(found, "next: "))
    assert hint[1] == "doctor"
    assert "/elsewhere" not in hint
    world.run_id = "without"
    alone = world.run(["./solve"], "--expect", "deadbeef")
    assert not [line for line in lines(alone) if line.startswith("next: ")], "doctor would miss a server"
    world.run_id = "quiet"
    assert not [line for line in lines(world.run(["./solve"], "--expect", "deadbeef", "-q")) if "on record" in line]


def test_what_cannot_be_started_is_refused_also_where_there_is_a_server(
    world: ExecWorld, serve: Callable[..., str]
) -> None:
    script, busy = world.directory / "script", world.directory / "busy"
    script.write_text("echo hello\n")
    busy.write_bytes(Path("/bin/true").read_bytes())
    for path in (script, busy):
        path.chmod(0o755)
    url = serve()
    with busy.open("ab"):
        for name, why in (("script", "it is no program of this machine, or a script without #!"), ("busy", "writing")):
            world.run_id = name
            found = world.run([f"./{name}"], url=url)
            assert (found.status, found.extra["outcome"]) == (5, "refused"), found.stderr
            assert found.extra["refusal"]["reason"] == "launcher_not_startable"
            assert why in found.extra["refusal"]["message"]


def test_a_watch_over_a_server_that_was_never_begun_ends(serve: Callable[..., str]) -> None:
    client = GatewayClient(serve())
    watch = ServerWatch(AdmittedServer.of_attested(client, "6.75.0", SilentReporter(), lambda _: None), None)
    watch.close()
    assert "server watch" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[]", f"is of another shape: Input should be an object; {SEE}"),
        ("{}", f"is of another shape: outcome: Field required; {SEE}"),
        (
            '{"outcome": "completed", "failed_count": -1}',
            f"is of another shape: failed_count: Input should be greater than or equal to 0; {SEE}",
        ),
        ('{"outcome": 5}', "is of another shape: outcome: Input should be 'completed', 'instances_failed', "),
        ("{}}", "is not a JSON document: "),
    ],
)
def test_what_is_wrong_with_an_outcome_file_is_a_sentence_with_a_remedy(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "outcome.json"
    path.write_text(text)
    with pytest.raises(UnusableOutcome) as caught:
        read_child_outcome(path)
    assert str(caught.value).startswith(told)
    assert str(caught.value).endswith(SEE)


def test_foreign_words_stay_one_bounded_line() -> None:
    claim = ChildOutcome(outcome="child_failed", refusal_reason="r" * 9000, message="\u202e\x07line\n" * 9000)
    told = why_it_ended("child_failed", ChildEnd(0), None, claim, "", None)
    assert told.isprintable()
    assert len(told) < 1000 < LONGEST_MESSAGE


@pytest.mark.parametrize(
    ("status", "told"),
    [
        (None, "the launcher's own end was not seen: the process that guards it was killed, or could not end it"),
        (-15, "the launcher was ended by SIGTERM"),
        (-40, "the launcher was ended by signal 40"),
        (128, "the launcher ended with 128"),
        (137, "the launcher ended with 137 (128 + SIGKILL)"),
        (255, "the launcher ended with 255"),
    ],
)
def test_a_signal_is_told_by_its_name(status: int | None, told: str) -> None:
    assert why_it_ended("child_failed", ChildEnd(status), None, None, "", None) == told


def test_rows_are_counted_where_there_are_any() -> None:
    told = why_it_ended("instances_failed", ChildEnd(0), None, None, "", {"completed": 1, "failed": 2, "skipped": 0})
    assert told == "the launcher ended with 0 (1 completed, 2 failed)"


def test_a_remedy_is_told_for_reasons_of_ours_alone() -> None:
    known = ChildOutcome(outcome="refused", refusal_reason="settings_unreadable")
    assert "settings file" in remedy("child_failed", None, known)
    assert remedy("completed", None, known) == ""
    assert remedy("child_failed", None, ChildOutcome(outcome="refused", refusal_reason="whatever")) == ""
    assert remedy("child_failed", Stop("timeout", "it has run for 1 s"), known) == ""


def test_that_it_was_started_is_told_before_anything_that_it_prints(world: ExecWorld) -> None:
    for number in range(4):
        world.run_id = f"r{number}"
        told = lines(world.run(shell("echo printed")))
        started = next(at for at, line in enumerate(told) if " started sh (process " in line)
        assert started < told.index("printed"), told


def test_a_dead_predecessor_is_told_in_words(world: ExecWorld) -> None:
    process = world.start(launcher("sleep"), "--grace-sec", "1")
    world.until_ready()
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=60)
    found = world.run(["true"])
    [line] = [line for line in lines(found) if "died without an ending" in line]
    who = rf"process {process.pid} on {re.escape(socket.gethostname())}, begun [-0-9]+ [:0-9]+ \(invocation [-\w]+\)"
    assert re.search(f"an earlier invocation died without an ending: {who}$", line), line


def test_the_usage_line_shows_the_command_as_it_is_typed() -> None:
    usage = obo("exec", "--help").stdout.partition("\n\n")[0]
    assert usage == "Usage: obo-bench exec [OPTIONS] -- COMMAND [ARGS]..."


def test_older_answers_and_records_are_still_read() -> None:
    older = ExecAnswer.model_validate({"schema": "obo_bench.exec.v1", "child_exit_code": 0})
    assert (older.timed_out, older.stopped_for) == (False, None)
    assert RunManifest(benchmark="b", created_at_unix=0.0, run_root="/r").extra.error is None
