"""All wire formats by the names that `obo-bench schema` knows them under, those of the commands that look included."""

from obo_bench.core.format_table import FormatTable
from obo_bench.programbench.formats import PLACES

FORMATS = FormatTable(
    {
        **PLACES,
        "report": "report.document.answer:ReportAnswer",
        "run-report": "report.document.model:RunReport",
        "runs": "report.run_list:RunList",
        "status": "report.status.document:RunStatus",
    }
)
"""Every document that other tools may read, in the order of the names."""
