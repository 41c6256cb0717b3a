"""What must be true of the server before anyone gives it work: its identity, readiness, settings, models, budget."""
