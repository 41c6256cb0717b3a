"""What `exec` asks of the seam: all that its arguments say."""

from typing import Any

from obo_bench.core.admission import AdmissionRequest
from obo_bench.core.harness import base_harness
from obo_bench.core.redact import process_redactor
from obo_bench.launch.contract.variables import CHILD_DIRECTORY, LOG_NAME
from obo_bench.launch.executing.command_secrets import command_secrets
from obo_bench.launch.executing.options import ExecOptions


def admission(options: ExecOptions) -> AdmissionRequest:
    """Return the request for the first manifest; secrets of the command line are known from here on."""
    process_redactor().learn(command_secrets(options.command))
    return AdmissionRequest(
        benchmark=options.benchmark,
        command="exec",
        run_root=options.run_root,
        repo_dir=options.repo_dir,
        settings_path=options.settings_path,
        seed=options.seed,
        harness={
            **base_harness(),
            "ouroboros_url": options.url,
            "solve_model": options.solve_model,
            "max_cost_usd": options.max_cost_usd,
            "selector": {
                "instance_ids": list(options.task_ids),
                "ids_file": str(options.ids_file) if options.ids_file else None,
            },
            "launcher": _launcher(options),
        },
        fields={
            "dataset": options.dataset,
            "official_command": list(options.official_command),
            "timeout_sec": options.timeout_sec,
            "output_paths": {"ledger": "result_index.jsonl", "log": f"{CHILD_DIRECTORY}/{LOG_NAME}"},
        },
    )


def _launcher(options: ExecOptions) -> dict[str, Any]:
    return {
        "preset": options.preset,
        "command": list(options.command),
        "cwd": None,
        "log": f"{CHILD_DIRECTORY}/{LOG_NAME}",
        "server": "skipped" if options.url is None else "attested",
        "grace_sec": options.grace_sec,
    }
