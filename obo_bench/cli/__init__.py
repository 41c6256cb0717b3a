"""The command line: options and help; each command calls one function and prints one result."""
