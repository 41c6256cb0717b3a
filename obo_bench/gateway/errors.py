"""What can go wrong when the server is asked something.

GatewayError (RuntimeError)
|-- GatewayUnreachable       no answer: refused, reset, timed out, cut off
|-- GatewayAnswerInvalid     an answer that is not what an Ouroboros server says
`-- GatewayRefused           a proper error answer, with its status and text
"""


class GatewayError(RuntimeError):
    """Base of everything the client raises; the message keeps the server's own text."""


class GatewayUnreachable(GatewayError):
    """No usable answer came within the deadline; whether a request arrived is unknown."""


class GatewayAnswerInvalid(GatewayError):
    """The answer is not JSON, not an object, redirected, compressed, or larger than any real one."""


class GatewayRefused(GatewayError):
    """The server answered with an error."""

    def __init__(self, status: int, text: str, *, where: str) -> None:
        super().__init__(f"{where} answered {status}: {text}")
        self.status = status
        """HTTP status."""
        self.text = text
        """The server's error text."""
