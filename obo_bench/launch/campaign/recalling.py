"""What a resume takes from the campaign's record, because its command line does not say it."""

import os
from dataclasses import replace
from pathlib import Path

from obo_bench.core.refusals import PreflightRefused
from obo_bench.core.session import Session
from obo_bench.gateway.admission.settings import settings_location
from obo_bench.launch.campaign.options import CampaignOptions
from obo_bench.launch.campaign.record import CampaignRecord, read_record


def recalled(session: Session, options: CampaignOptions) -> CampaignOptions:
    """Return the options with the recorded checkout where none was named, which admission then judges as well.

    Raises its refusals, and PreflightRefused `run_not_found` where there is no record.
    """
    if options.repo_dir is not None:
        return options
    known = read_record(session.run_root)
    if known is None:
        raise never_began(session.run_root)
    repo_dir = Path(str(known.shared.get("repo_dir")))
    settings, named = _settings(options, known, repo_dir)
    session.take_checkout(repo_dir, settings)
    return replace(options, repo_dir=repo_dir, settings_path=settings, settings_named=named)


def never_began(root: Path) -> PreflightRefused:
    """Return the refusal of what cannot be resumed, because there is no record of it."""
    return PreflightRefused(
        "run_not_found",
        f"there is no campaign in {str(root)!r}",
        evidence={"run_root": str(root)},
        remedy="begin it with `obo-bench campaign run FILE`, or correct its id and --runs-root",
    )


def _settings(options: CampaignOptions, known: CampaignRecord, repo_dir: Path) -> tuple[Path, bool]:
    if options.settings_path is not None and options.settings_named:
        return options.settings_path, True
    recorded = known.shared.get("settings_path")
    return settings_location(Path(str(recorded)) if recorded else None, repo_dir, os.environ)
