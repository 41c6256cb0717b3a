"""What may touch the world before the manifest exists: the seam's named first acts, each as it is written there.

Anything else in these functions, and these acts anywhere else, are violations; so a change of the seam shows up here.
"""

ENTRANCES = frozenset({"obo_bench.core.session:admit_benchmark_run", "obo_bench.core.ending:concluded"})
"""Functions in whose calls the first acts are allowed: the admission, and the reader of a record that exists."""

RECORDED = frozenset({"obo_bench.core.record:ManifestStore.write", "obo_bench.core.session:Session.checkpoint"})
"""When the first call of these returns, the manifest is on disk."""

CONCLUDED = "obo_bench.core.ending:concluded"
"""Gives None when nothing is recorded, so whatever follows a test for that comes after admission."""

DISPATCHER = "typer.Typer"
"""Calling one hands over to the commands, which are walked on their own."""

FIRST_ACTS: dict[str, frozenset[str]] = {
    # which of the functions below the seam may call, and with what
    "obo_bench.core.session:Session.__init__": frozenset({"RunLock(request.run_root, self.invocation)"}),
    "obo_bench.core.session:Session.open": frozenset({"check_confined(output, places, request.input_files)"}),
    "obo_bench.core.session:Session._claim": frozenset(
        {"self._store.prepare()", "self._lock.acquire()", "self._store.adopt_earlier()"}
    ),
    "obo_bench.core.session:Session._conclude": frozenset({"self._store.promote()"}),
    "obo_bench.core.session:Session._give_back": frozenset({"self._lock.release(...", "self._lock.release()"}),
    "obo_bench.core.record:ManifestStore.write": frozenset({"write_json(self.path, document)"}),
    "obo_bench.core.ending:concluded": frozenset({"read_json_object(_last[0])"}),
    "obo_bench.core.files:write_json": frozenset({"write_bytes(path, json_bytes(payload))"}),
    # confinement: links are resolved
    "obo_bench.core.roots:check_confined": frozenset({"output.resolve()", "place.resolve()"}),
    # the run root and its lock
    "obo_bench.core.record:ManifestStore.prepare": frozenset(
        {"make_private_directory(self._final.parent)", "self._aside.mkdir(exist_ok=True)"}
    ),
    "obo_bench.core.files:make_private_directory": frozenset(
        {"path.parent.mkdir(parents=True, exist_ok=True)", "path.mkdir(mode=PRIVATE_DIRECTORY, exist_ok=True)"}
    ),
    "obo_bench.core.lock:RunLock.__init__": frozenset({"FileLock(run_root / LOCK_NAME, timeout=0)"}),
    "obo_bench.core.lock:RunLock.acquire": frozenset(
        {"self._lock.acquire()", "read_json_object(self._owner)", "write_json(self._owner, ...", "socket.gethostname()"}
    ),
    "obo_bench.core.lock:RunLock.release": frozenset(
        {
            "self._lock.is_locked",
            "self._lock.release()",
            "self._owner.unlink(missing_ok=True)",
            "write_json(self._owner, left_behind)",
        }
    ),
    # an earlier manifest
    "obo_bench.core.record:ManifestStore.adopt_earlier": frozenset(
        {"self._final.exists()", "read_json_object(self._final)", "self._set_aside(earlier)"}
    ),
    "obo_bench.core.record:ManifestStore.promote": frozenset(
        {
            "self._final.exists()",
            "read_json_object(self._final)",
            "self._set_aside(read_json_object(self._final) or {})",
            "self._own.replace(self._final)",
            "sync_directory(self._final.parent)",
        }
    ),
    "obo_bench.core.record:ManifestStore._set_aside": frozenset(
        {
            "self._aside.iterdir()",
            "self._final.read_bytes()",
            "write_bytes(self._aside / f'{Path(name).name}.json', self._final.read_bytes())",
        }
    ),
    "obo_bench.core.files:read_json_object": frozenset({"read_whole(path)"}),
    "obo_bench.core.files:read_whole": frozenset({"open_regular(path)", "stream.read(LARGEST_DOCUMENT + 1)"}),
    "obo_bench.core.files:open_regular": frozenset(
        {
            "os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)",
            "os.fstat(descriptor)",
            "os.fstat(descriptor).st_mode",
            "os.fdopen(descriptor, 'rb')",
            "os.close(descriptor)",
        }
    ),
    # the durable write
    "obo_bench.core.files:write_bytes": frozenset(
        {
            "os.open(temporary, flags, mode)",
            "os.fdopen(descriptor, 'wb')",
            "stream.write(data)",
            "stream.flush()",
            "os.fsync(descriptor)",
            "temporary.replace(target)",
            "temporary.unlink()",
            "sync_directory(target.parent)",
        }
    ),
    "obo_bench.core.files:sync_directory": frozenset(
        {"os.open(path, os.O_RDONLY | os.O_DIRECTORY)", "os.fsync(descriptor)", "os.close(descriptor)"}
    ),
}
"""Function to the calls that are allowed in it, once the seam has been entered; `...` stands for any further arguments.

The functions named here may themselves be called only where they are listed.
"""

PROBES: dict[str, frozenset[str]] = {
    # Without --repo-dir there is no run root until it is known whether the current directory is a checkout.
    "obo_bench.cli.arguments:checkout": frozenset({"(here / 'VERSION').is_file()", "(here / '.git').exists()"}),
    # Standard streams that the caller closed are opened as the null device, lest a file of ours takes their number.
    "obo_bench.core.streams:open_missing": frozenset(
        {
            "os.fstat(number)",
            "os.open(os.devnull, os.O_RDWR)",
            "getattr(sys, name)",
            "setattr(sys, name, open(os.devnull, mode, encoding='utf-8'))",
        }
    ),
    # A signal that comes while the program loads ends the process.
    "obo_bench.early:_end": frozenset({"os._exit(128 + signum)"}),
}
"""Function to the calls that are allowed in it before the seam."""


ALWAYS = frozenset(
    {
        *(name for name in FIRST_ACTS if name.startswith("obo_bench.core.session:")),
        *RECORDED,
        *ENTRANCES,
    }
)
"""Functions that the seam may call anywhere: they are the seam."""


def is_act(spelled: str, acts: frozenset[str]) -> bool:
    """Say whether a call, as spelled in the source, is one of the acts."""
    return spelled in acts or any(act.endswith("...") and spelled.startswith(act[:-3]) for act in acts)
