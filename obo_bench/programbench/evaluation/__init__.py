"""The official evaluator, what it leaves behind, and what that means."""
