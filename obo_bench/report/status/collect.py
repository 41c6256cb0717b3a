"""Collects the status of a run: from its files, and, in bounded time, from its server and its engine."""

import shlex
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from obo_bench.core.files import read_json_object
from obo_bench.core.ledger_reader import latest_rows, read_rows
from obo_bench.core.ledger_row import LEDGER_NAME, Row
from obo_bench.gateway.cost import usd
from obo_bench.programbench.admission.order import ORDER_NAME
from obo_bench.programbench.leftovers.run_lookup import RecordedRun, run_nonce
from obo_bench.programbench.solving.account import Account
from obo_bench.report.launched import UNKNOWN, is_untold, log_of, silence, why
from obo_bench.report.legs import legs_of
from obo_bench.report.status.document import AT_WORK, InstanceStatus, MoneyStatus, RunStatus, ServerStatus
from obo_bench.report.status.events import last_events
from obo_bench.report.status.grading import evaluation_status, grade_status
from obo_bench.report.status.instances import InstanceFiles
from obo_bench.report.status.live import LiveServer, look_at_containers
from obo_bench.report.status.record import Record, mapping, number, read_record
from obo_bench.report.status.repeating import repeated
from obo_bench.report.status.resume import Foretelling

_ALL_ROWS_BYTES = 64 * 1024 * 1024
"""Up to this size of the ledger the costs of all attempts are added up; beyond it only those of the last ones."""
_SOLVING = "run"


@dataclass
class StatusReader:
    """Reads the status of one run, again and again; a ledger that has not changed is not read again."""

    root: Path
    """The run."""
    url: str | None = None
    """The server's address, where it is not the recorded one."""
    _seen: tuple[int, int, int] | None = None
    _rows: dict[str, Row] = field(default_factory=dict)
    _account: Account = field(default_factory=Account)

    def read(self) -> RunStatus:
        """Return the present status; what cannot be read is among its problems."""
        record = read_record(self.root)
        problems = list(record.problems)
        whole = self._read_ledger(problems)
        instances = InstanceFiles(record, self._rows, problems).statuses(_requested(record, self._rows))
        status = _described(record, instances)
        status.money = _money(record, self._account, whole=whole)
        status.evaluation = evaluation_status(record, instances)
        status.grades = grade_status(self.root, instances, problems)
        status.events = last_events(record, self._rows.values())
        if record.kind == _SOLVING:
            self._ask(record, status)
        elif record.process.state == "killed":
            status.resume = repeated(record)
        status.totals, status.problems = _totals(instances), problems
        return status

    def _ask(self, record: Record, status: RunStatus) -> None:
        run = RecordedRun(self.root, run_nonce(self.root), record.manifest)
        open_ = [one for one in status.instances if one.state in AT_WORK or one.state == "left"]
        with closing(LiveServer.of_run(run, self.url)) as server:
            server.look_at(open_)
            if not record.alive:
                status.resume = Foretelling(record, server, status.money).foretell(status.instances)
            status.server = server.status
        status.engine = look_at_containers(run, open_)
        _add_running(status.money, [one for one in open_ if one.task_id])

    def _read_ledger(self, problems: list[str]) -> bool:
        """Read the ledger where it has changed; says whether all of its attempts were counted."""
        path = self.root / LEDGER_NAME
        try:
            stat = path.stat()
            signature, whole = (stat.st_ino, stat.st_size, stat.st_mtime_ns), stat.st_size <= _ALL_ROWS_BYTES
            if signature != self._seen:
                self._rows = latest_rows(path)
                self._account = Account(read_rows(path) if whole else self._rows.values())
                self._seen = signature
        except OSError as error:
            self._seen, self._rows, self._account, whole = None, {}, Account(), True
            if not isinstance(error, FileNotFoundError):
                problems.append(f"{path} cannot be read: {error.strerror or error}")
        return whole


def _requested(record: Record, rows: Mapping[str, Row]) -> list[str]:
    """Return the instances in the order in which they were asked for; without a record of that, those of the ledger."""
    for told in (
        record.manifest.get("requested_task_ids") if record.kind == _SOLVING or record.launched else None,
        (read_json_object(record.root / ORDER_NAME) or {}).get("instance_ids"),
    ):
        if isinstance(told, list):
            return list(dict.fromkeys(map(str, told)))
    return list(rows)


def _described(record: Record, instances: list[InstanceStatus]) -> RunStatus:
    extra, manifest = record.extra, record.manifest
    created, finished = number(manifest.get("created_at_unix")), number(extra.get("finished_at_unix"))
    now, refusal = time.time(), mapping(extra.get("refusal"))
    legs = legs_of(record.root, manifest, record.process.invocation if record.alive else None, now)
    end = now if record.alive else finished
    model, workers = record.harness.get("solve_model"), number(record.harness.get("workers"))
    exit_code, requested = number(extra.get("exit_code")), number(manifest.get("requested_count"))
    return RunStatus(
        taken_at_unix=now,
        kind=record.kind,
        run_id=record.root.name,
        run_root=str(record.root),
        command=str(manifest.get("command") or ""),
        outcome=record.outcome,
        exit_code=None if exit_code is None else int(exit_code),
        why=str(refusal.get("message") or mapping(extra.get("error")).get("message") or _why(record, instances)),
        remedy=str(refusal.get("remedy") or _log(record)),
        created_at_unix=created,
        finished_at_unix=finished,
        elapsed_sec=None if created is None or end is None else max(0.0, end - created),
        **legs.fields(),
        invocations=legs.count,
        killed_invocations=legs.killed,
        process=record.process,
        server=ServerStatus(url=str(record.harness.get("ouroboros_url") or "")),
        model=str(model) if model else None,
        workers=None if workers is None else int(workers),
        money=MoneyStatus(),
        requested=len(instances) if requested is None and instances else None if requested is None else int(requested),
        totals={},
        instances=instances,
        evaluation=evaluation_status(record, ()),
    )


def _why(record: Record, instances: list[InstanceStatus]) -> str:
    """Return what else tells of an ending that is no success: what a launcher did, or that it told nothing."""
    if record.alive or not record.launched:
        return ""
    silent = record.outcome == "completed" and all(one.state == UNKNOWN for one in instances)
    return silence(record.manifest) if silent and is_untold(record.manifest) else why(record.manifest)


def _log(record: Record) -> str:
    """Return where a launcher that has ended may have said more."""
    log = log_of(record.manifest, record.root) if record.launched and not record.alive else None
    return f"look into its log for more: {shlex.quote(str(log))}" if log is not None else ""


def _money(record: Record, account: Account, *, whole: bool) -> MoneyStatus:
    told = account.document()
    return MoneyStatus(
        known_usd=told["known_usd"],
        unknown_attempts=told["unknown"],
        lower_bound=told["lower_bound"] or not whole,
        ceiling_usd=usd(record.harness.get("max_cost_usd")),
    )


def _add_running(money: MoneyStatus, tasks: Sequence[InstanceStatus]) -> None:
    """Take the tasks into account that no row tells of yet."""
    known = [one.cost_usd for one in tasks if one.cost_usd is not None]
    money.running_usd = round(sum(known), 6) if known else None
    money.unknown_attempts += len(tasks) - len(known)
    money.lower_bound = money.lower_bound or bool(tasks)


def _totals(instances: list[InstanceStatus]) -> dict[str, int]:
    totals: dict[str, int] = {}
    for instance in instances:
        totals[str(instance.state)] = totals.get(str(instance.state), 0) + 1
    return totals
