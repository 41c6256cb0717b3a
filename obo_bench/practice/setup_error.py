"""What is raised when the practice set-up cannot be made on this machine."""


class PracticeSetupError(RuntimeError):
    """A step of the practice set-up failed; the message names what and why, `remedy` what can be done."""

    def __init__(self, message: str, remedy: str) -> None:
        """Keep the remedy beside the message; both appear in the text."""
        super().__init__(f"{message}; {remedy}")
        self.remedy = remedy
        """What the operator can do."""
