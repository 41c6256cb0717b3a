"""All wire formats by the names that `obo-bench schema` knows them under, those of the commands that look included."""

from obo_bench.core.format_table import FormatTable
from obo_bench.programbench.formats import PLACES

FORMATS = FormatTable(
    {
        **PLACES,
        "campaign": "launch.campaign.record:CampaignRecord",
        "campaign-plan": "launch.campaign.shown_plan:CampaignPlan",
        "campaign-status": "launch.campaign.status:CampaignStatus",
        "child-outcome": "launch.contract.child_outcome:ChildOutcome",
        "exec": "launch.answers:ExecAnswer",
        "launch-order": "launch.executing.launch_order:LaunchOrder",
        "ledger-append": "launch.answers:LedgerAppendAnswer",
        "report": "report.document.answer:ReportAnswer",
        "run-report": "report.document.model:RunReport",
        "runs": "report.run_list:RunList",
        "status": "report.status.document:RunStatus",
        "swe-bench-pro": "launch.swe_bench_pro.grade_summary:GradeAnswer",
        "swe-bench-pro-summary": "launch.swe_bench_pro.grade_summary:ProGradeSummary",
        "verify": "launch.swe_bench_pro.grade_summary:GradeAnswer",
    }
)
"""Every document that other tools may read, in the order of the names."""
