"""Records by what people call them: the accession without its database, the symbol, or a synonym."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property

from ...errors import UnknownKey
from .model import Records

__all__ = ["Aliases"]


class Aliases:
    """Other names of records, for collections that have symbols; each stands for a record only where no other has it.

    A synonym stands for its record where it is the accession or the symbol of none.

    Args:
        records: the collection.
    """

    def __init__(self, records: Records) -> None:
        self._records = records

    def key_of(self, asked: str) -> str | None:
        """Returns the key of the one record that ``asked`` stands for, None where it stands for none.

        Raises:
            UnknownKey: it stands for several; they are named.
        """
        found = self._keys.get(asked) or self._synonyms.get(asked, ())
        if len(found) > 1:
            raise UnknownKey(
                f"record {asked!r} of {self._records.label}",
                f"{len(found)} records are called so: {', '.join(found[:6])}",
                "Give the key of the one you mean.",
            )
        return found[0] if found else None

    @cached_property
    def _keys(self) -> Mapping[str, tuple[str, ...]]:
        symbols = self._records.attributes.get("symbol")
        if symbols is None:
            return {}
        return self._by_name(lambda number, key: (key.partition(":")[2], *symbols.of(number)))

    @cached_property
    def _synonyms(self) -> Mapping[str, tuple[str, ...]]:
        synonyms = self._records.attributes.get("synonym")
        if synonyms is None or "symbol" not in self._records.attributes:
            return {}
        return self._by_name(lambda number, _: synonyms.of(number))

    def _by_name(self, names: Callable[[int, str], Iterable[str]]) -> Mapping[str, tuple[str, ...]]:
        found: dict[str, dict[str, None]] = {}
        for number, key in enumerate(self._records.keys):
            for name in names(number, key):
                if name:
                    found.setdefault(name, {})[key] = None
        return {name: tuple(keys) for name, keys in found.items()}
