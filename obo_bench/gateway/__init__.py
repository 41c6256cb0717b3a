"""The Ouroboros server: its wire models, one HTTP client, attestation, and the life of a task."""

DEFAULT_URL = "http://127.0.0.1:8770"
"""Where a server listens unless it is told otherwise."""
