"""Grades the official results of SWE-bench Pro: from predictions to a summary that may be published."""

BENCHMARK = "swe-bench-pro"
"""Name of the benchmark in manifests and ledgers."""
COMMAND = "grade swe-bench-pro"
"""The recorded command that grades."""
