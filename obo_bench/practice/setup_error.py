"""What is raised when the practice set-up cannot be made on this machine."""

from obo_bench.core.refusals import PreflightRefused


class PracticeSetupError(PreflightRefused):
    """A step of the practice set-up failed: the message names what and why, `remedy` what can be done."""

    def __init__(self, message: str, remedy: str) -> None:
        super().__init__("practice_setup_failed", message)
        self._remedy = remedy

    @property
    def remedy(self) -> str:
        """What the operator can do."""
        return self._remedy
