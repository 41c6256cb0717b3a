"""What a launcher prints: no secret wherever the pieces are cut, all other bytes kept, nothing unbounded."""

import os
import random
import threading
from pathlib import Path

import pytest

from obo_bench.core.redact import Redactor
from obo_bench.launch.child.output_log import OutputLog
from obo_bench.launch.child.pump import Pump
from obo_bench.launch.child.redacting import LONGEST_LINE, RedactingStream
from obo_bench.launch.child.screen import Screen, tame
from obo_bench.launch.contract.line_tail import TOO_LONG, LineTail

SECRET = "correct-horse-battery-staple"


def stream() -> RedactingStream:
    return RedactingStream(Redactor([SECRET]))


def in_pieces(data: bytes, cuts: list[int], *, idle: bool) -> bytes:
    under, out = stream(), b""
    for start, end in zip([0, *cuts], [*cuts, len(data)], strict=True):
        out += under.feed(data[start:end])
        if idle:
            out += under.idle()
    return out + under.close()


@pytest.mark.parametrize("idle", [False, True])
def test_a_secret_is_masked_wherever_the_stream_is_cut(idle: bool) -> None:
    data = f"one {SECRET} two\r50%\r{SECRET}\nTOKEN={SECRET[:9]}\nBearer abcdefghijk\nend".encode() + b"\xff\xfe"
    whole = in_pieces(data, [], idle=False)
    assert whole == (b"one [redacted] two\r50%\r[redacted]\nTOKEN=[redacted]\nBearer [redacted]\nend\xff\xfe")
    for cut in range(1, len(data)):
        assert in_pieces(data, [cut], idle=idle) == whole, cut
    source = random.Random(7)
    for _ in range(50):
        assert in_pieces(data, sorted(source.sample(range(1, len(data)), 8)), idle=idle) == whole


def test_progress_without_a_newline_is_shown_but_no_word_before_it_is_whole() -> None:
    under = stream()
    assert under.feed(b"working ...") + under.idle() == b"working ..."
    assert under.feed(b"... half-a-word") + under.idle() == b"... "
    assert under.feed(b" done\n") == b"half-a-word done\n"


def test_a_line_without_end_is_given_in_parts_that_cut_no_secret() -> None:
    line = (b"x" * 1000 + SECRET.encode()) * 500
    out = in_pieces(line, list(range(60_000, len(line), 60_000)), idle=False)
    assert out == (b"x" * 1000 + b"[redacted]") * 500
    under = stream()
    assert len(under.feed(b"y" * (3 * LONGEST_LINE))) > LONGEST_LINE


def test_nothing_of_the_output_drives_the_terminal() -> None:
    hostile = b"\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b]52;c;eA==\x1b\\ \x1bc\x9b2J\x08\x00\xe2\x80\xae|\t100%\r\n"
    shown = tame(hostile).decode()
    assert shown.startswith("red ")
    assert shown.endswith("|\t100%\r\n")
    assert all(character.isprintable() or character in "\t\r\n" for character in shown)


def test_the_log_keeps_the_beginning_and_the_end(tmp_path: Path) -> None:
    told: list[str] = []
    log = OutputLog(tmp_path / "output.log", told.append, head=100, tail=50)
    lines = [b"%04d\n" % number for number in range(400)]
    for line in lines:
        log.write(line)
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= 100 + 3 * 50
    log.close()
    text = (tmp_path / "output.log").read_bytes()
    head, _, tail = text.partition(b"\n[... ")
    assert head == b"".join(lines)[:100]
    assert tail.endswith(b"".join(lines)[-50:])
    left_out = int(tail.split()[0])
    assert left_out == 2000 - 100 - len(tail.partition(b"...]\n")[2])
    assert [path.name for path in tmp_path.iterdir()] == ["output.log"]
    assert told == []


def test_a_log_that_cannot_be_written_is_told_once_and_the_output_goes_on(tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "output.log").mkdir()
    log = OutputLog(tmp_path / "output.log", told.append)
    log.write(b"x")
    log.close()
    assert len(told) == 1


def test_a_log_that_was_replaced_is_told(tmp_path: Path) -> None:
    told: list[str] = []
    log = OutputLog(tmp_path / "output.log", told.append)
    (tmp_path / "output.log").unlink()
    (tmp_path / "output.log").write_bytes(b"mine")
    log.close()
    assert told
    assert "replaced" in told[0]


def test_a_broken_screen_holds_nothing_up_and_lines_are_read_whole(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    lines: list[str] = []
    pump = Pump(Redactor(), Screen(writer), OutputLog(tmp_path / "output.log", lines.append), lines.append)
    inlet = os.dup(pump.inlet)
    pump.start()
    for piece in (b"one", b" line\ntwo\r", b"th\xff", b"ree"):
        os.write(inlet, piece)
    os.close(inlet)
    assert pump.close()
    os.close(writer)
    assert lines == ["one line", "two", "th\ufffdree"]
    assert (tmp_path / "output.log").read_bytes() == b"one line\ntwo\rth\xffree"


def test_lines_are_read_once_while_the_file_grows_and_never_from_what_is_none(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    tail = LineTail(path)
    assert tail.block() == []
    path.write_bytes(b"a\nb")
    assert tail.block() == [b"a"]
    with path.open("ab") as stream:
        stream.write(b"c\n" + b"z" * (1 << 20) + b"\nlast")
    assert tail.block() + tail.block() == [b"bc", TOO_LONG]
    assert (tail.block(), tail.rest(), tail.rest()) == ([], [b"last"], [])
    longer = tmp_path / "longer"
    longer.write_bytes(path.read_bytes() + b" one\n")
    longer.replace(path)
    assert (tail.block(), tail.trouble) == ([b" one"], "")
    path.unlink()
    os.mkfifo(path)
    reading = threading.Thread(target=tail.block)
    reading.start()
    reading.join(10)
    assert not reading.is_alive()
    assert "regular" in tail.trouble


@pytest.mark.parametrize(("after", "why"), [(b"a\n", "shortened"), (b"x\nb\nc\n", "replaced")])
def test_a_file_that_does_not_only_grow_is_read_no_more(tmp_path: Path, after: bytes, why: str) -> None:
    path, other = tmp_path / "lines", tmp_path / "other"
    path.write_bytes(b"a\nb\n")
    tail = LineTail(path)
    assert tail.block() == [b"a", b"b"]
    other.write_bytes(after)
    other.replace(path)
    assert tail.block() == []
    assert why in tail.trouble
