"""Attestation over real sockets: what counts as an identity, the order of the reasons, and the one override."""

import gzip
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from obo_bench.core.refusals import RuntimeAttestationRefused
from obo_bench.gateway.attestation import (
    OVERRIDE_ENV,
    Attestation,
    explain_override,
    override_is_set,
    require_attested,
    runtime_attestation,
)
from obo_bench.gateway.client import SMALL_ANSWER, GatewayClient
from tests.raw_server import bytewise, http, raw_server

HEAD = "0" * 40
LONGEST = "1" * 128


def attest(answer: bytes, *, pause: float = 0.0, **changes: Any) -> Attestation:
    known = {"repo_dir": Path("/checkout"), "repo_head": HEAD, "repo_version": "6.75.0", **changes}
    parts = bytewise(answer) if pause else [answer]
    with raw_server(*parts, pause=pause) as url, GatewayClient(url, deadline_sec=1 if pause else 20) as client:
        return runtime_attestation(client, **known)


def says(claim: object, **more: object) -> bytes:
    return http("200 OK", json.dumps({"status": "ok", "runtime_version": claim, **more}).encode())


def refusal(record: Attestation) -> RuntimeAttestationRefused:
    with pytest.raises(RuntimeAttestationRefused) as raised:
        require_attested(record)
    return raised.value


@pytest.mark.parametrize(
    ("version", "taken"), [("6.75.0", "6.75.0"), (" 6.75.0\n", "6.75.0"), (LONGEST, LONGEST), ("6.75.0-é", "6.75.0-é")]
)
def test_a_version_is_taken_without_the_blanks_around_it(version: str, taken: str) -> None:
    record = attest(says(version), repo_version=taken)
    assert (record.runtime_version, record.reason, record.ok, record.http_error) == (taken, None, True, None)
    require_attested(record)


NO_IDENTITY = {
    "a bare version key": http("200 OK", b'{"version": "6.75.0", "app_version": "6.75.0"}'),
    "blank": says("  \n"),
    "empty": says(""),
    "null": says(None, version="6.75.0"),
    "over-long": says("1" * 129),
    "a number": says(6.75),
    "a list": says(["6.75.0"]),
    "true": says(True),
    "two lines": says("6.75.0\n6.75.1"),
    "a control sequence": says("6.75.0\x1b[2K"),
    "half a character": says("6.75.0\ud800"),
    "bytes that are no text": http("200 OK", b'{"runtime_version": "6.75.0\xff"}'),
    "HTML": http("200 OK", b"<html>6.75.0</html>", "Content-Type: text/html"),
    "empty answer": http("200 OK", b""),
    "huge": http("200 OK", b'{"runtime_version": "6.75.0", "x": "' + b"x" * SMALL_ANSWER + b'"}'),
    "compressed": http("200 OK", gzip.compress(b'{"runtime_version": "6.75.0"}'), "Content-Encoding: gzip"),
    "redirected": http("307 Temporary Redirect", says("6.75.0"), "Location: http://127.0.0.1:8770/api/health"),
    "a list of all": http("200 OK", b'[{"runtime_version": "6.75.0"}]'),
    "deep": http("200 OK", b'{"runtime_version": "6.75.0", "x": ' + b"[" * 100_000),
    "an error": http("500 Oops", b'{"runtime_version": "6.75.0"}'),
    "a login": http("401 Unauthorized", b'{"error": "Authentication required."}'),
}


@pytest.mark.parametrize("answer", NO_IDENTITY.values(), ids=NO_IDENTITY)
def test_what_does_not_say_its_version_never_attests(answer: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OVERRIDE_ENV, "1")
    record = attest(answer)
    assert (record.runtime_version, record.reason) == (None, "runtime_version_absent")
    assert (record.override_set, record.overridden, record.ok) == (True, False, False)
    refused = refusal(record)
    assert refused.exit_code == 3
    assert record.base_url in refused.message
    assert len(refused.message) < 400
    assert json.loads(json.dumps(refused.evidence)) == record.document()


def test_a_claim_that_is_no_version_is_shown_within_bounds() -> None:
    assert attest(says("1" * 129)).http_error == f"the runtime_version {'1' * 40!r} is no version"
    assert attest(says("\x1b[2K")).http_error == r"the runtime_version '\x1b[2K' is no version"


SILENT = {
    "nothing": (b"", 0.0),
    "another protocol": (b"220 mail.example ESMTP\r\n", 0.0),
    "cut off": (says("6.75.0")[:-1], 0.0),
    "trickling headers": (b"HTTP/1.1 200 OK\r\nX-Slow: " + b"a" * 1000, 0.05),
    "trickling body": (says("6.75.0"), 0.05),
}


@pytest.mark.parametrize(("answer", "pause"), SILENT.values(), ids=SILENT)
def test_no_complete_answer_in_time_is_unreachable(answer: bytes, pause: float) -> None:
    record = attest(answer, pause=pause)
    assert (record.runtime_version, record.reason, record.ok) == (None, "runtime_unreachable", False)
    assert record.http_error
    assert record.http_error in refusal(record).message


def test_reasons_come_in_the_designed_order() -> None:
    """Each state of the world has all later objections, too; only the first one is named."""
    unknown: dict[str, Any] = {"repo_head": None, "repo_version": None}
    assert attest(b"", **unknown).reason == "runtime_unreachable"
    assert attest(says(""), **unknown).reason == "runtime_version_absent"
    assert attest(says("6.80.0"), repo_head=None).reason == "commit_unavailable"
    assert attest(says("6.80.0"), repo_version=None, expected_version="6.80.0").reason == "commit_unavailable"
    assert attest(says("6.80.0")).reason == "runtime_skew"
    assert attest(says("6.75.0"), expected_version="6.80.0").reason == "runtime_skew"
    assert attest(says("6.80.0"), expected_version="6.80.0").ok


def test_a_skew_names_both_versions_and_can_be_waived(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = refusal(attest(says("6.80.0")))
    assert "runs 6.80.0, expected is 6.75.0" in refused.message
    assert refused.evidence["reason"] == "runtime_skew"
    monkeypatch.setenv(OVERRIDE_ENV, "TRUE")
    record = attest(says("6.80.0"))
    require_attested(record)
    assert (record.reason, record.override_set, record.overridden, record.ok) == ("runtime_skew", True, True, True)
    assert record.override_waives == ["runtime_skew"]


def test_an_override_that_was_not_needed_is_recorded_as_unused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OVERRIDE_ENV, "yes")
    record = attest(says("6.75.0"))
    assert (record.reason, record.override_set, record.overridden, record.ok) == (None, True, False, True)


def test_a_record_from_disk_lets_nothing_through() -> None:
    read = Attestation.model_validate(attest(says("6.80.0")).document())
    with pytest.raises(ValueError, match="proves nothing"):
        require_attested(read)


@pytest.mark.parametrize("word", ["1", "true", "yes"])
def test_the_override_means_yes_in_any_case(word: str) -> None:
    for letters in itertools.product(*((letter.lower(), letter.upper()) for letter in word)):
        assert override_is_set({OVERRIDE_ENV: "".join(letters)})


@pytest.mark.parametrize(
    "value", ["", "0", "no", "false", "on", "y", "t", "11", " 1", "1 ", "yes\n", "\uff11", "ʸes", "ja"]
)
def test_everything_else_means_not_set(value: str) -> None:
    assert not override_is_set({OVERRIDE_ENV: value})
    assert not override_is_set({})


def test_the_explanation_shows_only_harmless_values() -> None:
    told = explain_override({OVERRIDE_ENV: "Yes"})
    assert (told["variable"], told["value"], told["set"], told["waives"]) == (
        OVERRIDE_ENV,
        "Yes",
        True,
        ["runtime_skew"],
    )
    assert "1, true or yes" in told["meaning"]
    for secret in ("sk-or-v1-0123456789abcdef", "$(rm -rf /)", "a\nb"):
        assert (explain_override({OVERRIDE_ENV: secret})["value"], explain_override({})["value"]) == (None, None)
