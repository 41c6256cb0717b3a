"""Campaigns: an ordered list of commands, each in a process of its own, with one record, one ceiling and one end."""
