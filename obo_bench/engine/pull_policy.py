"""When an image is pulled: by itself, because the command line knows it and what pulls takes long to load."""

from typing import Literal

PullPolicy = Literal["missing", "always", "never"]
"""`missing` pulls what is not on the engine, `always` pulls all the same, `never` refuses what is not there."""
