"""The recommended settings of a server that is benchmarked, and how they get into its settings file."""
