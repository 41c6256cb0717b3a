"""`programbench prepare`: a submission from a container and a workspace that somebody else made."""
