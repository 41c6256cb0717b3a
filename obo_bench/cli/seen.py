"""What the operator of a command sees on stderr while it works."""

import os
from collections.abc import Iterator

from obo_bench.core.display import Display, FaceMaker


class OperatorDisplay(Display):
    """A board on a terminal, else lines; nothing with -q."""

    def faces(self) -> Iterator[FaceMaker]:
        """Look at the terminal, and load what draws on it, only once the invocation is admitted."""
        from obo_bench.report.board.board_face import faces

        return faces(os.environ, quiet=self.quiet)
