"""The ways out: what is done to a command, and how it must end."""

import signal
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

SERVER = "--ouroboros-url"
GATED = ("--allow-dirty-seed",)
"""What a command takes whose checkout must be clean."""
GRADER = ("--predictions",)
"""What a command takes that reads neither a checkout nor a run."""


@dataclass(frozen=True)
class Way:
    """One way out of every command that it applies to."""

    name: str
    status: int | None
    """What `$?` must be; None where only the agreement counts."""
    outcome: str | None
    """The typed outcome; None where nothing is recorded."""
    reason: str | None = None
    """The refusal's reason."""
    options: Mapping[str, str | None] = field(default_factory=dict)
    """Given in addition, where the command knows them."""
    needs: tuple[str, ...] = ()
    """Options without which the way does not exist for a command."""
    unless: tuple[str, ...] = ()
    """Options with which it is not needed."""
    brief: bool = False
    """Whether it is taken also where a function answers under a second name."""
    world: str = ""
    """What is wrong with the world: a method of `World`."""
    place: str = ""
    """Where the process misbehaves, see `child.PLACES`."""
    deed: str = ""
    """What it does there."""
    signals: tuple[int, ...] = ()
    """Sent one by one, each when the process has announced itself."""
    streams: str = ""
    """Redirections of a shell, or `late`: stdout's reader goes away in the middle."""
    envelope: bool = True
    """Whether stdout can be read."""
    succeeds: bool = False
    """Whether the command does its whole work: some need a container engine for that."""


def refusals() -> Iterator[Way]:
    yield Way("seed_gate: dirty", 4, "refused", "seed_dirty", needs=GATED, world="dirty", brief=True)
    yield Way("seed_gate: no commit", 4, "refused", "seed_identity_unavailable", needs=GATED, world="no_commit")
    yield Way("seed_shape: a subdirectory", 4, "refused", "seed_not_toplevel", needs=GATED, world="subdirectory")
    yield Way("preflight: no such run", 5, "refused", "run_not_found", unless=(*GATED, *GRADER), brief=True)
    yield Way("preflight: no predictions", 5, "refused", "predictions_unreadable", needs=GRADER)
    missing = {"--seed-commit": "deadbeef" * 5}
    yield Way("lineage: missing commit", 4, "refused", "lineage_unknown", missing, ("--seed-commit",))
    yield Way("lineage: other line", 4, "refused", "lineage_broken", needs=("--seed-commit",), world="other_line")
    stamp: dict[str, str | None] = {"--require-stamp": None}
    yield Way("lineage: no stamp", 4, "refused", "stamp_absent", stamp, ("--require-stamp",))
    nobody: dict[str, str | None] = {SERVER: "http://127.0.0.1:1"}
    yield Way("attestation: nobody there", 3, "refused", "runtime_unreachable", nobody, (SERVER,))
    yield Way("attestation: other version", 3, "refused", "runtime_skew", needs=(SERVER,), world="other_version")
    model: dict[str, str | None] = {"--solve-model": "other::model"}
    yield Way("preflight: other model", 5, "refused", "target_settings_mismatch", model, (SERVER, "--solve-model"))
    yield Way("preflight: locked", 5, "refused", "run_locked", world="locked")
    yield Way("preflight: runs root is a file", 5, None, "run_root_unwritable", world="runs_root_is_a_file")
    yield Way("preflight: output in checkout", 5, None, "output_not_confined", world="runs_root_in_checkout")


def errors() -> Iterator[Way]:
    yield Way("admission: SystemExit(0)", 70, "crashed", place="admission", deed="sys.exit(0)")
    yield Way("admission: SystemExit(7)", 7, "child_failed", place="admission", deed="sys.exit(7)", brief=True)
    yield Way("admission: 1 / 0", 70, "crashed", place="admission", deed="1 / 0", brief=True)
    # Where a command asks no server, there is one place less to misbehave in.
    for place, needs, unless in (("body", (SERVER,), ()), ("admission", (), (SERVER,))):
        for deed in (
            "1 / 0",
            "raise Unspeakable",
            "raise Own",
            "raise GeneratorExit",
            "raise BrokenPipeError(32, 'x')",
        ):
            yield Way(f"{place}: {deed}", 70, "crashed", place=place, deed=deed, needs=needs, unless=unless)
        for code, status in ((1, 1), (7, 7), (255, 255), ("'text'", 1), (256, 1), (-1, 255), (2**70, 1), (True, 1)):
            deed = f"raise SystemExit({code})"
            yield Way(f"{place}: {deed}", status, "child_failed", place=place, deed=deed, needs=needs, unless=unless)
        yield Way(
            f"{place}: SystemExit(70)", 70, "crashed", place=place, deed="sys.exit(70)", needs=needs, unless=unless
        )
        deed = "raise KeyboardInterrupt"
        yield Way(f"{place}: {deed}", 130, "interrupted", place=place, deed=deed, needs=needs, unless=unless)
    yield Way("body: SystemExit(0)", 0, "completed", needs=(SERVER,), place="body", deed="sys.exit(0)")
    swallowed = "\ntry: raise refusals.PreflightRefused('settings_unreadable', 'x')\nexcept Exception: pass\n"
    yield Way("body: swallowed refusal, SystemExit(0)", 5, "refused", "settings_unreadable", needs=(SERVER,),
              place="body", deed=f"{swallowed}sys.exit(0)")  # fmt: skip
    yield Way("body: swallowed refusal, error", 70, "crashed", needs=(SERVER,), place="body", deed=f"{swallowed}1 / 0")
    yield Way("answering: error", 4, "refused", "seed_dirty", needs=GATED, world="dirty", place="answering",
              deed="1 / 0", envelope=False)  # fmt: skip


def signalled() -> Iterator[Way]:
    deed = "announce(); block()"
    for sent in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        name, status = sent.name, 128 + sent
        yield Way(f"{name} while opening", status, "interrupted", place="opening", deed=deed, signals=(sent,))
        yield Way(
            f"{name} in admission", status, "interrupted", place="admission", deed=deed, signals=(sent,), brief=True
        )
        yield Way(
            f"{name} in the body", status, "interrupted", needs=(SERVER,), place="body", deed=deed, signals=(sent,)
        )
    yield Way("SIGTERM while parsing", 143, None, place="parsing", deed=deed, signals=(signal.SIGTERM,), envelope=False)
    for place in ("closing", "releasing", "answering"):
        yield Way(f"SIGTERM while {place}", 4, "refused", "seed_dirty", needs=GATED, world="dirty", place=place,
                  deed=deed, signals=(signal.SIGTERM,))  # fmt: skip
    both = (signal.SIGINT, signal.SIGTERM)
    yield Way("second signal in clean-up", 143, "interrupted", place="admission", signals=both,
              deed="\ntry:\n  announce(); block()\nfinally:\n  announce(); block()")  # fmt: skip
    yield Way("signal, then an error in clean-up", 130, "interrupted", place="admission", signals=both[:1],
              deed="\ntry:\n  announce(); block()\nfinally:\n  1 / 0")  # fmt: skip
    yield Way("swallowed signal", 130, "interrupted", place="admission", signals=both[:1], world="dirty",
              deed="\ntry:\n  announce(); block()\nexcept BaseException:\n  pass")  # fmt: skip


def streams() -> Iterator[Way]:
    closed = (">&-", "2>&-", ">&- 2>&-", "<&- >&- 2>&-", ">/dev/full", "2>/dev/full", "| :")
    for redirection in closed:
        readable = not redirection.startswith((">", "<", "|"))
        yield Way(f"refused, {redirection}", 4, "refused", "seed_dirty", needs=GATED, world="dirty",
                  streams=redirection, envelope=readable)  # fmt: skip
        yield Way(f"no such run, {redirection}", 5, "refused", "run_not_found", unless=(*GATED, *GRADER),
                  streams=redirection, envelope=readable)  # fmt: skip
        yield Way(f"no predictions, {redirection}", 5, "refused", "predictions_unreadable", needs=GRADER,
                  streams=redirection, envelope=readable)  # fmt: skip
    yield Way("error, stdout closed in the middle", 70, "crashed", place="admission", deed="announce(); block(); 1 / 0",
              streams="late", envelope=False)  # fmt: skip


def full_disks() -> Iterator[Way]:
    full = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (64, 64))"
    yield Way("disk full from the start", 5, None, "run_root_unwritable", place="opening", deed=full)
    yield Way("disk full in admission", 5, None, "run_root_unwritable", place="admission", deed=full)
    yield Way(
        "disk full when it refuses",
        5,
        None,
        "run_root_unwritable",
        needs=GATED,
        world="dirty",
        place="closing",
        deed=full,
    )
    yield Way("disk full when it crashes", 5, None, "run_root_unwritable", place="admission", deed=f"{full}; 1 / 0")
    yield Way("disk full and a signal", 143, None, place="admission", signals=(signal.SIGTERM,),
              deed=f"{full}; announce(); block()")  # fmt: skip


def successes() -> Iterator[Way]:
    dry: dict[str, str | None] = {"--dry-run": None}
    yield Way("success", 0, None, options=dry, succeeds=True, brief=True)
    yield Way("success, stdout closed", 0, None, options=dry, succeeds=True, streams=">&-", envelope=False)
    yield Way("success, allowed dirt", 0, None, options={**dry, "--allow-dirty-seed": None}, world="dirty",
              needs=("--allow-dirty-seed",), succeeds=True)  # fmt: skip


WAYS = {way.name: way for group in (successes, refusals, errors, signalled, streams, full_disks) for way in group()}
