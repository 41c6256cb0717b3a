"""What is known about the launchers of the family: one module for each kind, `registry` for all."""
