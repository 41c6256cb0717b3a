"""Containers: which daemon, images, and the cleanroom that one task works in."""
