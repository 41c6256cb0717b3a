"""The one refusal of the practice: something it needs is missing, and the remedy says what to do."""

from obo_bench.core.refusals import PreflightRefused


class PracticeSetupError(PreflightRefused):
    """The practice cannot be set up or is asked for something that does not exist."""

    def __init__(self, message: str, remedy: str) -> None:
        """Say what is wrong and what the operator can do about it."""
        super().__init__("practice_setup_failed", message, remedy=remedy)
