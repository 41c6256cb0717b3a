"""Why something could not be read or written, in words for a message that names it already."""

import json


def why(error: BaseException) -> str:
    """Return what an error says, without the name of the file and without Python's notation.

    Of a JSON text that is a single line only the column is told: as a line of a file it has another number there.
    """
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, UnicodeDecodeError):
        return f"it is not UTF-8 text: {error.reason} at byte {error.start}"
    if isinstance(error, json.JSONDecodeError):
        where = f"line {error.lineno}, column {error.colno}" if "\n" in error.doc.strip() else f"column {error.colno}"
        return f"{error.msg.removesuffix(' at')} at {where}"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return str(error)
