"""Makes the pictures of the documentation: `python -m tools.pictures [--run DIRECTORY]`.

Without a run, a practice run is made, with a scripted solver that solves one program in part. The board is that of
another practice run. Needs Chromium and Docker.
"""

import argparse
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.board_picture import main as board_picture
from tools.browser import Browser, Scheme, find_browser

PICTURES = Path(__file__).parent.parent / "docs" / "pictures"


@dataclass(frozen=True)
class Picture:
    """One picture of the report."""

    name: str
    """Its file in docs/pictures."""
    width: int
    """Pixels."""
    height: int
    """Pixels."""
    scheme: Scheme = "light"
    """Colours."""


REPORT = (
    Picture("report-desktop.png", 1280, 1000),
    Picture("report-desktop-dark.png", 1280, 1000, "dark"),
    Picture("report-phone.png", 375, 812),
    Picture("report-phone-dark.png", 375, 812, "dark"),
)


def main() -> None:
    """Make all pictures."""
    parser = argparse.ArgumentParser(prog="python -m tools.pictures", description="Make the pictures of the docs.")
    parser.add_argument("--run", type=Path, help="directory of a graded run; without it a practice run is made")
    named: Path | None = parser.parse_args().run
    program = find_browser()
    if program is None:
        sys.exit("no browser was found: `apt-get install chromium`")
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        run = named or _practice_run(Path(scratch, "practice"))
        report_pictures(Browser(program), run, Path(scratch, "report.html"))
        board_picture(Path(scratch, "board"), PICTURES / "board.svg")


def report_pictures(browser: Browser, run: Path, page: Path) -> None:
    """Write the report of a run to `page`, and the pictures of it."""
    _obo("programbench", "report", str(run.absolute()), "--output", str(page))
    for picture in REPORT:
        target = PICTURES / picture.name
        browser.picture(page, target, picture.width, picture.height, picture.scheme)
        sys.stdout.write(f"{target}\n")


def _practice_run(directory: Path) -> Path:
    return Path(_obo("practice", "--directory", str(directory), "--run-id", "practice", "--scenario", "partial"))


def _obo(*arguments: str) -> str:
    """Run a command of ours and return its answer; a run with failed instances answers, too."""
    done = subprocess.run([sys.executable, "-m", "obo_bench", *arguments], stdout=subprocess.PIPE, check=False)
    if not done.stdout:
        sys.exit(f"`obo-bench {' '.join(arguments)}` gave no answer (status {done.returncode})")
    return done.stdout.decode().strip()


if __name__ == "__main__":
    main()
