"""Secrets are found in every form that foreign text gives them, whole or cut, and text that is none stays."""

import base64
import html
import json
import random
import re
import shlex
import string
import threading
import time
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from obo_bench.core.redact import MASK, Redactor
from obo_bench.core.redact_file import redact_file

PASSWORDS = [
    "plain-pass-word-77",
    "quo\"te\\back slash/&<é€>'tick",
    "tab\tnewline\nend of it",
    "ünï-çødé-ßecret",
    "a/b+c=d?e&f#g",
]
KEY = "sk-or-v1-" + random.Random(2).randbytes(32).hex()


def forms(secret: str) -> dict[str, str]:
    data = secret.encode()
    return {
        "as it is": secret,
        "JSON": json.dumps({"error": secret}),
        "JSON, not ASCII": json.dumps({"error": secret}, ensure_ascii=False),
        "JSON in JSON": json.dumps({"body": json.dumps({"error": secret})}),
        "URL": f"http://h/?p={quote(secret, safe='')}",
        "URL path": f"http://h/{quote(secret)}",
        "URL, lower case": re.sub("%..", lambda found: found.group().lower(), quote(secret, safe="")),
        "form": quote_plus(secret),
        "basic 0": base64.b64encode(b"obo" + data).decode(),
        "basic 1": base64.b64encode(b"user:" + data).decode(),
        "basic 2": base64.b64encode(b"me@x:" + data + b"\n").decode(),
        "URL-safe base64": base64.urlsafe_b64encode(b"u:" + data).decode(),
        "hex": data.hex(),
        "repr": repr(secret),
        "shell": shlex.quote(secret),
        "HTML": html.escape(secret),
    }


@pytest.mark.parametrize("secret", PASSWORDS)
@pytest.mark.parametrize("form", forms("-"))
def test_every_form(secret: str, form: str) -> None:
    written = forms(secret)[form]
    shown = Redactor([secret]).text(f"before {written} after")
    assert MASK in shown
    assert shown.startswith("before ")
    assert shown.endswith(" after")
    # The last characters of base64 depend on what follows: a few bits of the secret may stay.
    left = shown.removeprefix("before ").removesuffix(" after").replace(MASK, "")
    around = forms("")[form]
    assert len(left) <= len(around) + 8, left


@pytest.mark.parametrize("kept", [40, 50, len(KEY) - 1, len(KEY)])
def test_a_secret_that_was_cut_off(kept: int) -> None:
    redactor = Redactor([KEY])
    assert redactor.text(f"at the end of a text: {KEY[:kept]}") == f"at the end of a text: {MASK}"
    assert redactor.text(f"{KEY[-kept:]} at the front") == f"{MASK} at the front"
    assert redactor.text(f"shortened: {KEY[:kept]}... (5 more)") == f"shortened: {MASK}... (5 more)"


def test_a_private_key_is_found_line_by_line() -> None:
    body = base64.b64encode(random.Random(1).randbytes(180)).decode()
    lines = [body[at : at + 64] for at in range(0, len(body), 64)]
    key = "-----BEGIN PRIVATE KEY-----\n" + "\n".join(lines) + "\n-----END PRIVATE KEY-----\n"
    shown = Redactor([key]).text("\n".join(f"{number}: {text}" for number, text in enumerate(lines)))
    assert not [text for text in lines if text in shown]


def test_secrets_that_begin_alike_or_stand_together() -> None:
    one, two = "abcdefgh-0123456789-ONE-ONE-ONE", "abcdefgh-0123456789-TWO-TWO-TWO-TWO-TWO"
    redactor = Redactor([one, two, "abcdefgh-01"])
    assert redactor.text(f"{one}{two} {two}, {one}") == f"{MASK}{MASK} {MASK}, {MASK}"
    assert redactor.text("abcdefgh-01 abcdefgh") == f"{MASK} abcdefgh"


def test_a_path_named_like_a_secret_hides_no_other_path() -> None:
    redactor = Redactor.from_environment({"GOOGLE_APPLICATION_CREDENTIALS": "/home/operator/keys/google.json"})
    assert redactor.text("/home/operator/runs/r1") == "/home/operator/runs/r1"
    assert redactor.text("in /home/operator/keys/google.json") == f"in {MASK}"


@pytest.mark.parametrize(
    "text",
    [
        "OPENROUTER_API_KEY=never-learnt-1",
        '{"api_key": "never-learnt-1"}',
        json.dumps(json.dumps({"NETWORK_PASSWORD": "never-learnt-1"})),
        "Authorization: Bearer never-learnt-1",
        "http://user:never-learnt-1@host/",
        "http://user:never@learnt-1@host/",
    ],
)
def test_what_nobody_has_learnt_is_known_by_its_place(text: str) -> None:
    shown = Redactor().text(text)
    assert MASK in shown
    assert "learnt-1" not in shown


@pytest.mark.parametrize(
    "text",
    [
        "tokens: 5, max_tokens = 7",
        '{"total_tokens": 1234, "secret": null, "password": ""}',
        "a token is missing: see the documentation",
        "https://host/path/@scope/package",
        f"{MASK} stays as it is",
    ],
)
def test_ordinary_text_stays(text: str) -> None:
    assert Redactor([KEY, "short"]).text(text) == text


def test_a_file_of_another_program(tmp_path: Path) -> None:
    log = tmp_path / "log"
    long = b" ".join([KEY.encode()] * 30_000)  # 2 MB on one line
    log.write_bytes(b"one " + KEY.encode() + b"\n\xff\xfe\n" + long + b"\nlast, without an end")
    redact_file(log, Redactor([KEY]))
    masked = " ".join([MASK] * 30_000)
    assert log.read_text() == f"one {MASK}\n\\xff\\xfe\n{masked}\nlast, without an end"
    assert [path.name for path in tmp_path.iterdir()] == ["log"]
    redact_file(tmp_path / "missing", Redactor([KEY]))
    assert [path.name for path in tmp_path.iterdir()] == ["log"]


def test_one_learns_while_others_redact() -> None:
    redactor, failures = Redactor([KEY]), []

    def redact() -> None:
        try:
            for _ in range(200):
                assert redactor.text(f"x {KEY}") == f"x {MASK}"
        except Exception as error:  # noqa: BLE001  # a thread's failure is the test's
            failures.append(error)

    threads = [threading.Thread(target=redact) for _ in range(4)]
    for thread in threads:
        thread.start()
    for number in range(60):
        redactor.learn([f"another secret, number {number}"])
    for thread in threads:
        thread.join()
    assert failures == []
    assert redactor.text("another secret, number 59") == MASK


def test_some_megabytes_with_twenty_secrets_take_moments() -> None:
    chance = random.Random(3)
    secrets = ["".join(chance.choices(string.ascii_letters + string.digits + '-_/"\\ ', k=48)) for _ in range(20)]
    redactor = Redactor(secrets)
    prose = "The agent looked at the documents, wrote src/main.c and ran ./compile.sh: key=none at http://host/x\n"
    record = {"events": [{"type": "tool", "out": prose * 3, "n": number} for number in range(10_000)]}
    bad = ["token" * 200_000, "\\" * 1_000_000, "a://" * 250_000, "token" + "\\" * 1_000_000, "x" * 1_000_000]
    started = time.process_time()
    redactor.document(record)
    for text in bad:
        redactor.text(text)
    # 8 MB in about 1.5 seconds; quadratic behaviour would take minutes.
    assert time.process_time() - started < 15
