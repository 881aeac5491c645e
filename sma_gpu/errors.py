"""Exceptions and warnings of the library.

Every error says three things: what was asked, what was found, and what to do. The parts are kept as attributes, so
that a batch can write them into a result line and the command line can print them as one sentence.
"""

from __future__ import annotations

__all__ = [
    "ArityMismatch",
    "ArtifactError",
    "BackendUnavailable",
    "CalibrationError",
    "CapacityError",
    "CaseError",
    "ChecksumMismatch",
    "CycleFound",
    "DataMissing",
    "DialError",
    "FingerprintMismatch",
    "LatticeError",
    "OntologyError",
    "ParseError",
    "QueryError",
    "ShapeError",
    "SmaError",
    "UnknownKey",
    "UnknownTerm",
]


class SmaError(Exception):
    """Base of all errors raised on purpose by this library.

    Args:
        asked: what the caller asked for.
        found: what was found instead.
        do: what the caller can do about it.
    """

    def __init__(self, asked: str, found: str, do: str) -> None:
        super().__init__(asked, found, do)
        self.asked = asked
        self.found = found
        self.do = do

    def __str__(self) -> str:
        return f"{self.asked}: {self.found}. {self.do}"

    def as_dict(self) -> dict[str, str]:
        """Returns the three parts, as written into a failed line of a batch."""
        return {"asked": self.asked, "found": self.found, "do": self.do}


class OntologyError(SmaError, ValueError):
    """An ontology or record file cannot be used."""


class ParseError(OntologyError):
    """A file cannot be read; ``path`` and ``line`` (counted from 1, or None) say where."""

    def __init__(self, asked: str, found: str, do: str, *, path: str, line: int | None = None) -> None:
        super().__init__(asked, found, do)
        self.path = path
        self.line = line


class ChecksumMismatch(OntologyError):
    """A file is not the one that was stated: its size or its sum is another one."""


class UnknownTerm(OntologyError):
    """An id is not in the ontology. Raised only where unknown ids are refused; the default reports and goes on."""

    def __init__(self, asked: str, found: str, do: str, *, nearest: tuple[str, ...] = ()) -> None:
        super().__init__(asked, found, do)
        self.nearest = nearest


class LatticeError(SmaError, ValueError):
    """The is-a relation is not a lattice that can be mounted."""


class CycleFound(LatticeError):
    """The is-a relation has a cycle; ``cycle`` is its path of ids, first id repeated at the end."""

    def __init__(self, asked: str, found: str, do: str, *, cycle: tuple[str, ...]) -> None:
        super().__init__(asked, found, do)
        self.cycle = cycle


class CaseError(SmaError, ValueError):
    """A case cannot be built or packed."""


class ArityMismatch(CaseError):
    """A predicate is used with different numbers of arguments."""


class DialError(SmaError, ValueError):
    """A dial has a value outside its range."""


class QueryError(SmaError, ValueError):
    """A query is wrongly put: k below 1, an ambiguous name, a malformed record."""


class CalibrationError(SmaError, ValueError):
    """Solved cases from which no confidence can be calibrated, or a calibration that does not fit what is asked."""


class UnknownKey(SmaError, KeyError):
    """No stored case has the given key."""

    __str__ = SmaError.__str__  # KeyError would show the repr of the arguments


class ShapeError(SmaError, TypeError):
    """An array has the wrong shape or dtype."""


class CapacityError(SmaError, RuntimeError):
    """A number does not fit where it must go; ``do`` names the dial or the limit."""


class DataMissing(SmaError, FileNotFoundError):
    """A file or package that the request needs is not there; ``do`` holds the line that installs it."""

    __str__ = SmaError.__str__


class BackendUnavailable(SmaError, RuntimeError):
    """A backend was asked for by name and cannot serve; an automatic choice never raises this."""


class ArtifactError(SmaError, RuntimeError):
    """A file written by this library cannot be used again."""


class FingerprintMismatch(ArtifactError):
    """Something was made under other dials, data or input than those at hand; ``field`` names which."""

    def __init__(self, asked: str, found: str, do: str, *, field: str) -> None:
        super().__init__(asked, found, do)
        self.field = field
