"""Proofs that take minutes to hours: kills, interrupts, many instances, faults. `python -m tests.soak --help`."""
