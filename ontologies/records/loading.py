"""Loading annotation records by way of the compiled cache: the source is parsed once for each pair of contents."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from ...errors import ArtifactError
from ..compiled import load_compiled, store_compiled
from ..magic import refusal
from ..ontology import Ontology
from ..readers.stix_bundle import can_read as is_stix
from ..source import Source, SourceLike, read_source
from ..stream import head_of
from .gaf import can_read as is_gaf
from .gaf import read_gaf
from .gpad import can_read as is_gpad
from .gpad import read_gpad
from .gpad_products import can_read as are_products
from .hpoa import can_read as is_hpoa
from .hpoa import read_hpoa
from .model import Records
from .patents import can_read as are_patents
from .patents import read_patents
from .stix import read_actors
from .tables import read_table_records, why_no_table
from .xbrl_filings import read_any_filings

__all__ = ["load_records"]

_HEAD_BYTES = 65536
_KIND = "records"
_LAYOUT = 9  # raise it whenever a reader gives another table for the same file, or to_arrays another set of arrays


def load_records(
    source: SourceLike,
    ontology: Ontology,
    *,
    kind: str = "",
    strict: bool = False,
    name: str | None = None,
    cache: bool = True,
    columns: Mapping[str, Sequence[str]] | None = None,
    products: SourceLike | None = None,
) -> Records:
    """Returns the annotation records in a file, from a compiled file where one of the same content exists.

    A STIX bundle gives the groups, software or campaigns of ATT&CK, a GAF or GPAD file gene products, patent data
    patents, filings with the SEC filings, a phenotype.hpoa diseases, a table with columns for a key and for terms its
    rows.

    Args:
        source: path, bytes or binary file, perhaps compressed.
        ontology: the ontology whose terms the records name.
        kind: which of the kinds of records in the file, such as ``campaign``, or of evidence, such as ``experimental``;
            the usual one where it is empty.
        strict: refuse the file at its first warning instead of reporting it.
        name: name for reports, where ``source`` has none.
        cache: use and write the compiled file.
        columns: the file is a table, and these are its columns as ``named`` of ``guess_columns``.
        products: the GPI file that names the gene products of a GPAD file; other records have none.

    Raises:
        ParseError: the file cannot be read, or ``strict`` met a fault.
        DataMissing: there is no such file.
        QueryError: it has no such kind of records.
    """
    opened = read_source(source, name=name)
    beside = None if products is None else read_source(products)
    told = [kind, *([json.dumps(columns, sort_keys=True)] if columns else []), *([beside.raw_sha256] if beside else [])]
    key = _key(opened, ontology, " ".join(told))
    found = _load(key, opened.path, ontology) if cache else None
    # The report of a clean file is the same in both modes; a faulty one must be read again to raise its first fault.
    if found is not None and not (strict and (found.report.warnings or found.report.errors)):
        found.report.strict = strict
        return found
    head = head_of(opened, _HEAD_BYTES)
    if columns:
        records = read_table_records(opened, ontology, columns, strict=strict)
    elif is_gaf(head):
        records = read_gaf(opened, ontology, evidence=kind or "all", strict=strict)
    elif is_gpad(head) or are_products(head):
        records = read_gpad(opened, ontology, products=beside, evidence=kind or "all", strict=strict)
    elif are_patents(head):
        records = read_patents(opened, ontology, strict=strict)
    elif is_stix(head):
        records = read_actors(opened, ontology, kind=kind or "group", strict=strict)
    else:
        found = read_any_filings(opened, ontology, strict=strict)
        if found is not None:
            records = found
        elif is_hpoa(head):
            records = read_hpoa(opened.raw, ontology, strict=strict, name=opened.path)
        else:
            records = _read_table(opened, head, ontology, strict=strict)
    if cache:
        store_compiled(_KIND, key, records.to_arrays())
    return records


def _read_table(source: Source, head: bytes, ontology: Ontology, *, strict: bool) -> Records:
    """Returns the records in a table, which is the last form that is tried."""
    why = why_no_table(head, ontology)
    if why:
        raise refusal(
            head,
            asked=f"read {source.path} as records",
            path=source.path,
            otherwise=f"; it is in none of the forms that are known by their content, nor a table ({why})",
            do="Give a phenotype.hpoa, GAF, STIX, patents, filings, or a table; --columns says which column is what.",
        )
    return read_table_records(source, ontology, strict=strict)


def _key(source: Source, ontology: Ontology, kind: str) -> str:
    """Everything that the numbers in a table depend on."""
    parts = (f"{_KIND} {_LAYOUT} {kind}".rstrip(), source.raw_sha256, ontology.sha256, str(len(ontology)))
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _load(key: str, path: str, ontology: Ontology) -> Records | None:
    arrays = load_compiled(_KIND, key)
    if arrays is None:
        return None
    try:
        return Records.from_arrays(arrays, ontology, path=path)
    except ArtifactError:  # another release wrote it; it is made again from the source
        return None
