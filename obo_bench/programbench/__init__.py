"""The benchmark: which instances, what the agent is asked, what it hands in, how that is graded."""

BENCHMARK = "programbench"
"""Its name: in rows and manifests, and of the directory of its runs."""
