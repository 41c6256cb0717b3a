"""From a solved workspace to the archive that is handed in."""
