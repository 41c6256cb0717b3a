"""Carry out `exec`: the gates, the watch over the child, and how it all ends."""
