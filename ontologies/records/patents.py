"""Patents as records: which symbols of the Cooperative Patent Classification each was given, and in which role.

They come as grant or application XML, as JSON, or as a long table of PatentsView; all become the same records.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..magic import refusal
from ..ontology import Ontology
from ..readers.cpc_symbol import SYMBOL, read_symbols
from ..report import LoadReport
from ..source import Source, SourceLike, decode_lines, read_source
from ..stream import HashedStream, Rejoined, head_of, line_blocks, only_member
from ..strings import StringColumn
from .attributes import Attributes
from .columns import Int32, Interned
from .model import EVIDENCE_FIELDS, Records
from .notices import Notices, join_shown
from .patents_json import is_patent_json, read_patent_json
from .patents_model import Document, Patents
from .patents_table import is_patent_table, read_patent_table
from .patents_xml import is_patent_xml, read_patent_xml
from .pool import Pooled, Rows, pool

__all__ = ["can_read", "read_patents"]

Int64 = npt.NDArray[np.int64]

_HEAD = 65536
_COPIED = ("value", "position", "day", "sequence")


def can_read(head: bytes) -> bool:
    """Returns whether ``head``, the uncompressed start of a file, is that of patents in a form that is read here."""
    return is_patent_xml(head) or is_patent_json(head) or is_patent_table(decode_lines(head[:4096], LoadReport(""))[:1])


def read_patents(source: SourceLike, ontology: Ontology, *, strict: bool = False, name: str | None = None) -> Records:
    r"""Returns the patents in a file, their symbols resolved to terms of ``ontology``.

    Symbols are read as they are written in the field (``A01L 5/00``, ``A01L0005000000``). The role of a symbol stands
    with the evidence: ``evidence`` is ``inventive`` or ``additional``, ``qualifier`` ``main`` or ``further``,
    ``biocuration`` the day of the scheme, ``modifier`` the place in the list. Attributes of a record are ``date``,
    ``source`` (who it was granted to), ``kind``, ``main`` (its main symbols) and ``evidence``. A patent without any
    symbol is kept, reported, and never a hit.

    Args:
        source: path, bytes or binary file, perhaps compressed.
        ontology: the Cooperative Patent Classification.
        strict: refuse the file at its first warning instead of reporting it.
        name: name for reports, where ``source`` has none.

    Raises:
        ParseError: the file holds no patents, is damaged, or ``strict`` met a fault.
        DataMissing: there is no such file.

    >>> from sma_gpu.ontologies.builder import ontology_from_parents
    >>> scheme = ontology_from_parents({"A01L": [], "A01L5/00": ["A01L"]})
    >>> read_patents(b'{"id": "US1", "cpc": ["A01L 5/00"]}', scheme).record("US1").positive
    ('A01L5/00',)
    """
    opened = read_source(source, name=name)
    report = LoadReport(opened.path)
    found, sha256 = _read(opened, report)
    records = _Reading(found, ontology).records(sha256, report)
    if strict:
        report.require_clean()
    return records


def _read(source: Source, report: LoadReport) -> tuple[Patents, str]:
    """Returns the documents of a file and the SHA-256 of its content."""
    with only_member(source) as file:
        stream = HashedStream(file)
        head = stream.read(_HEAD)
        whole = Rejoined(head, stream)
        if is_patent_xml(head):
            return read_patent_xml(whole, source.path, report), stream.sha256
        if is_patent_json(head):
            return read_patent_json(line_blocks(whole, report), source.path, report), stream.sha256
        if is_patent_table(decode_lines(head[:4096], LoadReport(""))[:1]):
            return read_patent_table(line_blocks(whole, report), source.path, report), stream.sha256
    raise refusal(
        head_of(source),
        asked=f"read {source.path} as patents",
        path=source.path,
        otherwise=", which is neither patent XML, nor JSON with an id and CPC symbols, nor a table with a patent_id",
        do="Give a weekly grant file, a JSON line for each patent, or g_cpc_current.tsv of PatentsView.",
    )


class _Reading:
    """Documents on their way to records."""

    def __init__(self, patents: Patents, ontology: Ontology) -> None:
        self.documents = patents.documents
        self.table = patents.table
        self.ontology = ontology
        self.told = Notices(patents.table)

    def records(self, sha256: str, report: LoadReport) -> Records:
        """Returns the records and writes what there is to say into ``report``."""
        table, told, ontology = self.table, self.told, self.ontology
        keys = tuple(sorted(self.documents))
        number = {key: i for i, key in enumerate(keys)}
        record = told.by_text("key", [number.get(key, -1) for key in table.values["key"]])
        self._spell()
        term = told.by_text("symbol", told.resolve("symbol", ontology))
        usable = np.flatnonzero((record >= 0) & (term >= 0))
        rows = Rows(
            record=record[usable],
            aspect=np.zeros(len(usable), np.uint8),
            term=term[usable],
            negated=np.zeros(len(usable), np.bool_),
            low=np.full(len(usable), np.nan),
            high=np.full(len(usable), np.nan),
            numerator=np.full(len(usable), -1, np.int64),
            denominator=np.full(len(usable), -1, np.int64),
            texts=np.column_stack([table.codes[column][usable] for column in _COPIED]),
        )
        pooled = pool(rows, record_count=len(keys), term_count=len(ontology))
        self._report_pooling(rows, pooled, usable, keys)
        self._check_marks(rows, usable, keys)
        self._report_bare(rows, record, keys)
        told.equal_profiles(keys, pooled, "patents")
        told.tell(report)
        kept = usable[pooled.kept]
        documents = [self.documents[key] for key in keys]
        return Records(
            name="patents",
            version="",
            sha256=sha256,
            ontology_version="",
            ontology_sha256=ontology.sha256,
            term_ids=ontology.ids,
            keys=keys,
            names=StringColumn.from_strings(document.title for document in documents),
            **pooled.columns(),
            line=table.line[kept],
            evidence=self._evidence(kept),
            report=report,
            attributes=self._attributes(documents, record, usable),
        )

    def _spell(self) -> None:
        """Replaces the texts of symbols by symbols, where a text is one in another dress."""
        texts = self.table.values["symbol"]
        for code, text in enumerate(texts):
            if SYMBOL.fullmatch(text) or text in self.ontology.number:
                continue
            found = read_symbols(text)
            lines = self.told.lines("symbol", code)
            if len(found.symbols) == 1 and not found.rest:
                texts[code] = found.symbols[0]
            elif text:
                self.told.warn("odd-symbol", f"{text!r} is not one symbol of CPC; left out", lines, (text,))
                texts[code] = ""  # so that it is not told a second time, as unknown
            else:
                self.told.warn("empty-id", "the row has no symbol; left out", lines)

    def _report_pooling(self, rows: Rows, pooled: Pooled, usable: Int64, keys: Sequence[str]) -> None:
        for group in pooled.copies:
            ids = keys[rows.record[group[0]]], self.ontology.ids[rows.term[group[0]]]
            lines = sorted(set(self.table.line[usable][group].tolist()))
            message = f"{ids[0]} has {ids[1]} {len(group)} times in the same words; it counts once"
            self.told.note("copied-row", message, lines, ids)

    def _check_marks(self, rows: Rows, usable: Int64, keys: Sequence[str]) -> None:
        """Warns of symbols that no document may have, and of those that only add to others but are called inventive."""
        inventive = np.array([*(text == "inventive" for text in self.table.values["value"]), False], np.bool_)
        is_inventive = inventive[self.table.codes["value"][usable]]
        for mark, wanted, why in (
            ("not-allocatable", np.ones(len(usable), np.bool_), "which is not given to documents"),
            ("additional-only", is_inventive, "as inventive, although it only adds to others"),
        ):
            marked = np.zeros(len(self.ontology), np.bool_)
            marked[[self.ontology.number[symbol] for symbol in self.ontology.marks.get(mark, ())]] = True
            for row in np.flatnonzero(marked[rows.term] & wanted).tolist():
                ids = keys[rows.record[row]], self.ontology.ids[rows.term[row]]
                message = f"{ids[0]} has {ids[1]} {why}; kept as given"
                self.told.warn(mark, message, [int(self.table.line[usable[row]])], ids)

    def _report_bare(self, rows: Rows, record: Int32, keys: Sequence[str]) -> None:
        given = np.bincount(record[record >= 0], minlength=len(keys)) > 0
        used = np.bincount(rows.record, minlength=len(keys)) > 0
        for lost, why in (
            (~given, "no symbol of CPC"),
            (given & ~used, "no symbol that is in the classification"),
        ):
            bare = [keys[i] for i in np.flatnonzero(lost).tolist()]
            if bare:
                lines = sorted(self.documents[key].line for key in bare)
                have = "patents have" if len(bare) > 1 else "patent has"
                message = f"{len(bare)} {have} {why}, so nothing can match: {join_shown(bare)}"
                self.told.note("no-symbol", message, lines, tuple(bare))
        terms = len(np.unique(rows.term))
        message = f"{len(keys)} patents with {len(rows.term)} symbols, {terms} of them distinct"
        self.told.note("rows", message)

    def _evidence(self, kept: Int64) -> dict[str, Interned]:
        codes, values = self.table.codes, self.table.values
        found = {field: Interned.blank(len(kept)) for field in EVIDENCE_FIELDS}
        for field, column in (("evidence", "value"), ("qualifier", "position"), ("modifier", "sequence")):
            found[field] = Interned(codes[column][kept], StringColumn.from_strings(values[column]))
        days = [f"[{day}]" if day else "" for day in values["day"]]
        found["biocuration"] = Interned(codes["day"][kept], StringColumn.from_strings(days))
        return found

    def _attributes(self, documents: Sequence[Document], record: Int32, usable: Int64) -> Attributes:
        codes, values = self.table.codes, self.table.values
        rows = [dict(document.attributes) for document in documents]
        for row in usable.tolist():
            mine = rows[record[row]]
            if values["position"][codes["position"][row]] == "main":
                mine.setdefault("main", []).append(values["symbol"][codes["symbol"][row]])
            value = values["value"][codes["value"][row]]
            if value:
                mine.setdefault("evidence", []).append(value)
        return Attributes.of_rows(rows)
