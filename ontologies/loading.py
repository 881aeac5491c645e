"""Loading an ontology: the reader is chosen by content, and the result is kept in a compiled file."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from .compiled import load_compiled, ontology_from_arrays, ontology_to_arrays, store_compiled
from .magic import refusal
from .ontology import Ontology
from .readers import cpc, obo, obograph, owl_or_skos, stix, xbrl
from .source import Source, SourceLike, read_source
from .stream import heads_of

__all__ = ["READERS", "OntologyReader", "compiled_ontology", "load_ontology", "read_ontology"]

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
    OntologyReader("CPC", cpc.can_read, cpc.read_cpc),
    OntologyReader("XBRL", xbrl.can_read, xbrl.read_xbrl),
    OntologyReader("OBO Graphs", obograph.can_read, obograph.read_obograph),
    OntologyReader("OWL or SKOS", owl_or_skos.can_read, owl_or_skos.read_rdf),
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
    ontology = compiled_ontology(found)
    if ontology is None:
        ontology = read_ontology(found)
        store_compiled(_KIND, found.raw_sha256, ontology_to_arrays(ontology))
    if strict:
        ontology.report.require_clean()
    return ontology


def read_ontology(source: SourceLike, *, name: str | None = None) -> Ontology:
    """Returns the ontology in ``source``, read anew whatever was compiled before.

    Raises:
        ParseError: no reader knows the content, or it is damaged.
        CycleFound: the is-a relation has a cycle.
        DataMissing: there is no such file.
    """
    found = read_source(source, name=name)
    with _collector_at_rest():
        return _reader_of(found).read(found)


def compiled_ontology(source: Source) -> Ontology | None:
    """Returns the ontology that was compiled from these bytes, or None where there is none to be trusted."""
    arrays = load_compiled(_KIND, source.raw_sha256)
    if arrays is None:
        return None
    try:
        return ontology_from_arrays(arrays, path=source.path)
    except ValueError:
        return None  # written by another release under the same number; the source is at hand, so read that


@contextlib.contextmanager
def _collector_at_rest() -> Iterator[None]:
    """Keeps the search for cycles of garbage from running.

    A reader makes millions of objects and keeps them; walking them again and again is a third of a long reading, and
    finds nothing.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _reader_of(source: Source) -> OntologyReader:
    for head in heads_of(source, _HEAD_BYTES):  # of each file, where it is an archive
        for reader in READERS:
            if reader.can_read(head):
                return reader
    content = source.content()
    for reader in READERS:  # the whole only where a long comment hides what follows
        if reader.can_read(content):
            return reader
    raise refusal(
        content,
        asked=f"read {source.path}",
        path=source.path,
        otherwise=", which is no known ontology format",
        do=f"Give a file in one of these formats, compressed or not: {', '.join(r.format for r in READERS)}.",
    )
