"""`export`: the submissions of a run, or of any directory, as a minimal tree for the official evaluator."""
