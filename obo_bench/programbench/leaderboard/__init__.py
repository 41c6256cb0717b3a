"""Makes of a graded run a directory that the official `submit package` and `submit verify` pass as it stands."""
