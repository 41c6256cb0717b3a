"""`attest`: ask everything that a run would ask before it spends money, and do nothing else.

Seed gate, lineage and runtime attestation refuse. Readiness and settings are reported, and refuse where asked to.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from obo_bench.core import ending
from obo_bench.core.admission import AdmissionRequest, SeedDemands
from obo_bench.core.files import json_bytes, write_bytes
from obo_bench.core.harness import base_harness
from obo_bench.core.ledger import LEDGER_NAME
from obo_bench.core.refusals import PreflightRefused, Refusal
from obo_bench.core.reporter import Reporter
from obo_bench.core.roots import MANIFEST_NAME
from obo_bench.core.session import Session, benchmark_session
from obo_bench.core.showing import Showing
from obo_bench.gateway import DEFAULT_URL


@dataclass(frozen=True)
class AttestOptions:
    """What the operator asked for."""

    repo_dir: Path
    """The checkout that the server runs from."""
    run_root: Path
    """Where the record is kept."""
    settings_path: Path
    """The server's settings file."""
    settings_named: bool = False
    """Whether the operator named it."""
    url: str = DEFAULT_URL
    """The server's address."""
    solve_model: str | None = None
    """Refuse unless settings file and live server name this model."""
    seed: SeedDemands = field(default_factory=SeedDemands)
    """What the checkout must be."""
    expected_version: str | None = None
    """Version the server must run, where it is not the checkout's."""
    require_ready: bool = False
    """Wait until the server can take tasks, and refuse when it cannot."""
    output: Path | None = None
    """Where the record is written as a document of its own."""


def attest(options: AttestOptions, reporter: Reporter) -> None:
    """Attest checkout and server; what was found is in the manifest, and in `options.output` also when refused.

    Raises the typed refusal of the first gate that objects, or of an output that cannot be written.
    """
    try:
        with benchmark_session(admission(options)) as session, Showing(session, reporter):
            _body(session, options, reporter)
    except Refusal as refusal:
        if options.output is not None and refusal.reason != "output_unwritable":
            _write_after_refusal(options.output, reporter)
        raise


def admission(options: AttestOptions) -> AdmissionRequest:
    """Return all that the arguments say, for the first manifest."""
    return AdmissionRequest(
        benchmark="programbench",
        command="attest",
        run_root=options.run_root,
        repo_dir=options.repo_dir,
        settings_path=options.settings_path,
        outputs=(options.output,) if options.output else (),
        seed=options.seed,
        fields={"requested_task_ids": [], "requested_count": 0},
        harness={
            **base_harness(),
            "ouroboros_url": options.url,
            "solve_model": options.solve_model,
            "require_ready": options.require_ready,
        },
    )


def _body(session: Session, options: AttestOptions, reporter: Reporter) -> None:
    from obo_bench.programbench.attest_checks import examine_server

    examine_server(session, options, reporter)
    if options.output is not None:
        _write_record(options.output, session.redactor.document(session.manifest.document()))


def _write_after_refusal(output: Path, reporter: Reporter) -> None:
    """Write what is known so far; the refusal stays what the invocation ends with, also when this fails."""
    manifest = ending.concluded()
    if manifest is None:
        return
    try:
        _write_record(output, manifest)
    except PreflightRefused as unwritable:
        unwritable.settle()
        reporter.event(unwritable.message)


def _write_record(output: Path, manifest: Mapping[str, Any]) -> None:
    from obo_bench.programbench.attest_record import record_of

    target = output.resolve()  # renaming over a link would destroy it
    try:
        _check_replaceable(target, Path(manifest["run_root"]).resolve())
        # A file that the operator named is his to share: his umask decides.
        write_bytes(target, json_bytes(record_of(manifest).document()), mode=0o666)
    except OSError as error:
        raise PreflightRefused(
            "output_unwritable",
            f"the record cannot be written to {str(output)!r}: {error.strerror or error}",
            evidence={"output": str(output), "why": error.strerror or str(error)},
        ) from error


def _check_replaceable(target: Path, run_root: Path) -> None:
    """Nothing but the seam writes into a run root, nobody replaces a manifest or a ledger, and devices stay devices."""
    in_a_run = target.is_relative_to(run_root) or any((above / MANIFEST_NAME).exists() for above in target.parents)
    if in_a_run or target.name in (MANIFEST_NAME, LEDGER_NAME):
        raise OSError("it would replace a run's own file")
    if target.exists() and not target.is_file():
        raise OSError("it is not a regular file")
