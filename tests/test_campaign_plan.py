"""Campaign files: each way to be wrong is told with table, key, value, reason and remedy; what is right is planned."""

from pathlib import Path

import pytest

import obo_bench
from obo_bench.cli.step_commands import RealCommandLines
from obo_bench.core.refusals import PreflightRefused
from obo_bench.launch.campaign.checking import examine
from obo_bench.launch.campaign.kinds import KINDS, OWN_OPTIONS, PAY_AGAIN
from obo_bench.launch.campaign.plan import Plan
from obo_bench.launch.campaign.plan_file import parse_plan
from obo_bench.launch.campaign.resolving import Frame
from tests.conftest import obo

SHIPPED = Path(obo_bench.__file__).parent.parent / "docs" / "campaign-200.toml"
RUN = '[[steps]]\nid = "trial"\nkind = "run"\n'
GATE = '[[steps]]\nid = "gate"\nkind = "gate"\nneeds = ["trial"]\n'
EVALS = f"""{RUN}
[[steps]]
id = "g"
kind = "eval"
options.run = "${{steps.trial.run_id}}"
[[steps]]
id = "h"
kind = "eval"
options.run = "${{steps.g.run_id}}"
"""

WRONG_FILE: dict[str, tuple[str | bytes, str]] = {
    "not TOML": ("[campaign", "is not TOML"),
    "not UTF-8": (b"\xff", "is not TOML"),
    "no steps": ("", "steps: is missing"),
    "an empty list": ("steps = []", "at least 1 item"),
    "an unknown table": (f"{RUN}[campain]\n", "campain: there is no such key in the file: did you mean campaign?"),
    "an unknown key": (f"[campaign]\nmax_cost = 3\n{RUN}", "[campaign]: max_cost: there is no such key"),
    "an option beside the options": (f"{RUN}workers = 3\n", "options of its command go into its table options"),
    "a wrong type": (f'[campaign]\nretries = "two"\n{RUN}', "[campaign]: retries: 'two' does not fit"),
    "a number below zero": (f"[campaign]\nmax_cost_usd = -1\n{RUN}", "max_cost_usd: -1 does not fit"),
    "no number": (f"[campaign]\nmax_cost_usd = nan\n{RUN}", "max_cost_usd: nan does not fit"),
    "an unknown kind": (RUN.replace('"run"', '"runn"'), "kind: 'runn' is none: did you mean run?"),
    "a name that is none": (RUN.replace("trial", "Trial.1"), "'Trial.1' is no name of a step"),
    "a step that is no table": ("steps = [3]", "[[steps]] number 1"),
}
WRONG_PLAN = {
    "a name twice": (RUN + RUN, "id: there are two steps of this name"),
    "an unknown need": (f'{RUN}needs = ["tria"]\n', "needs: 'tria' is no step: did you mean trial?"),
    "itself": (f'{RUN}needs = ["trial"]\n', "needs: the step needs itself, 'trial'"),
    "a later step": (f'{RUN}needs = ["b"]\n{RUN.replace("trial", "b")}', "'b' comes later"),
    "a circle": (
        f'{RUN}needs = ["b"]\n{RUN.replace("trial", "b")}needs = ["trial"]\n',
        "the steps need each other: trial -> b -> trial",
    ),
    "on without needs": (f'{RUN}on = ["dry_run"]\n', "on: there is nothing in needs"),
    "an outcome that cannot be": (
        f'{RUN}{RUN.replace("trial", "b")}needs = ["trial"]\non = ["completed", "gate_no_go"]\n',
        "on: 'gate_no_go' can never be the outcome of what it needs",
    ),
    "a condition that cannot hold": (
        f'{RUN}{RUN.replace("trial", "b")}needs = ["trial"]\non = ["nothing_exported"]\n',
        "on: it can never start: 'trial' ends with one of completed",
    ),
    "an unknown option": (
        f"{RUN}options.slise = 3\n",
        "options.slise: `obo-bench programbench run` has no such option",
    ),
    "an option of the campaign's": (f'{RUN}options.run_id = "x"\n', "options.run_id: the campaign says this"),
    "an option that pays twice": (f"{RUN}options.redo_existing = true\n", "options.redo_existing: a step that is"),
    "a value out of range": (f"{RUN}options.workers = 0\n", "does not take them: Invalid value for '--workers'"),
    "a flag with a value": (f'{RUN}options.strict = "yes"\n', "does not take them"),
    "a missing value": (f"{RUN}options.slice = true\n", "options.slice: is true, but it takes a value"),
    "a table as a value": (f"{RUN}options.slice = {{ a = 1 }}\n", "options.slice: {'a': 1} is no value of an option"),
    "a flag turned off": (f"{RUN}options.strict = false\n", "options.strict: is false: leave it out"),
    "a lost file": (f'{RUN}options.ids_file = "lost.txt"\n', "options.ids_file: there is no file 'lost.txt' in"),
    "a lost run": (f'{RUN}{GATE}options = {{ run = "x", reference = "y" }}\n', "options.run: 'x' is neither a run in"),
    "a required option": (f'{RUN}{GATE}options = {{ reference = "y" }}\n', "options.run: is missing"),
    "no launcher": ('[[steps]]\nid = "x"\nkind = "exec"\noptions.benchmark = "b"\n', "command: is missing"),
    "a launcher for nothing": (f'{RUN}command = ["x"]\n', "command: only a step of kind 'exec' has one"),
    "a ceiling for nothing": ('[[steps]]\nid = "x"\nkind = "attest"\nmax_cost_usd = 3\n', "costs nothing"),
    "an odd placeholder": (f'{RUN}options.filter = "${{trial.run_id}}"\n', "'${trial.run_id}' is no placeholder"),
    "an unclosed placeholder": (f'{RUN}options.filter = "${{steps.a.run_id"\n', "is no placeholder"),
    "a placeholder of a later step": (f'{RUN}options.filter = "${{steps.b.run_id}}"\n', "names no earlier step"),
    "a run id that there is not": (EVALS, "works within another run and has no run id"),
}


def told(file: Path) -> str:
    plan = parse_plan(file, file.read_bytes())
    frame = Frame("c", file.parent / "runs", file.parent, {"repo_dir": "/r", "runs_root": "/runs"})
    return "\n".join(map(str, examine(plan, frame, RealCommandLines())[1]))


@pytest.mark.parametrize("case", WRONG_FILE)
def test_a_file_that_describes_no_campaign_is_refused_by_table_key_and_reason(tmp_path: Path, case: str) -> None:
    text, expected = WRONG_FILE[case]
    with pytest.raises(PreflightRefused) as refused:
        parse_plan(tmp_path / "c.toml", text if isinstance(text, bytes) else text.encode())
    assert refused.value.reason == "campaign_invalid"
    assert expected in refused.value.message


@pytest.mark.parametrize("case", WRONG_PLAN)
def test_a_campaign_that_could_not_be_run_is_told_what_stands_against_it(tmp_path: Path, case: str) -> None:
    text, expected = WRONG_PLAN[case]
    file = tmp_path / "c.toml"
    file.write_text(text)
    assert expected in told(file)


AT_ONCE = """
[campaign]
retrys = 2
[[steps]]
id = "one"
kind = "run"
need = ["x"]
on = ["gate_no_go"]
options = { workers = 0, cpus = -1, slice = "1:a", filter = "((", slise = 3, max_cost_usd = 3 }
[[steps]]
id = "two"
kind = "run"
options = { instance_id = ["nobody__nothing.1"] }
[[steps]]
id = "Three"
kind = "run"
[[steps]]
id = "four"
kind = "exec"
needs = ["Three"]
command = ["./nosuch"]
options = { benchmark = "X Y", ids_file = "lost.txt" }
[[steps]]
id = "five"
kind = "attest"
options = { output = "no directory/record.json", max_cost_usd = 1 }
"""
TOLD = [
    "[campaign]: retrys: there is no such key in [campaign]: did you mean retries",
    "[[steps]] 'one': need: there is no such key in [[steps]]: did you mean needs?",
    "[[steps]] 'Three': id: 'Three' is no name of a step",
    "[[steps]] 'one': options.slise: `obo-bench programbench run` has no such option",
    "[[steps]] 'one': options.max_cost_usd: write it beside the options, as max_cost_usd = 3 of the step",
    "[[steps]] 'five': options.max_cost_usd: a step of this kind costs nothing",
    "[[steps]] 'one': options: `obo-bench programbench run` does not take them: Invalid value for '--workers'",
    "[[steps]] 'one': options: `obo-bench programbench run` does not take them: Invalid value for '--cpus'",
    "[[steps]] 'one': options.slice: --slice '1:a': not whole numbers",
    "[[steps]] 'one': options.filter: --filter '((': not a regular expression",
    "[[steps]] 'two': options: the benchmark has no instance 'nobody__nothing.1'",
    "[[steps]] 'four': options.benchmark: benchmark 'X Y' is no name of a benchmark",
    "[[steps]] 'four': command: the command './nosuch' cannot be started: there is no such file",
    "[[steps]] 'four': options.ids_file: there is no file 'lost.txt'",
    "[[steps]] 'five': options.output: 'no directory/record.json' cannot be written",
]


def test_what_is_wrong_with_keys_options_values_and_files_is_told_together(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(AT_ONCE)
    done = obo("campaign", "check", file, "--json", "--repo-dir", tmp_path)
    problems = done.envelope["refusal"]["evidence"]["problems"]
    assert [each for each in TOLD if not any(problem.startswith(each) for problem in problems)] == []
    assert len(problems) == len(TOLD), problems


def test_a_check_that_knows_no_runs_root_says_so(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(RUN + GATE + 'options = { run = "an-id", reference = "c.toml", tasks = "c.toml" }\n')
    env = {"OUROBOROS_BENCH_RUNS_ROOT": "", "OUROBOROS_REPO_DIR": ""}
    done = obo("campaign", "check", file, cwd=tmp_path, env=env)
    assert done.status == 0, done.stderr
    assert "writes below the runs root, which is not known: give --repo-dir or --runs-root" in done.stdout
    assert "bench_runs" not in done.stdout
    assert "--runs-root" not in done.stdout.replace("or --runs-root", "")


def test_a_directory_is_no_campaign_file(tmp_path: Path) -> None:
    done = obo("campaign", "check", ".", cwd=tmp_path)
    assert (done.status, "'.' is a directory" in done.stderr) == (2, True)


def test_all_problems_are_told_at_once_and_the_command_refuses(tmp_path: Path) -> None:
    file = tmp_path / "c.toml"
    file.write_text(f'{RUN}needs = ["x"]\noptions.slise = 3\n')
    done = obo("campaign", "check", file, "--json")
    assert done.status == 5
    assert done.envelope["refusal"]["reason"] == "campaign_invalid"
    assert len(done.envelope["refusal"]["evidence"]["problems"]) == 2
    assert obo("campaign", "check", tmp_path / "no.toml").status == 5


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_agrees_with_its_real_command(name: str) -> None:
    kind = KINDS[name]  # type: ignore[index]  # the parametrization gives text
    known = RealCommandLines().options(kind.command)
    named = {*kind.shared, *kind.files, *kind.runs, *({kind.identity} if kind.identity else ())}
    assert named <= set(known) | ({"run"} if kind.argument else set())
    assert {"json", "quiet"} <= set(known)
    assert ("max_cost_usd" in known) == kind.spends
    assert kind.identity in ("", "dest_run_id") or kind.identity in OWN_OPTIONS


def test_the_options_that_pay_again_are_those_of_run() -> None:
    assert set(PAY_AGAIN) <= set(RealCommandLines().options("programbench run"))


def test_a_ceiling_alone_is_no_change_of_a_plan() -> None:
    one = parse_plan(Path("c.toml"), f"[campaign]\nmax_cost_usd = 1\n{RUN}max_cost_usd = 1\n".encode())
    other = parse_plan(Path("c.toml"), f"{RUN}max_cost_usd = 2\n".encode())
    assert one.without_ceilings() == other.without_ceilings()
    third = parse_plan(Path("c.toml"), f"{RUN}retries = 2\n".encode())
    assert isinstance(third, Plan)
    assert one.without_ceilings() != third.without_ceilings()


def test_the_shipped_campaign_is_in_order_and_goes_on_to_all_tasks_only_on_go(tmp_path: Path) -> None:
    (tmp_path / "campaign-200.toml").write_bytes(SHIPPED.read_bytes())
    (tmp_path / "tasks.txt").write_text(obo("programbench", "gate-tasks", "--seed", "7").stdout)
    (tmp_path / "reference.json").write_text("{}")
    done = obo("campaign", "check", tmp_path / "campaign-200.toml", "--json")
    assert done.status == 0, done.stderr
    steps = {step["id"]: step for step in done.envelope["result"]["steps"]}
    assert list(steps) == ["attest", "trial", "trial-eval", "gate", "full", "full-eval", "export"]
    assert (steps["full"]["needs"], steps["full"]["on"]) == (["gate"], ["completed"])
    assert done.envelope["result"]["worst_case_usd"] is not None
