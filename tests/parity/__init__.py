"""Parity: every recorded command, through every way out, as a process; `$?`, manifest and envelope must agree."""
