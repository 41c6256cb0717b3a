"""The tasks of a gate: drawn so that anybody can repeat it, or read from lists that are taken at their word."""

import hashlib
import json
from pathlib import Path

import pytest

from obo_bench.core.ids_file import read_ids
from obo_bench.core.refusals import PreflightRefused
from obo_bench.programbench.gating.draw import draw_tasks, told_draw
from obo_bench.programbench.gating.official_tasks import official_tasks
from obo_bench.programbench.gating.options import TaskSource
from obo_bench.programbench.gating.task_list import TaskList, read_tasks
from tests.conftest import obo
from tests.gate_world import GateWorld, csv_file, ids_file

INSTANCES = official_tasks().instances
ALL = list(INSTANCES.values())
FIXTURE = "testorg__calculator.abc1234"
IDS = [iid for iid in INSTANCES if iid != FIXTURE]
EASY = {instance.instance_id for instance in ALL if instance.difficulty == "easy"}


def read(**source: Path | int | None) -> TaskList:
    return read_tasks(TaskSource(**source), INSTANCES)  # type: ignore[arg-type]


def refusal(path: Path, reason: str = "ids_file_unreadable") -> str:
    with pytest.raises(PreflightRefused) as caught:
        read(tasks=path)
    caught.value.settle()
    assert caught.value.reason == reason
    return caught.value.message


def test_a_draw_from_too_few_tasks_says_how_to_do_without() -> None:
    with pytest.raises(PreflightRefused, match=r"has 1 task\(s\) to draw 10 smoke tasks from") as caught:
        draw_tasks([instance for instance in ALL if instance.instance_id in EASY - {FIXTURE}][:1], 7)
    caught.value.settle()
    assert "gate --tasks FILE" in caught.value.remedy


def test_the_draw_is_the_order_of_sha_256() -> None:
    drawn = draw_tasks(ALL, 7)
    ranks = {iid: hashlib.sha256(f"7\nsmoke\n{iid}".encode()).hexdigest() for iid in EASY - {FIXTURE}}
    assert list(drawn.smoke) == sorted(ranks, key=ranks.__getitem__)[:10]
    # as it came out when the draw was defined: it may never change
    assert drawn.smoke[:2] == ("abishekvashok__cmatrix.5c082c6", "drew-alleman__datasurgeon.d257cee")
    assert drawn.unseen[:2] == ("skeema__skeema.6a76243", "ariga__atlas.6d81150")


@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_a_draw_has_ten_easy_tasks_and_ten_others_and_never_the_fixture(seed: int) -> None:
    drawn = draw_tasks(ALL, seed)
    assert len({*drawn.smoke, *drawn.unseen}) == 20
    assert set(drawn.smoke) <= EASY
    assert FIXTURE not in {*drawn.smoke, *drawn.unseen}
    assert draw_tasks(list(reversed(ALL)), seed) == drawn
    assert draw_tasks(ALL, seed ^ 12345) != drawn


def test_given_smoke_tasks_are_kept_and_never_drawn_again() -> None:
    first = draw_tasks(ALL, 3)
    drawn = draw_tasks(ALL, 3, [*first.unseen, IDS[5]])
    assert drawn.smoke == (*first.unseen, IDS[5])
    assert len(drawn.unseen) == 10
    assert not set(drawn.unseen) & set(drawn.smoke)


def test_every_task_can_be_drawn() -> None:
    drawn = {iid for seed in range(400) for iid in draw_tasks(ALL, seed).unseen}
    assert drawn == set(IDS)


def test_the_command_prints_the_list_that_run_and_gate_take(tmp_path: Path) -> None:
    done = obo("programbench", "gate-tasks", "--seed", "7")
    drawn = draw_tasks(ALL, 7)
    assert (done.status, done.stdout) == (0, drawn.text() + "\n")
    assert "--ids-file" in done.stderr
    path = tmp_path / "tasks.txt"
    path.write_text(done.stdout)
    assert read_ids(path) == (*drawn.smoke, *drawn.unseen)
    found = read(tasks=path)
    assert found.draw == drawn.draw
    assert found.groups == dict.fromkeys(drawn.smoke, "smoke") | dict.fromkeys(drawn.unseen, "unseen")
    assert read(seed=7).groups == found.groups


def test_without_a_seed_the_command_makes_one_and_tells_it(tmp_path: Path) -> None:
    smoke = ids_file(tmp_path / "smoke.txt", IDS[:3])
    told = obo("programbench", "gate-tasks", "--smoke-ids-file", smoke, "--json").envelope["result"]
    assert told["smoke"] == IDS[:3]
    assert told["smoke_given"] is True
    assert told["unseen"] == list(draw_tasks(ALL, told["seed"], IDS[:3]).unseen)


def test_a_gate_draws_again_what_the_run_was_made_with(tmp_path: Path) -> None:
    drawn = draw_tasks(ALL, 11)
    world = GateWorld(tmp_path / "run")
    for iid in (*drawn.smoke, *drawn.unseen):
        world.graded(iid, 1, 2)
    world.write()
    reference = csv_file(tmp_path / "reference.csv", dict.fromkeys(world.rows, "0.5"))
    assert world.gate("--draw", "--seed", "11", "--reference", reference).status == 0
    found = world.result()
    assert found["draw"] == {
        "seed": 11, "smoke_given": False, "catalogue_sha256": drawn.draw.catalogue_sha256
    }  # fmt: skip
    assert [task["group"] for task in found["tasks"]] == ["smoke"] * 10 + ["unseen"] * 10
    assert found["reference"]["pairs"] == 20
    assert world.gate("--draw", "--seed", "12", "--reference", reference).status == 6


def test_the_catalogue_is_the_ids_and_difficulties_of_the_benchmark() -> None:
    known = {iid: INSTANCES[iid].difficulty for iid in sorted(IDS)}
    expected = hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()
    assert draw_tasks(ALL, 0).draw.catalogue_sha256 == expected
    assert draw_tasks(ALL[:-1], 0).draw.catalogue_sha256 != expected


@pytest.mark.parametrize("change", ["swap", "drop", "seed", "catalogue", "group", "before"])
def test_a_list_that_is_not_what_its_draw_gives_is_refused(tmp_path: Path, change: str) -> None:
    drawn = draw_tasks(ALL, 7)
    text = drawn.text()
    other = next(iid for iid in IDS if iid not in text)
    changes = {
        "swap": (drawn.unseen[4], other),
        "drop": (drawn.unseen[4] + "\n", ""),
        "seed": ("seed=7", "seed=8"),
        "catalogue": ("catalogue=", "catalogue=0"),
        "group": ("# unseen\n", ""),
        "before": ("# smoke\n", f"{other}\n# smoke\n"),
    }
    path = tmp_path / "tasks.txt"
    path.write_text(text.replace(*changes[change]).replace(f"0{drawn.draw.catalogue_sha256}", "0" * 64))
    assert "says that it was drawn with seed" in refusal(path)
    path.write_text(path.read_text().partition("\n")[2])
    assert read(tasks=path).draw is None


def test_lists_of_both_groups_and_of_none(tmp_path: Path) -> None:
    smoke, unseen = ids_file(tmp_path / "smoke", IDS[:2]), ids_file(tmp_path / "unseen", IDS[2:4])
    found = read(smoke=smoke, unseen=unseen)
    assert found.groups == {IDS[0]: "smoke", IDS[1]: "smoke", IDS[2]: "unseen", IDS[3]: "unseen"}
    assert [source.role for source in found.inputs] == ["smoke-ids-file", "unseen-ids-file"]
    assert read(tasks=smoke).groups == {IDS[0]: "listed", IDS[1]: "listed"}
    drawn = read(smoke=smoke, seed=5)
    assert drawn.groups == dict.fromkeys(IDS[:2], "smoke") | dict.fromkeys(draw_tasks(ALL, 5, IDS[:2]).unseen, "unseen")
    assert [source.role for source in drawn.inputs] == ["smoke-ids-file"]


@pytest.mark.parametrize(
    ("text", "problem", "reason"),
    [
        ("", "names no task", "ids_file_unreadable"),
        ("# smoke\n# unseen\n", "names no task", "ids_file_unreadable"),
        (f"{IDS[0]}\n\n{IDS[0]} # again\n", f"line 3: the task {IDS[0]} is listed twice", "ids_file_unreadable"),
        (f"# smoke\n{FIXTURE}\n", "line 2: testorg__calculator.abc1234 is the package's own", "ids_file_unreadable"),
        (
            f"{IDS[0][:-1]}x\n",
            f"line 1: the benchmark has no task '{IDS[0][:-1]}x' (near: {IDS[0]}",
            "unknown_instance",
        ),
    ],
)
def test_a_list_that_is_wrong_is_refused_with_the_line(tmp_path: Path, text: str, problem: str, reason: str) -> None:
    path = tmp_path / "tasks.txt"
    path.write_text(text)
    assert problem in refusal(path, reason)


def test_a_list_that_is_no_text_or_no_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "tasks.txt"
    path.write_bytes(b"\xff\n")
    assert "not UTF-8" in refusal(path)
    path.write_bytes(b"#" * (1 << 20) + b"\n")
    assert "larger than" in refusal(path)
    assert "not a regular file" in refusal(Path("/dev/zero"))
    assert "No such file" in refusal(tmp_path / "nothing")


def test_only_the_whole_comment_tells_a_draw() -> None:
    header = draw_tasks(ALL, 7).draw.header
    assert told_draw(f"  {header} ") == draw_tasks(ALL, 7).draw
    assert told_draw(f"{header} and more") is None
    assert told_draw(header.replace("seed=7", "seed=-7")) is None
