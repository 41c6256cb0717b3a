"""What can go wrong when the server is asked something.

GatewayError (RuntimeError)
|-- GatewayUnreachable       no answer: refused, reset, timed out, cut off
|-- GatewayAnswerInvalid     an answer that is not what an Ouroboros server says
`-- GatewayRefused           a proper error answer, with its status and text
"""

_LONGEST_SHOWN = 500
"""Characters of an error text that a message shows, on one line."""


class GatewayError(RuntimeError):
    """Base of everything the client raises; the message shows the server's own text."""


class GatewayUnreachable(GatewayError):
    """No usable answer came within the deadline; whether a request arrived is unknown."""


class GatewayAnswerInvalid(GatewayError):
    """The answer is not JSON, not an object, redirected, compressed, or larger than any real one."""


class GatewayRefused(GatewayError):
    """The server answered with an error."""

    def __init__(self, status: int, text: str, *, where: str) -> None:
        shown = " ".join(text.split())  # a proxy answers with a page of HTML
        shown = shown if len(shown) <= _LONGEST_SHOWN else f"{shown[:_LONGEST_SHOWN]}..."
        super().__init__(f"{where} answered {status}: {shown}")
        self.status = status
        """HTTP status."""
        self.text = text
        """The server's error text, whole."""
