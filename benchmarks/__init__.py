"""Measurements of the budgets, as ratios in one run; scripts, not tests."""
