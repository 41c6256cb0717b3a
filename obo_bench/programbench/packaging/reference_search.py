"""Looking for the reference in what is handed in: at any offset, changed in places, compressed, as text, cut up.

A hash finds only exact copies; one more byte makes another hash. So passages of the reference are looked for, and in a
compiled program they must lie as far apart as they do in the reference: a library that both programs hold gives
passages, too, but at other distances.

This finds copies that nobody took pains to hide. It does not see through other transformations (base85, reversed or
interleaved bytes, XOR, encryption), through parts of a compressed stream but the first, nor through text files below
a sixteenth of the reference that are no base64 or digits.
"""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from obo_bench.programbench.packaging.encodings import (
    BINARY_SIGNS,
    SEALED,
    Decoder,
    SealedError,
    Sign,
    UndecodableError,
    decoders_of_part,
    text_signs,
)
from obo_bench.programbench.packaging.reference_traces import ReferenceTraces

_LARGEST_RATIO = 16
"""Text below this part of the reference is not searched: programs do not compress so well."""
_DEPTH = 3
_ACTIVE_DECODERS = 8
_DECODERS_PER_FILE = 4096
_TREE_BYTES = 1 << 30
_FILE_BYTES = 1 << 26
_TAIL = 63
"""Bytes kept of the piece before: one less than the longest passage or mark."""


@dataclass
class Allowance:
    """What may still be unwrapped: a few bytes can stand for any number, and nested ones for more."""

    tree: int = _TREE_BYTES
    """Bytes, in the whole tree."""
    file: int = 0
    """Bytes, in the present file."""
    decoders: int = 0
    """Streams, in the present file."""
    spent: bool = False
    """Something of the present file was not looked into."""

    def next_file(self, reference_size: int) -> None:
        """Begin with another file."""
        self.file, self.decoders, self.spent = _FILE_BYTES + _LARGEST_RATIO * reference_size, _DECODERS_PER_FILE, False

    def take(self, size: int) -> bool:
        """Use `size` bytes; False when they are not left."""
        self.file, self.tree = self.file - size, self.tree - size
        self.spent = self.spent or self.file < 0 or self.tree < 0
        return not self.spent


class ReferenceFinder:
    """Searches the files of one tree for one reference."""

    def __init__(self, traces: ReferenceTraces | None) -> None:
        self._traces = traces if traces is not None and traces.passages else None
        self._signs = (BINARY_SIGNS, text_signs(bytes.fromhex(traces.beginning))) if traces is not None else ((), ())
        self._allowance = Allowance()
        self._holders: dict[bytes, str] = {}

    def search(self, size: int, beginning: bytes) -> "Search | None":
        """Return what looks through one file of `size` bytes; None for one in which there is no room for the reference.

        The reference may be spread over many files, and they may be small unless they are text.
        """
        if self._traces is None or (size * _LARGEST_RATIO < self._traces.loaded and _is_plain_text(beginning)):
            return None
        self._allowance.next_file(self._traces.size)
        return Search(self._traces, self._signs, self._allowance)

    def note(self, path: str, search: "Search") -> None:
        """Remember what a file holds of the reference that no file before it held, unless it is told by itself."""
        if not (search.found or search.found_inside):
            for passage in search.passages():
                self._holders.setdefault(passage, path)

    def holders(self) -> tuple[str, ...]:
        """Return the files that hold, each a part, at least half of the passages together; empty if they hold less."""
        enough = self._traces is not None and len(self._holders) * 2 >= len(self._traces.passages)
        return tuple(dict.fromkeys(self._holders.values())) if enough else ()


def _is_plain_text(beginning: bytes) -> bool:
    return b"\0" not in beginning and not decoders_of_part(beginning)


class Search:
    """Looks through one stream of bytes, and through the streams that are encoded in it."""

    def __init__(
        self,
        traces: ReferenceTraces,
        signs: tuple[tuple[Sign, ...], tuple[Sign, ...]],
        allowance: Allowance,
        depth: int = 0,
    ) -> None:
        self._traces, self._signs, self._allowance, self._depth = traces, signs, allowance, depth
        self._missing = {passage.content: passage.at for passage in traces.passages}
        self._by_distance: dict[int, set[bytes]] = defaultdict(set)
        self._seen = 0
        self._tail = b""
        self._decoders: list[tuple[Decoder, Search]] = []
        self._inner: dict[Callable[[], Decoder], Search] = {}
        self.found = False
        """The stream itself holds the reference, or most of it."""

    @property
    def found_inside(self) -> bool:
        """Whether an encoded stream holds the reference."""
        return any(inner.found or inner.found_inside for inner in self._inner.values())

    @property
    def incomplete(self) -> bool:
        """Whether something could not be looked into."""
        return self._allowance.spent

    def passages(self) -> set[bytes]:
        """Return what of the reference the stream holds, and the streams in it."""
        return self._own_passages().union(*(inner.passages() for inner in self._inner.values()))

    def feed(self, data: bytes) -> None:
        """Look at the next bytes of the stream."""
        if self.found:
            return
        text = self._tail + data
        self._find_passages(text)
        self._decoders = [active for active in self._decoders if self._unwrap(*active, data)]
        if self._seen == 0:
            self._look_at_beginning(data)
        if self._depth < _DEPTH and not self.found:
            self._find_streams(text)
        self._seen += len(data)
        self._tail = text[-_TAIL:]

    def _find_passages(self, text: bytes) -> None:
        start = self._seen - len(self._tail)
        for content in [content for content in self._missing if content in text]:
            self._by_distance[start + text.find(content) - self._missing.pop(content)].add(content)
        count = len(self._traces.passages)
        least = count / 2 if self._traces.text else max(min(count, 3), count / 3)
        self.found = len(self._own_passages()) >= least

    def _own_passages(self) -> set[bytes]:
        """Return what of the reference the stream itself holds."""
        if self._traces.text:
            return set[bytes]().union(*self._by_distance.values())
        return max(self._by_distance.values(), key=len, default=set())

    def _look_at_beginning(self, data: bytes) -> None:
        if data.startswith(SEALED):
            self._allowance.spent = True
        if self._depth < _DEPTH:
            for decoder in decoders_of_part(data):
                self._begin(decoder, data)

    def _find_streams(self, text: bytes) -> None:
        binary, textual = self._signs
        # Each mark takes as long as the hash of the file does, so none is sought where it can't be.
        self._find_marks([sign for sign in binary if sign.mark.isascii()] if text.isascii() else binary, text, text)
        if b"\0" not in text:
            self._find_marks([sign for sign in textual if not sign.any_case], text, text)
            self._find_marks([sign for sign in textual if sign.any_case], text.lower(), text)

    def _find_marks(self, signs: "tuple[Sign, ...] | list[Sign]", searched: bytes, text: bytes) -> None:
        for sign in signs:
            # What lies in the tail as a whole was found the last time.
            at = searched.find(sign.mark, max(len(self._tail) - len(sign.mark) + 1, 0))
            while at >= 0:
                if at >= sign.before:
                    self._begin(sign.decoder, text[at - sign.before :])
                at = searched.find(sign.mark, at + 1)

    def _begin(self, make: Callable[[], Decoder], data: bytes) -> None:
        if self.found_inside:
            return
        self._allowance.decoders -= 1
        if self._allowance.decoders < 0 or len(self._decoders) >= _ACTIVE_DECODERS:
            self._allowance.spent = True
            return
        inner = self._inner.get(make)
        if inner is None:
            inner = Search(self._traces, self._signs, self._allowance, self._depth + 1)
            self._inner[make] = inner
        decoder = make()
        if self._unwrap(decoder, inner, data):
            self._decoders.append((decoder, inner))

    def _unwrap(self, decoder: Decoder, inner: "Search", data: bytes) -> bool:
        """Look at what the next bytes hold; False when the decoder has no more use."""
        try:
            for piece in decoder.pieces(data):
                if not self._allowance.take(len(piece)):
                    return False
                inner.feed(piece)
        except SealedError:
            self._allowance.spent = True
            return False
        except UndecodableError:
            return False
        return not (decoder.ended or inner.found)
