"""What a report can be written as; apart from the writers, so that a command's help need not load them."""

from enum import StrEnum


class Format(StrEnum):
    """What a report is written as."""

    HTML = "html"
    MARKDOWN = "md"
    JSON = "json"
