"""Usage: python3 -m reference_attacks PROGRAM; prints what became of each try, as one JSON object."""

import json
import sys
from collections.abc import Callable

from .on_file import FILE_TRIES
from .on_process import PROCESS_TRIES


def outcome(attack: Callable[[], bool]) -> str:
    try:
        return "worked" if attack() else "refused"
    except OSError as error:
        return f"refused: {error}"


# A program that runs cannot be written, whoever owns it: that comes first. What changes the file comes last.
TRIES = {"write": FILE_TRIES["write"]} | PROCESS_TRIES | FILE_TRIES
sys.stdout.write(json.dumps({name: outcome(attack) for name, attack in TRIES.items()}) + "\n")
