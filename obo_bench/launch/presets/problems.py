"""What was found wrong with a launcher's files, in words, and never more of it than anybody reads."""

_MOST = 50
_LONGEST = 1000


class Problems:
    """Collects problems; after the fiftieth they are only counted."""

    def __init__(self) -> None:
        self._told: dict[str, None] = {}
        self._more = 0

    def tell(self, text: str) -> None:
        """Take one problem; the same one counts once."""
        text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ..."
        if len(self._told) < _MOST or text in self._told:
            self._told[text] = None
        else:
            self._more += 1

    def texts(self) -> tuple[str, ...]:
        """Return them in the order in which they came up."""
        more = (f"and {self._more} more problem(s)",) if self._more else ()
        return (*self._told, *more)
