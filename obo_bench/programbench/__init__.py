"""The benchmark: which instances, what the agent is asked, what it hands in, how that is graded."""
