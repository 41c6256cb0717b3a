"""The report of a run as a document: every number of it, told once, whatever it is shown in."""
