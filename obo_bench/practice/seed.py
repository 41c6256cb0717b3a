"""Makes the small git checkout that stands for the practice server's source: its version and its commit."""

import os
import shutil
import tempfile
from pathlib import Path

from obo_bench.practice.bounded_process import run_bounded
from obo_bench.practice.setup_error import PracticeSetupError

_SECONDS = 30.0
_README = (
    "A stand-in checkout for practice runs: it carries the version and the commit that the stand-in server reports.\n"
)


def make_seed_checkout(destination: Path, version: str = "6.75.0") -> Path:
    """Return a clean checkout at `destination` whose VERSION says `version`; an existing one is used again.

    Equal versions give equal commits. Raises PracticeSetupError when something else is in the way or git fails, and
    OSError when the place cannot be written.
    """
    if destination.exists():
        _check_existing(destination, version)
        return destination
    destination.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=".seed-", dir=destination.parent))
    try:
        temporary.chmod(0o755)
        _fill(temporary, version)
        temporary.rename(destination)
    except OSError:
        # Two may make the same checkout at once: the one that came second takes the first one's.
        if not destination.exists():
            raise
        _check_existing(destination, version)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return destination


def _fill(checkout: Path, version: str) -> None:
    (checkout / "VERSION").write_text(f"{version}\n", "utf-8")
    (checkout / "README.md").write_text(_README, "utf-8")
    _git(checkout, "init", "--quiet", "--initial-branch=main", "--template=")
    _git(checkout, "config", "user.name", "practice")
    _git(checkout, "config", "user.email", "practice@localhost")
    _git(checkout, "add", "--all")
    _git(checkout, "commit", "--quiet", "--no-gpg-sign", "--message", f"Practice server {version}")


def _check_existing(checkout: Path, version: str) -> None:
    remedy = f"remove {checkout} or name another directory"
    if not (checkout / ".git").is_dir():
        raise PracticeSetupError(f"{checkout} exists and is no git checkout", remedy)
    if changes := _git(checkout, "status", "--porcelain"):
        raise PracticeSetupError(f"the checkout {checkout} is not clean ({changes.split(chr(10))[0].strip()})", remedy)
    found = _git(checkout, "show", "HEAD:VERSION").strip()
    if found != version:
        raise PracticeSetupError(f"the checkout {checkout} holds version {found[:40]!r}, not {version!r}", remedy)


def _git(checkout: Path, *arguments: str) -> str:
    done = run_bounded(["git", *arguments], timeout=_SECONDS, cwd=checkout, env=_environment())
    if done.status != 0:
        raise PracticeSetupError(
            f"`git {arguments[0]}` failed in {checkout} ({done.complaint})", "check git and the rights of the directory"
        )
    return done.stdout


def _environment() -> dict[str, str]:
    """Nothing of the caller's git (repository, hooks, signing, identity) may reach the checkout."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    moment = "2024-01-01T00:00:00+0000"
    return inherited | {
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": moment,
        "GIT_COMMITTER_DATE": moment,
        "GIT_TERMINAL_PROMPT": "0",
        "LC_ALL": "C",
    }
