"""Some of the records instead of all: what a query was restricted to, and the words for it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from .where import Condition

__all__ = ["Restriction"]


@dataclass(frozen=True, eq=False)
class Restriction:
    """The only cases that can be hits. What a term is worth stays that of all cases.

    Attributes:
        wanted: which cases, bool ``[N]``.
        named: keys of the cases that the caller named, sorted, or None where he named none.
        where: conditions that the cases fulfil, all of them.
        without: key of the case that stands in the place of the query and can be no hit, or None.
        inheritance: modes of inheritance of which the cases have one or a narrower one, each as id and name.
    """

    wanted: npt.NDArray[np.bool_]
    named: tuple[str, ...] | None = None
    where: tuple[Condition, ...] = ()
    without: str | None = None
    inheritance: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """Number of cases that can be hits."""
        return int(np.count_nonzero(self.wanted))

    def leaving_out(self, case: int, key: str) -> Restriction:
        """Returns the restriction to the same cases without number ``case``, which has this key."""
        wanted = self.wanted.copy()
        wanted[case] = False
        return replace(self, wanted=wanted, without=key)

    @cached_property
    def _named_sha256(self) -> str:
        return hashlib.sha256("\n".join(self.named or ()).encode("utf-8", "surrogatepass")).hexdigest()

    def as_dict(self) -> dict[str, Any]:
        """Returns what an answer says of it."""
        return {
            "among": None if self.named is None else len(self.named),
            **({} if self.named is None else {"among_sha256": self._named_sha256}),
            "where": [str(condition) for condition in self.where],
            "without": self.without,
            **({"inheritance": list(self.inheritance)} if self.inheritance else {}),
            "cases": self.count,
        }

    def note(self, entity: str) -> str:
        """Returns it in words; ``entity`` is what a record describes."""
        told = [str(condition) for condition in self.where]
        told += [f"inheritance {' or '.join(self.inheritance)}"] if self.inheritance else []
        conditions = f" with {' and '.join(told)}" if told else ""
        return f"hits are sought among {self.count} of {len(self.wanted)} {entity}s{conditions}"

    def fingerprint(self, keys: Sequence[str]) -> str:
        """Returns the SHA-256 of all that the hits can depend on, hex; ``keys`` are those of all cases."""
        wanted = [keys[case] for case in np.flatnonzero(self.wanted).tolist()]
        told = repr((self.as_dict(), wanted))
        return hashlib.sha256(told.encode("utf-8", "surrogatepass")).hexdigest()
