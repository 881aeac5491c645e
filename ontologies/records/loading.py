"""Loading annotation records by way of the compiled cache: the source is parsed once for each pair of contents."""

from __future__ import annotations

import hashlib

from ...errors import ArtifactError
from ..compiled import load_compiled, store_compiled
from ..ontology import Ontology
from ..readers.stix_bundle import can_read as is_stix
from ..source import Source, SourceLike, read_source
from .hpoa import read_hpoa
from .model import Records
from .stix import read_groups

__all__ = ["load_records"]

_HEAD_BYTES = 65536
_KIND = "records"
_LAYOUT = 4  # raise it whenever a reader gives another table for the same file, or to_arrays another set of arrays


def load_records(
    source: SourceLike, ontology: Ontology, *, strict: bool = False, name: str | None = None, cache: bool = True
) -> Records:
    """Returns the annotation records in a file, from a compiled file where one of the same content exists.

    A STIX bundle gives the groups of ATT&CK, anything else is read as a phenotype.hpoa.

    Args:
        source: path, bytes or binary file, perhaps compressed.
        ontology: the ontology whose terms the records name.
        strict: refuse the file at its first warning instead of reporting it.
        name: name for reports, where ``source`` has none.
        cache: use and write the compiled file.

    Raises:
        ParseError: the file cannot be read, or ``strict`` met a fault.
        DataMissing: there is no such file.
    """
    opened = read_source(source, name=name)
    key = _key(opened, ontology)
    found = _load(key, opened.path, ontology) if cache else None
    # The report of a clean file is the same in both modes; a faulty one must be read again to raise its first fault.
    if found is not None and not (strict and (found.report.warnings or found.report.errors)):
        found.report.strict = strict
        return found
    if is_stix(opened.content()[:_HEAD_BYTES]):
        records = read_groups(opened, ontology, strict=strict)
    else:
        records = read_hpoa(opened.raw, ontology, strict=strict, name=opened.path)
    if cache:
        store_compiled(_KIND, key, records.to_arrays())
    return records


def _key(source: Source, ontology: Ontology) -> str:
    """Everything that the numbers in a table depend on."""
    parts = (f"{_KIND} {_LAYOUT}", source.raw_sha256, ontology.sha256, str(len(ontology)))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _load(key: str, path: str, ontology: Ontology) -> Records | None:
    arrays = load_compiled(_KIND, key)
    if arrays is None:
        return None
    try:
        return Records.from_arrays(arrays, ontology, path=path)
    except ArtifactError:  # another release wrote it; it is made again from the source
        return None
