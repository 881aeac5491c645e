"""Ontologies with their names in a language that is asked for, where their format holds names in several."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from ..errors import QueryError
from .compiled import load_compiled, ontology_from_arrays, ontology_to_arrays, store_compiled
from .loading import READERS, load_ontology
from .ontology import Ontology
from .readers.owl_or_skos import read_rdf
from .readers.xbrl import read_xbrl
from .source import Source, SourceLike, read_source
from .stream import heads_of

__all__ = ["ENGLISH", "checked_language", "load_in_language"]

ENGLISH = "en"
"""The language of names where none is asked for."""

_TAG = re.compile(r"[a-z]{1,8}(-[a-z0-9]{1,8})*")
_READ: Mapping[str, Callable[..., Ontology]] = {"XBRL": read_xbrl, "OWL or SKOS": read_rdf}


def checked_language(language: str) -> str:
    """Returns a language tag in small letters; that of English where it is empty.

    Raises:
        QueryError: it does not look like a tag.

    >>> checked_language(""), checked_language("pt-BR")
    ('en', 'pt-br')
    """
    tag = language.strip().lower().replace("_", "-") or ENGLISH
    if not _TAG.fullmatch(tag):
        raise QueryError(f"names in the language {language!r}", "that is no language tag", "Write de, ja or pt-BR.")
    return tag


def load_in_language(
    source: SourceLike, language: str = "", *, strict: bool = False, name: str | None = None
) -> Ontology:
    """Returns the ontology in ``source`` as ``load_ontology`` does, with its names in a language.

    A term without a name in it is called by one in a regional form of it, without a language, or in another one, in
    this order; all other names are synonyms. In a format whose names are in one language nothing changes, and a note
    in the report says so.

    Args:
        source: a path, bytes or a file open in binary mode, compressed or not.
        language: its tag, such as ``de``; English where it is empty.
        strict: refuse a file with a warning instead of reporting and going on.
        name: name of the source in reports.

    Raises:
        QueryError: ``language`` does not look like a tag.
        ParseError: no reader knows the content, it is damaged, or it has a warning under ``strict``.
        CycleFound: the is-a relation has a cycle.
        DataMissing: there is no such file.
    """
    tag = checked_language(language)
    if tag == ENGLISH:
        return load_ontology(source, strict=strict, name=name)
    found = read_source(source, name=name)
    read = _reader_of(found)
    if read is None:
        ontology = load_ontology(found, strict=strict)
        ontology.report.note("one-language", f"the names in this format are in one language; {tag} changes nothing")
        return ontology
    kind = f"ontology-{tag}"
    kept = _kept(kind, found)
    ontology = kept or read(found, language=tag)
    if kept is None:
        store_compiled(kind, found.raw_sha256, ontology_to_arrays(ontology))
    if strict:
        ontology.report.require_clean()
    return ontology


def _reader_of(source: Source) -> Callable[..., Ontology] | None:
    """Returns what reads a format with names in several languages, or None for a source of another one."""
    for head in heads_of(source):
        for reader in READERS:
            if reader.can_read(head):
                return _READ.get(reader.format)
    return None


def _kept(kind: str, source: Source) -> Ontology | None:
    arrays = load_compiled(kind, source.raw_sha256)
    try:
        return None if arrays is None else ontology_from_arrays(arrays, path=source.path)
    except ValueError:
        return None  # written by another release under the same number; the source is at hand
