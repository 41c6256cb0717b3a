"""The page of a report in a real browser: nothing is wider than a phone, nothing is fetched, nothing is blank."""

import os
import struct
import zlib
from pathlib import Path

import pytest

from obo_bench.report.document.build import build_report
from obo_bench.report.html.page import html
from tests.report_case import long_run
from tests.test_report_page import hostile_run
from tools.browser import Browser, find_browser

REQUIRE_BROWSER = "OBO_BENCH_TEST_REQUIRE_BROWSER"


@pytest.fixture(scope="module")
def browser() -> Browser:
    program = find_browser()
    if program is None:
        if os.environ.get(REQUIRE_BROWSER):
            pytest.fail(f"{REQUIRE_BROWSER} is set and there is no Chromium")
        pytest.skip("there is no Chromium")
    return Browser(program)


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    place = tmp_path_factory.mktemp("runs")
    first, second = long_run(place / "first", 24, seed=1), long_run(place / "second", 24, seed=2, error="w" * 900)
    return {
        "compared": html(build_report(second, first)),
        "hostile": html(build_report(hostile_run(place / "hostile"))),
    }


@pytest.mark.parametrize("width", [375, 1280])
@pytest.mark.parametrize("name", ["compared", "hostile"])
def test_nothing_is_wider_than_the_screen_and_nothing_is_fetched(
    browser: Browser, pages: dict[str, str], name: str, width: int
) -> None:
    facts = browser.measure(pages[name], width)
    assert facts["inner_width"] == width
    assert facts["too_wide"] == []
    assert facts["scroll_width"] <= width
    assert facts["requests"] == 0
    assert not facts["scripts_ran"]


def test_a_page_that_is_too_wide_or_fetches_is_found_out(browser: Browser) -> None:
    bad = '<style>p { width: 900px }</style><p>x</p><img src="http://127.0.0.1:9/x.png">'
    bad += "<script>window.ran = true</script>"
    facts = browser.measure(bad, 375)
    assert facts["scroll_width"] > 375
    assert facts["too_wide"]
    assert facts["requests"] == 1
    assert facts["scripts_ran"]


def test_the_page_has_light_and_dark_colours(browser: Browser, pages: dict[str, str]) -> None:
    light, dark = (browser.measure(pages["compared"], 1280, scheme)["background"] for scheme in ("light", "dark"))
    assert (light, dark) == ("rgb(246, 247, 249)", "rgb(16, 19, 23)")


@pytest.mark.parametrize(("width", "height"), [(375, 812), (1280, 900)])
def test_the_picture_is_not_blank(
    browser: Browser, pages: dict[str, str], tmp_path: Path, width: int, height: int
) -> None:
    page, target = tmp_path / "report.html", tmp_path / "report.png"
    page.write_text(pages["compared"], "utf-8")
    browser.picture(page, target, width, height)
    lines = png_lines(target.read_bytes(), (width, height))
    assert len(set(lines)) > height / 4


def png_lines(data: bytes, size: tuple[int, int]) -> list[bytes]:
    """Return the filtered lines of a PNG of this size (PNG specification, sections 5 and 9)."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", data[16:24]) == size
    at, packed = 8, b""
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        packed += data[at + 8 : at + 8 + length] if kind == b"IDAT" else b""
        at += 12 + length
    raw = zlib.decompress(packed)
    step = len(raw) // size[1]
    return [raw[start : start + step] for start in range(0, len(raw), step)]
