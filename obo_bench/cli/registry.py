"""Every command, by what it may do (design I3): an unregistered one fails a test."""

RECORDED = frozenset({"programbench run"})
"""Commands that run inside the seam and leave a manifest."""

READ_ONLY = frozenset({"practice", "practice gateway"})
"""Commands that write no run state of their own."""
