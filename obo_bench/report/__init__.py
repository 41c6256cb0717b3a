"""What recorded runs tell: their state now, and the report afterwards. Nothing here changes a run."""
