"""Mistakes in a command line: the message names what was typed, what is wrong with it, and what may be meant."""

import subprocess
import sys

import pytest

from tests.conftest import obo


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("programbench run --workers 0", "'--workers': '0' is less than 1"),
        ("programbench run --workers three", "'--workers': 'three' is no whole number"),
        ("programbench run --max-cost-usd -1", "'--max-cost-usd': '-1' is less than 0"),
        ("programbench run --max-cost-usd much", "'--max-cost-usd': 'much' is no number"),
        ("programbench run --on-interrupt stay", "'--on-interrupt': 'stay' is not one of 'detach', 'cancel'."),
        ("practice gateway --port 70000", "'--port': '70000' is more than 65535"),
        ("status", "No such command 'status'. Did you mean 'programbench status' or 'campaign status'?"),
        ("gateway", "No such command 'gateway'. Did you mean 'practice gateway'?"),
        ("evla", "No such command 'evla'. Did you mean 'eval'?"),
        ("xyzzy", "No such command 'xyzzy'."),
    ],
)
def test_a_mistake_is_told_with_what_was_typed(words: str, said: str) -> None:
    done = obo(*words.split())
    assert (done.status, done.stdout) == (2, "")
    assert done.stderr.rstrip().endswith(said)


def test_a_value_of_the_environment_is_told_the_same_way() -> None:
    done = obo("programbench", "run", "--repo-dir", ".", env={"OBO_BENCH_WORKERS": "0"})
    assert done.status == 2
    assert "OBO_BENCH_WORKERS is '0', which --workers does not take: '0' is less than 1; correct it" in done.stderr


@pytest.mark.parametrize(
    ("redirection", "status", "told"),
    [
        (">/dev/full", 1, "could not be written to standard output: No space left on device"),
        (">&-", 0, ""),
        ("| :", 0, ""),
    ],
)
def test_an_answer_that_is_lost_is_told_but_nobody_has_to_read_it(redirection: str, status: int, told: str) -> None:
    script = f"set -o pipefail; {sys.executable} -m obo_bench reasons --json {redirection}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == status
    assert told in done.stderr
    assert bool(done.stderr) == bool(told)
