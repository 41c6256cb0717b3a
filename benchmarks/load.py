"""How busy the machine was: a figure measured beside other work is worth less."""

import os


def load() -> str:
    """Return the load averages of the last 1, 5 and 15 minutes, and the processors that they are shared by."""
    return f"load {', '.join(f'{value:.1f}' for value in os.getloadavg())} on {os.cpu_count()} processors"
