"""What a run has left at the server and on the engine, and how it is ended."""
