"""Foreign text as HTML that can be broken in the right places: everything is escaped first."""

import re

from markupsafe import Markup, escape

_CODE = re.compile("`([^`]+)`")
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]{1,30}(?![\w-])")


def coded(text: str) -> Markup:
    """Return a text of ours with what stands in backticks as code, and options in one piece."""
    whole = _OPTION.sub(r'<span class="option">\g<0></span>', str(escape(text)))
    return Markup(_CODE.sub(r"<code>\1</code>", whole))


def parted(instance_id: str) -> Markup:
    """Return an id that can be broken between owner and project."""
    return Markup(str(escape(instance_id)).replace("__", "__<wbr>"))


def whole_words(text: str) -> Markup:
    """Return a command line that is broken between its words, not inside `--`."""
    return Markup(" ").join(Markup('<span class="word">{}</span>').format(word) for word in text.split(" "))
