"""Selection against the official package: its data, its function, its oddities."""

import random
from collections import Counter
from typing import Any

import pytest

from obo_bench.core.refusals import PreflightRefused, UsageError
from obo_bench.programbench import instances as instances_module
from obo_bench.programbench.instances import Instance, load_instances, programbench_version
from obo_bench.programbench.selection import Selector, check_selector, select

FIXTURE = "testorg__calculator.abc1234"


@pytest.fixture(scope="module")
def everything() -> tuple[Instance, ...]:
    return load_instances()


@pytest.fixture(scope="module")
def real(everything: tuple[Instance, ...]) -> tuple[Instance, ...]:
    return tuple(instance for instance in everything if not instance.is_fixture)


def ids(chosen: tuple[Instance, ...]) -> list[str]:
    return [instance.instance_id for instance in chosen]


def official(real: tuple[Instance, ...], **options: Any) -> list[str]:
    from programbench.utils.instance_filters import filter_instances

    state = random.getstate()
    chosen = filter_instances([{"instance_id": name} for name in ids(real)], **options)
    random.setstate(state)
    return [entry["instance_id"] for entry in chosen]


def test_the_foreign_interface_is_the_one_we_read() -> None:
    from programbench.utils.load_data import load_all_instances

    entries = load_all_instances(include_tests=False)
    required = {"instance_id", "image_name", "repository", "commit", "language"}
    assert len(entries) == 201
    for entry in entries:
        assert required <= set(entry) <= required | {"difficulty", "eval_clean_hashes"}, entry["instance_id"]
        assert all(isinstance(entry[key], str) for key in required), entry["instance_id"]
    assert [entry["instance_id"] for entry in entries] == sorted(entry["instance_id"] for entry in entries)


def test_the_whole_benchmark_is_200_instances_without_the_fixture(everything: tuple[Instance, ...]) -> None:
    chosen = select(everything, Selector())
    assert len(chosen) == 200
    assert FIXTURE not in ids(chosen)
    assert FIXTURE in ids(everything)
    assert sum(bool(instance.eval_clean_hashes) for instance in everything) == 161
    assert {instance.image_name for instance in chosen if "_1776_" not in instance.image_name} == set()


@pytest.mark.parametrize(
    ("difficulty", "by_language"),
    [
        ("easy", {"rs": 11, "go": 10, "c": 5, "cpp": 1}),
        ("medium", {"rs": 75, "go": 25, "c": 16, "cpp": 4}),
        ("hard", {"rs": 10, "go": 5, "c": 3}),
        ("none", {"rs": 11, "go": 6, "c": 9, "cpp": 7, "hs": 1, "java": 1}),
    ],
)
def test_difficulty_counts(everything: tuple[Instance, ...], difficulty: str, by_language: dict[str, int]) -> None:
    chosen = select(everything, Selector(difficulty=(difficulty,)))
    assert Counter(instance.language for instance in chosen) == by_language


def test_difficulty_and_language_narrow_together(everything: tuple[Instance, ...]) -> None:
    chosen = select(everything, Selector(difficulty=("easy", "hard"), language=("Go", " c ")))
    assert len(chosen) == 10 + 5 + 5 + 3


@pytest.mark.parametrize("cut", ["", "0:", ":", ":1", "::2", "-3:", " 0 : 300 ", "5", "::-1", "1:9:2"])
@pytest.mark.parametrize("pattern", ["", ".*c", "g", "[a-m].*__"])
@pytest.mark.parametrize("shuffle", [False, True])
def test_it_chooses_what_the_official_function_chooses(
    everything: tuple[Instance, ...], real: tuple[Instance, ...], cut: str, pattern: str, shuffle: bool
) -> None:
    expected = official(real, filter_spec=pattern, slice_spec=cut, shuffle=shuffle)
    assert expected
    assert ids(select(everything, Selector(filter=pattern, slice=cut, shuffle=shuffle))) == expected


def test_the_shuffle_is_the_official_one_and_leaves_the_random_state_alone(
    everything: tuple[Instance, ...], real: tuple[Instance, ...]
) -> None:
    random.seed(7)
    state = random.getstate()
    chosen = select(everything, Selector(shuffle=True, slice="0:3"))
    assert random.getstate() == state
    assert ids(chosen) == official(real, shuffle=True)[:3]
    assert ids(chosen)[0].startswith("google__brotli.")


def test_narrowing_comes_before_the_slice(everything: tuple[Instance, ...]) -> None:
    hard = ids(select(everything, Selector(difficulty=("hard",))))
    assert ids(select(everything, Selector(difficulty=("hard",), slice="2:4"))) == hard[2:4]


def test_the_fixture_is_chosen_only_by_name(everything: tuple[Instance, ...]) -> None:
    assert ids(select(everything, Selector(instance_ids=(FIXTURE,)))) == [FIXTURE]
    with pytest.raises(PreflightRefused, match="--filter 'testorg' left 0"):
        select(everything, Selector(filter="testorg"))


def test_ids_asked_for_again_or_with_blanks_count_once(
    everything: tuple[Instance, ...], real: tuple[Instance, ...]
) -> None:
    first, second = ids(real)[:2]
    chosen = select(everything, Selector(instance_ids=(second, f" {first}\n", second, "", first)))
    assert ids(chosen) == [first, second]


def test_an_unknown_id_is_refused_with_near_matches(
    everything: tuple[Instance, ...], real: tuple[Instance, ...]
) -> None:
    known = real[0].instance_id
    wrong = known[:-1] + ("0" if known[-1] != "0" else "1")
    with pytest.raises(PreflightRefused) as refused:
        select(everything, Selector(instance_ids=(known, wrong, "zzz")))
    assert refused.value.reason == "unknown_instance"
    assert repr(wrong) in refused.value.message
    assert known in refused.value.message
    assert "'zzz' (nothing near)" in refused.value.message
    assert refused.value.evidence["unknown"] == [wrong, "zzz"]


@pytest.mark.parametrize(
    ("selector", "told"),
    [
        (Selector(language=("cobol",)), "--language 'cobol' left 0 (there are: c, cpp, go, hs, java, rs)"),
        (Selector(difficulty=("easy",), language=("java",)), "--difficulty 'easy' left 27; --language 'java' left 0"),
        (Selector(filter="calculator"), "begin it with .*"),
        (Selector(slice="0"), "200 instances; --slice '0' left 0"),
        (Selector(slice="500:600", difficulty=("hard",)), "--difficulty 'hard' left 18; --slice '500:600' left 0"),
    ],
)
def test_an_empty_selection_names_what_left_nothing(
    everything: tuple[Instance, ...], selector: Selector, told: str
) -> None:
    with pytest.raises(PreflightRefused) as refused:
        select(everything, selector)
    assert refused.value.reason == "empty_selection"
    assert told in refused.value.message
    assert refused.value.exit_code == 5


@pytest.mark.parametrize(
    "selector",
    [
        Selector(slice="a:b"),
        Selector(slice="0:5:0"),
        Selector(slice="1:2:3:4"),
        Selector(slice=" "),
        Selector(slice="0.5"),
        Selector(filter="["),
        Selector(filter="(" * 5000),
        Selector(filter="a{99999999999999999999}"),
        Selector(difficulty=("easy", "brutal")),
        Selector(difficulty=("",)),
        Selector(language=(" ",)),
        Selector(instance_ids=(" ", "")),
    ],
)
def test_a_value_without_meaning_is_a_usage_error_before_anything_is_read(selector: Selector) -> None:
    with pytest.raises(UsageError, match=r"^--[a-z-]+.*: .*; ") as refused:
        check_selector(selector)
    assert len(str(refused.value)) < 400


def test_check_accepts_what_select_understands() -> None:
    check_selector(Selector(("EASY", "none"), ("rs",), ("x",), ".*", " 0 : 300 ", shuffle=True))


def test_a_package_that_cannot_list_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "programbench.utils.load_data", None)
    with pytest.raises(PreflightRefused) as refused:
        load_instances()
    assert refused.value.reason == "dataset_unavailable"


@pytest.mark.parametrize("entry", [{}, {"instance_id": "a__b.1234567", "language": "c"}])
def test_an_entry_of_another_shape_is_not_guessed(entry: dict[str, Any]) -> None:
    with pytest.raises(KeyError):
        instances_module._instance(entry)


def test_the_version_is_the_installed_one() -> None:
    assert programbench_version().split(".")[0] == "1"
