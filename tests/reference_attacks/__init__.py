"""Runs inside a cleanroom: tries to get at the bytes of a program that may only be run. Standard library only."""
