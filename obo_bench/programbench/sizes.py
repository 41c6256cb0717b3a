"""Sizes as docker writes them."""

import re

_UNITS = {"": 1, "b": 1, "k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def parse_size(text: str) -> int:
    """Return the bytes of a size such as `512m` or `16g`; raises ValueError that names the text and the form."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)([bkmgt]?)b?", text.strip().lower())
    if not match:
        raise ValueError(f"{text!r} is not a size: write a number with b, k, m, g or t, such as 16g")
    return int(float(match[1]) * _UNITS[match[2]])
