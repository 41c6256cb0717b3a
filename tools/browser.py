"""A real browser without a window, for pictures and for measuring a page; it never asks a network."""

import base64
import html
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

Scheme = Literal["light", "dark"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-extensions",
    "--hide-scrollbars",
    # Whatever a page asks for would go to a port where nobody listens.
    "--proxy-server=http://127.0.0.1:9",
)
_SCHEMES: dict[Scheme, int] = {"dark": 0, "light": 1}
_PATIENCE_SEC = 120
_MEASURE = """
<script>
const frame = document.querySelector("iframe");
frame.onload = () => {
  const page = frame.contentDocument, root = page.documentElement, view = frame.contentWindow;
  const wide = [...page.querySelectorAll("body *")].filter(
    (e) => e.getBoundingClientRect().right > view.innerWidth + 0.5 && getComputedStyle(e).clipPath === "none");
  document.body.dataset.facts = btoa(JSON.stringify({
    inner_width: view.innerWidth,
    scroll_width: root.scrollWidth,
    height: root.scrollHeight,
    requests: view.performance.getEntriesByType("resource").length,
    background: view.getComputedStyle(page.body).backgroundColor,
    scripts_ran: view.ran === true,
    too_wide: wide.slice(0, 5).map((e) => e.tagName + "." + e.getAttribute("class")),
  }));
};
</script>
"""
"""Runs beside the page, in the frame's parent: the page itself is shown as it is."""


def find_browser() -> str | None:
    """Return the browser's program, None where there is none."""
    return next((found for name in _NAMES if (found := shutil.which(name))), None)


@dataclass(frozen=True)
class Browser:
    """A browser without a window. Each call is a process of its own with an empty profile."""

    program: str
    """Its program."""

    def measure(self, page: str, width: int, scheme: Scheme = "light") -> dict[str, Any]:
        """Return what the browser makes of a page in a frame of that width.

        The narrowest window has 500 pixels, so that a phone has to be a frame.
        """
        with tempfile.TemporaryDirectory() as scratch:
            outer = Path(scratch, "outer.html")
            outer.write_text(_framed(f'srcdoc="{html.escape(page)}"', width, 900) + _MEASURE, "utf-8")
            shown = self._run(scratch, scheme, ["--dump-dom", "--virtual-time-budget=5000", outer.as_uri()])
        found = re.search(rb'data-facts="([^"]+)"', shown)
        if found is None:
            raise RuntimeError("the browser did not load the page")
        facts: dict[str, Any] = json.loads(base64.b64decode(found[1]))
        return facts

    def picture(self, page: Path, target: Path, width: int, height: int, scheme: Scheme = "light") -> None:
        """Write a PNG of the first `height` pixels of a page."""
        with tempfile.TemporaryDirectory() as scratch:
            outer = Path(scratch, "outer.html")
            outer.write_text(_framed(f'src="{page.absolute().as_uri()}"', width, height), "utf-8")
            flags = [f"--screenshot={target.absolute()}", f"--window-size={width},{height}", outer.as_uri()]
            self._run(scratch, scheme, flags)

    def _run(self, scratch: str, scheme: Scheme, arguments: Sequence[str]) -> bytes:
        profile = f"--user-data-dir={scratch}/profile"
        colours = f"--blink-settings=preferredColorScheme={_SCHEMES[scheme]}"
        done = subprocess.run(
            [self.program, *_FLAGS, profile, colours, *arguments],
            capture_output=True,
            env={**os.environ, "HOME": scratch},
            timeout=_PATIENCE_SEC,
            check=True,
        )
        return done.stdout


def _framed(source: str, width: int, height: int) -> str:
    style = f"display:block;border:0;width:{width}px;height:{height}px"
    head = '<!doctype html><html><head><meta charset="utf-8"><meta name="color-scheme" content="light dark"></head>'
    return f'{head}<body style="margin:0"><iframe style="{style}" {source}></iframe>'
