"""A table of wire formats that imports each one only when asked for it: a schema does not cost the import of all."""

import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from obo_bench.core.wire_format import WireModel


class FormatTable(Mapping[str, "type[WireModel]"]):
    """The formats by name; `places` says where each one is defined, as `module:class` below `obo_bench`."""

    def __init__(self, places: Mapping[str, str]) -> None:
        self._places = dict(sorted(places.items()))

    def __getitem__(self, name: str) -> "type[WireModel]":
        module, _, model = self._places[name].partition(":")
        found: type[WireModel] = getattr(importlib.import_module(f"obo_bench.{module}"), model)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)
