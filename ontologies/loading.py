"""Loading an ontology: the reader is chosen by content, and the result is kept in a compiled file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from .compiled import load_compiled, ontology_from_arrays, ontology_to_arrays, store_compiled
from .magic import refusal
from .ontology import Ontology
from .readers import obo, stix
from .source import Source, SourceLike, read_source

__all__ = ["READERS", "OntologyReader", "load_ontology"]

_HEAD_BYTES = 65536
_KIND = "ontology"


class _Read(Protocol):
    def __call__(self, source: SourceLike, /, *, strict: bool = False, name: str | None = None) -> Ontology:
        """Returns the ontology in ``source``."""
        ...


@dataclass(frozen=True)
class OntologyReader:
    """A format: its name, a look at its first uncompressed bytes (or at all), and the reading."""

    format: str
    can_read: Callable[[bytes], bool]
    read: _Read


# The first one that recognises the content reads it. A new format is one line here.
READERS: tuple[OntologyReader, ...] = (
    OntologyReader("OBO", obo.can_read, obo.read_obo),
    OntologyReader("STIX", stix.can_read, stix.read_stix),
)


def load_ontology(source: SourceLike, *, strict: bool = False, name: str | None = None) -> Ontology:
    r"""Returns the ontology in ``source``, from its compiled file where there is one.

    A compiled file keeps the report of the reading it stems from, so that the second load says all that the first one
    said, and a strict load refuses what a strict reading would.

    Args:
        source: a path, bytes or a file open in binary mode, compressed or not.
        strict: refuse a file with a warning instead of reporting and going on.
        name: name of the source in reports.

    Raises:
        ParseError: no reader knows the content, it is damaged, or it has a warning under ``strict``.
        CycleFound: the is-a relation has a cycle.
        DataMissing: there is no such file.

    >>> load_ontology(b"[Term]\nid: EX:1\nname: root\n").live_count
    1
    """
    found = read_source(source, name=name)
    ontology = _from_compiled(found)
    if ontology is None:
        ontology = _reader_of(found).read(found)
        store_compiled(_KIND, found.raw_sha256, ontology_to_arrays(ontology))
    if strict:
        ontology.report.require_clean()
    return ontology


def _from_compiled(source: Source) -> Ontology | None:
    arrays = load_compiled(_KIND, source.raw_sha256)
    if arrays is None:
        return None
    try:
        return ontology_from_arrays(arrays, path=source.path)
    except ValueError:
        return None  # written by another release under the same number; the source is at hand, so read that


def _reader_of(source: Source) -> OntologyReader:
    content = source.content()
    for part in (content[:_HEAD_BYTES], content):  # the whole only where a long comment hides what follows
        for reader in READERS:
            if reader.can_read(part):
                return reader
    raise refusal(
        content,
        asked=f"read {source.path}",
        path=source.path,
        otherwise=", which is no known ontology format",
        do=f"Give a file in one of these formats, compressed or not: {', '.join(r.format for r in READERS)}.",
    )
