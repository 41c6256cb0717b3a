"""`--shell`: the answer as `KEY=value` lines that a POSIX shell can `eval`, whatever the values hold."""

import shlex
from collections.abc import Mapping
from typing import Any

ATTEST_KEYS = (
    "OBO_ATTEST_OK",
    "OBO_ATTEST_EXIT_CODE",
    "OBO_ATTEST_OUTCOME",
    "OBO_ATTEST_STAGE",
    "OBO_ATTEST_REASON",
    "OBO_ATTEST_MESSAGE",
    "OBO_ATTEST_REMEDY",
    "OBO_ATTEST_CAMPAIGN_FATAL",
    "OBO_ATTEST_RUNTIME_VERSION",
    "OBO_ATTEST_REPO_VERSION",
    "OBO_ATTEST_REPO_HEAD",
    "OBO_ATTEST_OVERRIDDEN",
    "OBO_ATTEST_READY",
    "OBO_ATTEST_RUN_ROOT",
    "OBO_ATTEST_MANIFEST",
)
"""Every answer of `attest --shell` sets all of them; what is not known is empty, yes is 1 and no is 0."""


def assignments(values: Mapping[str, object]) -> str:
    """Return `KEY=value` lines; a value is quoted so that `eval` gives back its characters and runs nothing."""
    return "\n".join(f"{key}={shlex.quote(_word(value))}" for key, value in values.items())


def attest_variables(envelope: Mapping[str, Any]) -> dict[str, object]:
    """Return the variables of `attest --shell`, from the object that `--json` would have answered with."""
    from obo_bench.core.refusals import CAMPAIGN_FATAL_PROVENANCE_REASONS

    refusal = envelope.get("refusal") or {}
    record = envelope.get("result") or {}
    source, attestation = record.get("source") or {}, record.get("attestation") or {}
    exit_code, reason = envelope["exit_code"], refusal.get("reason")
    values = (
        exit_code == 0,
        exit_code,
        envelope.get("outcome"),
        refusal.get("stage"),
        reason,
        refusal.get("message") or (envelope.get("error") or {}).get("message"),
        refusal.get("remedy"),
        reason in CAMPAIGN_FATAL_PROVENANCE_REASONS,
        attestation.get("runtime_version"),
        source.get("version"),
        source.get("head"),
        attestation.get("overridden"),
        (record.get("readiness") or {}).get("ready"),
        envelope.get("run_root"),
        envelope.get("manifest"),
    )
    return dict(zip(ATTEST_KEYS, values, strict=True))


def _word(value: object) -> str:
    """No shell variable can hold a NUL."""
    if value is None:
        return ""
    return ("1" if value else "0") if isinstance(value, bool) else str(value).replace("\0", "")
