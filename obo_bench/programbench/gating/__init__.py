"""The calibration gate: may a campaign be paid for, judged by a few tasks and a reference."""
