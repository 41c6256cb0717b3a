"""From the state of a run to what is drawn: pure, for any size, and without a terminal."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from obo_bench.core.forecast import duration_text, spending_text, time_left_text
from obo_bench.core.run_state import Snapshot
from obo_bench.report.board.cells import clean
from obo_bench.report.board.rows import instance_rows
from obo_bench.report.board.style import OUTCOME_STYLES, signs_for
from obo_bench.report.board.wrapping import fitted

if TYPE_CHECKING:
    from rich.console import Group
    from rich.text import Text

_MOST_EVENTS = 6
_FEWEST_ROWS = 3
_BAR = 30


def board(snapshot: Snapshot, width: int, height: int, encoding: str = "utf-8") -> "Group":
    """Return the board of a run for `width` columns and `height` rows; it takes fewer where it has less to show."""
    from rich.console import Group

    head = [*_header(snapshot, width, encoding)][: max(height, 1)]
    room = height - len(head)
    events = min(len(snapshot.events), _MOST_EVENTS, max(room - _FEWEST_ROWS - 1, 0))
    rows = room - (events + 1 if events else 0)
    active = list(instance_rows(snapshot, width, rows, encoding)) if rows >= 1 and snapshot.active else []
    told = list(_events(snapshot, events, room - len(active) - 1, width, encoding)) if events else []
    return Group(*map(_cut, [*head, *active, *told]))


def _header(snapshot: Snapshot, width: int, encoding: str) -> "Iterator[Text]":
    from rich.text import Text

    run = snapshot.run
    name = Text(clean(f"run {run.run_id or '?'}", encoding), style="bold")
    times = [f"elapsed {duration_text(snapshot.elapsed_sec)}", *_time_left(snapshot)]
    yield from _wrapped([name, *(Text(clean(time, encoding)) for time in times)], width, encoding)
    server = [f"server {run.server_version}"] if run.server_version else []
    model = [run.model] if run.model else []
    money = [f"spent {spending_text(snapshot)}"] if snapshot.spent_usd is not None else []
    facts = [Text(clean(word, encoding)) for word in (*server, *model, *money)]
    yield from _wrapped(facts, width, encoding) if facts else ()
    yield _stage(snapshot, width, encoding)
    if run.total is not None:
        yield from _wrapped(list(_totals(snapshot, encoding)), width, encoding)


def _time_left(snapshot: Snapshot) -> "Iterator[str]":
    """Name the stage: another one may follow."""
    if snapshot.run.total is not None and (snapshot.active or snapshot.waiting):
        yield f"{snapshot.run.stage or 'starting'}: {time_left_text(snapshot) or 'time left unknown'}"


def _wrapped(words: "Sequence[Text]", width: int, encoding: str) -> "Iterator[Text]":
    """Give as many lines as the facts need, none of them torn apart."""
    from rich.text import Text

    dot, line = f" {signs_for(encoding).dot} ", Text()
    for word in words:
        if line and line.cell_len + len(dot) + word.cell_len > width:
            yield line
            line = Text()
        line = Text.assemble(line, (dot, "dim"), word) if line else word
    yield line


def _stage(snapshot: Snapshot, width: int, encoding: str) -> "Text":
    from rich.text import Text

    signs, total, done = signs_for(encoding), snapshot.run.total, snapshot.done
    line = Text()
    line.append(clean(snapshot.run.stage or "starting", encoding), style="bold")
    if total is None:
        return line
    length = max(min(_BAR, width - 24), 4)
    full = length * min(done, total) // total if total else length
    line.append(" " + signs.full * full, style="green")
    line.append(signs.empty * (length - full), style="dim")
    return line.append(f" {done}/{total}")


def _totals(snapshot: Snapshot, encoding: str) -> "Iterator[Text]":
    from rich.text import Text

    counts = [*snapshot.ended.items(), ("at work", len(snapshot.active)), ("waiting", snapshot.waiting)]
    for name, number in counts:
        if number is not None:
            yield Text(f"{number} {clean(name, encoding)}", style=OUTCOME_STYLES.get(name, ""))


def _events(snapshot: Snapshot, count: int, room: int, width: int, encoding: str) -> "Iterator[Text]":
    """Give the latest events in at most `room` lines, a line for each at least."""
    from rich.text import Text

    yield Text()
    told = [f"{event.at} {clean(event.text, encoding)}" for event in list(snapshot.events)[-count:]]
    for lines in fitted(told, width, room - len(told), encoding):
        at, _, rest = lines[0].partition(" ")
        yield Text.assemble((f"{at} ", "dim"), rest)
        yield from map(Text, lines[1:])


def _cut(line: "Text") -> "Text":
    """Never wrap: a line more would push the board out of the terminal."""
    line.no_wrap, line.overflow = True, "crop"
    return line
