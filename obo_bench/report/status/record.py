"""What kind of record a directory is, which invocation it tells of, and whether that invocation's process lives."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from obo_bench.core.files import read_json_object
from obo_bench.core.ledger_row import LEDGER_NAME
from obo_bench.core.lock import OWNER_NAME, living_owner
from obo_bench.core.roots import MANIFEST_NAME, without_dots
from obo_bench.programbench.admission.order import ORDER_NAME
from obo_bench.programbench.no_run import holds_only_refusals
from obo_bench.report.launched import is_launched
from obo_bench.report.status.document import ProcessStatus

KINDS: Mapping[str, str] = {
    "programbench run": "run",
    "programbench export": "export",
    "programbench prepare": "prepared",
    "programbench attest": "attest",
    "attest": "attest",
    "programbench gate": "gate",
    "programbench eval": "graded",
    "exec": "exec",
    "benchmark_run": "benchmark_run",
    "campaign run": "campaign",
    "campaign resume": "campaign",
    "grade swe-bench-pro": "grade",
}
"""What a record is called, by the command that made it."""
_PLACES = ("", "eval", "gate")
"""Directories of a run that hold the manifest of a command."""
_MOST_PREPARED = 1000


@dataclass(frozen=True)
class Record:
    """A recorded directory."""

    root: Path
    """The directory."""
    kind: str
    """As in the status document."""
    manifest: Mapping[str, Any]
    """The manifest that the record is about; empty when none can be read."""
    process: ProcessStatus
    """The process that is or was at work on it."""
    problems: tuple[str, ...] = ()
    """What cannot be read."""

    @property
    def extra(self) -> Mapping[str, Any]:
        """The part of the manifest that tells outcome and findings."""
        return mapping(self.manifest.get("extra"))

    @property
    def harness(self) -> Mapping[str, Any]:
        """The part of the manifest that tells versions, server and limits."""
        return mapping(self.manifest.get("harness"))

    @property
    def launched(self) -> bool:
        """Whether another launcher is what it tells of."""
        return is_launched(self.manifest.get("command"))

    @property
    def alive(self) -> bool:
        """Whether a process is at work."""
        return self.process.state == "alive"

    @property
    def outcome(self) -> str:
        """How it ended: `started` while it has not, `killed` when nobody is left to end it."""
        told = str(self.extra.get("outcome") or "unknown")
        return "killed" if told == "started" and self.process.state == "killed" else told


def mapping(value: object) -> Mapping[str, Any]:
    """Return a foreign value as the mapping that it should be, empty when it is something else."""
    return value if isinstance(value, Mapping) else {}


def number(value: object) -> float | None:
    """Return a foreign value as the number that it should be, None when it is something else."""
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def is_record(root: Path) -> bool:
    """Say whether a directory holds anything that a command of ours has recorded, beside that there is no such run."""
    if holds_only_refusals(root):
        return False
    names = (MANIFEST_NAME, ORDER_NAME, LEDGER_NAME, f"eval/{MANIFEST_NAME}")
    return any((root / name).is_file() for name in names) or any(_prepared(root))


def read_record(root: Path) -> Record:
    """Return what is recorded in a directory."""
    homes = [root, *_prepared(root)] if not (root / MANIFEST_NAME).exists() else [root]
    records = [_record(root, home) for home in homes]
    weight = {"alive": 3, "killed": 2, "unknown": 1}
    return max(records, key=lambda record: (weight.get(record.process.state, 0), bool(record.manifest), _age(record)))


def _record(root: Path, home: Path) -> Record:
    """Read the record whose lock lies in `home`: of several preparations each has its own."""
    standing = read_json_object(home / MANIFEST_NAME)
    manifests = [standing, *_others(home)] if standing is not None else list(_others(home))
    # A gate in a run is no record of the run; in its own directory its manifest is the one that stands.
    own = standing or next((one for one in manifests if one.get("command") != "programbench gate"), {})
    process = _process(home, manifests, own)
    told = next((one for one in manifests if one.get("invocation") == process.invocation), own)
    damaged = standing is None and (home / MANIFEST_NAME).exists()
    problems = (f"{home / MANIFEST_NAME} cannot be read",) if damaged else ()
    # A refused resume or an evaluation tells nothing of what the run was asked for.
    shown = told if process.state in ("alive", "killed") and _tells_a_run(told) else own
    return Record(without_dots(root), KINDS.get(str(own.get("command")), "other"), shown, process, problems)


def _tells_a_run(manifest: Mapping[str, Any]) -> bool:
    return manifest.get("command") not in ("programbench eval", "programbench gate")


def _others(home: Path) -> Iterator[Mapping[str, Any]]:
    """Yield the other manifests of a run: of its evaluation and its gate, and of whoever took its lock last."""
    owner = mapping(read_json_object(home / OWNER_NAME)).get("invocation")
    for place in _PLACES[1:]:
        found = read_json_object(home / place / MANIFEST_NAME)
        if found is not None:
            yield found
    if isinstance(owner, str) and Path(owner).name == owner:
        # One that is not through its gates yet has not set the earlier manifest aside.
        for place in _PLACES:
            found = read_json_object(home / place / "manifests" / f"{owner}.json")
            if found is not None:
                yield found


def _process(home: Path, manifests: Sequence[Mapping[str, Any]], own: Mapping[str, Any]) -> ProcessStatus:
    try:
        living = living_owner(home)
    except OSError as error:
        return _told("unknown", {}, own, f"the run's lock cannot be tried: {error.strerror or error}")
    left = living if living is not None else mapping(read_json_object(home / OWNER_NAME))
    ours = next((one for one in manifests if left and one.get("invocation") == left.get("invocation")), None)
    if living is not None:
        return _told("alive", living, ours or {})
    if left:
        return _told("killed", left, ours or {})
    unfinished = mapping(own.get("extra")).get("outcome") == "started"
    return _told("killed" if unfinished else "ended", {}, own)


def _told(state: Any, owner: Mapping[str, Any], manifest: Mapping[str, Any], detail: str = "") -> ProcessStatus:
    pid, host = owner.get("pid"), owner.get("host")
    invocation = str(owner.get("invocation") or manifest.get("invocation") or "")
    # `cancel` and `gc` write no manifest: their invocations are called after them.
    named = invocation.split("-", 1)[0] if owner and not manifest else ""
    return ProcessStatus(
        state=state,
        command=str(manifest.get("command") or (f"programbench {named}" if named.isalpha() else "")),
        invocation=invocation,
        pid=pid if isinstance(pid, int) else None,
        host=str(host) if host else None,
        since_unix=number(owner.get("started_unix")),
        detail=detail,
    )


def _prepared(root: Path) -> Iterator[Path]:
    """Yield the instance directories that `prepare` has recorded."""
    for count, path in enumerate(root.glob(f"*/{MANIFEST_NAME}")):
        if count >= _MOST_PREPARED:
            return
        if path.parent.name not in _PLACES:
            yield path.parent


def _age(record: Record) -> float:
    return number(record.manifest.get("created_at_unix")) or 0.0
