"""Reader of GAF 1.0 to 2.2, the annotations of gene products with terms of the Gene Ontology, and of genes in JSON.

A record is a gene product. That something does NOT have a term is an annotation of its own: an experiment under other
circumstances may say that it has, and both stay. Whatever is left out, repaired or contradictory is reported with its
lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from ...errors import ParseError, QueryError
from ..magic import refusal
from ..ontology import Ontology
from ..report import LoadReport
from ..source import Source, SourceLike, decode_lines, read_source
from ..stream import HashedStream, Rejoined, line_blocks, only_member
from ..strings import StringColumn
from .columns import Int32
from .gaf_columns import attributes_of, evidence_of, first_texts
from .gaf_json import is_gene_json, read_gene_json
from .gaf_text import (
    COLUMNS,
    EVIDENCE,
    EXPERIMENTAL,
    LEAST,
    codes_wanted,
    day_of,
    has_version,
    is_row,
    ontology_release,
    read_gaf_qualifier,
    read_header,
    release_in,
)
from .model import Records
from .notices import Notices, its_rows, join_shown
from .pool import Pooled, Rows, pool
from .qualifier import NEGATED, UNCLEAR
from .tab import Table, TableReader

__all__ = ["GafReading", "can_read", "read_gaf", "release_of"]

Int64 = npt.NDArray[np.int64]

_HEAD = 65536
_VERSIONS = ("1.0", "2.0", "2.1", "2.2")
_NEEDED = COLUMNS[: COLUMNS.index("aspect") + 1]
_COPIED = ("qualifier", "reference", "evidence", "with", "taxon", "date", "assigned_by", "extension", "form")
_ROOTS = {"GO:0008150": "P", "GO:0003674": "F", "GO:0005575": "C"}


def can_read(head: bytes) -> bool:
    """Returns whether ``head``, the uncompressed start of a file, is that of a GAF file, or of genes in JSON lines."""
    lines = decode_lines(head, LoadReport(""))
    if any(map(has_version, lines)) or is_gene_json(head):
        return True
    first = next((line for line in lines if line.strip() and line[0] != "!"), "")
    return is_row(first)


def release_of(lines: Sequence[str]) -> str:
    """Returns the day on which the file was made, as its header in the first ``lines`` says, or an empty string."""
    return release_in(read_header(line for line in lines if line[:1] == "!"))


def read_gaf(
    source: SourceLike,
    ontology: Ontology,
    *,
    evidence: str = "all",
    strict: bool = False,
    name: str | None = None,
) -> Records:
    r"""Returns the gene products in a GAF file, or in JSON lines, their terms resolved to live terms of ``ontology``.

    The file is read a block at a time. The key of a record is its database and accession, its name is its symbol; its
    attributes are ``symbol``, ``title``, ``synonym``, ``type``, ``taxon``, ``source``, ``date``, ``evidence``,
    ``reference``, ``qualifier``, ``with``, ``extension`` and ``form`` (of a gene product, such as an isoform).

    Args:
        source: path, bytes or binary file, perhaps compressed.
        ontology: the Gene Ontology.
        evidence: which rows count: ``all``, ``experimental``, ``no-iea``, or evidence codes with commas between them.
        strict: refuse the file at its first warning instead of reporting it.
        name: name for reports, where ``source`` has none.

    Raises:
        ParseError: the file is no GAF file, its compression is damaged, or ``strict`` met a fault.
        QueryError: ``evidence`` asks for what is no evidence code.
        DataMissing: there is no such file.

    >>> from sma_gpu.ontologies.builder import ontology_from_parents
    >>> row = "UniProtKB P1 ABC enables GO:2 PMID:1 IDA - F Toy - protein taxon:9606 20260101 TOY - -"
    >>> ontology = ontology_from_parents({"GO:1": [], "GO:2": ["GO:1"]})
    >>> read_gaf(row.replace("-", "").replace(" ", "\t").encode(), ontology).record("UniProtKB:P1").positive
    ('GO:2',)
    """
    opened = read_source(source, name=name)
    report = LoadReport(opened.path)
    header, table, sha256 = _read_table(opened, report)
    reading = GafReading(read_header(header or ()), table, ontology, evidence, is_gaf=header is not None)
    records = reading.records(sha256, report)
    if strict:
        report.require_clean()
    return records


def _read_table(source: Source, report: LoadReport) -> tuple[list[str] | None, Table, str]:
    """Returns the header lines of a file (None where it is JSON), its rows, and the SHA-256 of its content."""
    header: list[str] = []
    reader = TableReader(COLUMNS, COLUMNS, _NEEDED, comment="!")
    with only_member(source) as file:
        stream = HashedStream(file)
        head = stream.read(_HEAD)
        whole = Rejoined(head, stream)
        if is_gene_json(head):
            table = read_gene_json(line_blocks(whole, report), source.path, report)
            return None, table, stream.sha256
        for start, lines in line_blocks(whole, report):
            if not start:
                _refuse_other(lines, source)
            header += [line for line in lines if line[:1] == "!"]
            reader.add(lines, start)
    return header, reader.table(), stream.sha256


def _refuse_other(lines: list[str], source: Source) -> None:
    head = "\n".join(lines[:1000]).encode("utf-8", "replace")
    if can_read(head):
        return
    first = next((line for line in lines if line.strip()), "")
    forms = {"!gpa-version": "GPAD", "!gpi-version": "GPI"}
    kind = next((kind for start, kind in forms.items() if first.lower().startswith(start)), "")
    if kind:
        raise ParseError(
            f"read {source.path} as GAF",
            f"it is a {kind} file",
            "Give the GAF file of the same annotations, which its publisher offers beside it.",
            path=source.path,
        )
    raise refusal(
        head,
        asked=f"read {source.path} as GAF",
        path=source.path,
        otherwise=" and has no row of 17 columns, parted by tabs, with an id, an evidence code and an aspect",
        do="Give a GAF 2.1 or 2.2 file, such as goa_human.gaf.gz.",
    )


class GafReading:
    """One table on its way to records; what a GAF file must state other forms may leave open.

    Args:
        header: the fields of its header lines.
        table: its rows, in the columns of a GAF file and perhaps others.
        ontology: the Gene Ontology.
        evidence: which rows count, as in ``read_gaf``.
        is_gaf: it is a GAF file.
        name: of the records.
        more: columns that a GAF file lacks and that are attributes, each with the word for it.
    """

    def __init__(
        self,
        header: dict[str, str],
        table: Table,
        ontology: Ontology,
        evidence: str,
        *,
        is_gaf: bool,
        name: str = "gaf",
        more: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.more = more or {}
        self.header = header
        self.is_gaf = is_gaf
        self.table = table
        self.ontology = ontology
        self.evidence = evidence
        self.told = Notices(table)

    def records(self, sha256: str, report: LoadReport) -> Records:
        """Returns the records and writes what there is to say into ``report``."""
        table, told = self.table, self.told
        self._check_header()
        if self.is_gaf:
            told.widths(len(COLUMNS), LEAST)
        keys, record = self._keys()
        term = told.by_text("term", told.resolve("term", self.ontology))
        self._warn_empty("term", "term id")
        sense = told.by_text("qualifier", self._senses())
        self._check_aspects(term)
        self._check_texts()
        wanted = self._wanted()
        usable = np.flatnonzero((record >= 0) & (term >= 0) & (sense != UNCLEAR) & wanted)
        nothing = np.full(len(usable), np.nan)
        rows = Rows(
            record=record[usable],
            aspect=np.zeros(len(usable), np.uint8),
            term=term[usable],
            negated=sense[usable] == NEGATED,
            low=nothing,
            high=nothing,
            numerator=np.full(len(usable), -1, np.int64),
            denominator=np.full(len(usable), -1, np.int64),
            texts=np.column_stack([table.codes[column][usable] for column in (*_COPIED, *self.more.values())]),
        )
        pooled = pool(rows, record_count=len(keys), term_count=len(self.ontology), apart=True)
        self._report_pooling(rows, pooled, usable, keys)
        self._report_counts(rows, pooled, keys)
        told.equal_profiles(keys, pooled, "gene products")
        told.tell(report)
        kept = usable[pooled.kept]
        return Records(
            name=self.name,
            version=release_in(self.header),
            sha256=sha256,
            ontology_version=ontology_release(self.header),
            ontology_sha256=self.ontology.sha256,
            term_ids=self.ontology.ids,
            keys=keys,
            names=StringColumn.from_strings(first_texts(table, "symbol", record, len(keys))),
            **pooled.columns(),
            line=table.line[kept],
            evidence=evidence_of(table, kept),
            report=report,
            attributes=attributes_of(table, record, usable, len(keys), self.more),
        )

    def _check_header(self) -> None:
        version = self.header.get("gaf-version", "")
        if self.is_gaf and version not in _VERSIONS:
            stated = f"states GAF version {version}" if version else "does not state its version"
            self.told.warn("version", f"the file {stated}; it is read as GAF 2.2")
        made, here = ontology_release(self.header), self.ontology.version
        if made and here and made != here:
            self.told.note("release", f"the annotations were made with GO {made}, not {here}")

    def _keys(self) -> tuple[tuple[str, ...], Int32]:
        """Returns the keys of all records in their order, and the number of the record of each row, -1 for none."""
        codes, values = self.table.codes, self.table.values
        if self.is_gaf:
            self._warn_empty("database", "database")
        self._warn_empty("object", "accession")
        size = len(values["object"])
        pair = codes["database"].astype(np.int64) * size + codes["object"]
        distinct, place = np.unique(pair, return_inverse=True)
        named = ((values["database"][p // size], values["object"][p % size]) for p in distinct.tolist())
        found = [_key(*names) if names[0] or not self.is_gaf else "" for names in named]
        keys = tuple(sorted({key for key in found if key}))
        number = {key: i for i, key in enumerate(keys)}
        return keys, np.array([*(number.get(key, -1) for key in found), -1], np.int32)[place]

    def _warn_empty(self, column: str, what: str) -> None:
        if "" in self.table.values[column]:
            lines = self.told.lines(column, self.table.values[column].index(""))
            have = "the row has" if len(lines) == 1 else f"{len(lines)} rows have"
            self.told.warn("empty-id", f"{have} no {what}; left out", lines)

    def _senses(self) -> list[int]:
        senses: list[int] = []
        for code, text in enumerate(self.table.values["qualifier"]):
            found = read_gaf_qualifier(text)
            senses.append(found.sense)
            if not found.severity:
                continue
            lines = self.told.lines("qualifier", code)
            message = f"qualifier {text!r} {found.remark}"
            if found.sense == UNCLEAR:
                message += f"; {its_rows(lines)} left out"
            (self.told.note if found.severity == "note" else self.told.warn)("qualifier", message, lines)
        return senses

    def _check_aspects(self, term: Int32) -> None:
        """Warns of rows whose aspect is not that of their term; the term is believed, and the rows stay."""
        codes, values = self.table.codes["aspect"], self.table.values["aspect"]
        for code, letter in enumerate(values):
            if letter not in ("P", "F", "C") and (letter or self.is_gaf):
                lines = self.told.lines("aspect", code)
                self.told.warn("aspect", f"aspect {letter!r} is none of P, F and C; the term tells it", lines)
        size = max(len(values), 1)
        pairs, first = np.unique(term.astype(np.int64) * size + codes, return_inverse=True)
        for at, pair in enumerate(pairs.tolist()):
            number, letter = pair // size, values[pair % size]
            if number < 0 or letter not in ("P", "F", "C"):
                continue
            own = self._aspect_of(number)
            if own and own != letter:
                lines = self.table.line[first == at].tolist()
                message = f"{self.ontology.ids[number]} is a term of aspect {own}, not {letter}; the term is believed"
                self.told.warn("aspect", message, lines, (self.ontology.ids[number],))

    def _aspect_of(self, term: int) -> str:
        """Returns the aspect of the root above a term, empty where it has none: in GO, is-a crosses no aspect."""
        while len(above := self.ontology.parents_of(term)):
            term = int(above[0])
        return _ROOTS.get(self.ontology.ids[term], "")

    def _check_texts(self) -> None:
        """Warns of dates, codes and taxa that are none; the rows stay."""

        def is_taxon(text: str) -> bool:
            taxa = text.split("|")
            return len(taxa) <= 2 and all(t.startswith("taxon:") and t[6:].isdecimal() for t in taxa)

        for column, is_right, wanted in (
            ("date", day_of, "day of the form yyyymmdd"),
            ("evidence", EVIDENCE.__contains__, "evidence code"),
            ("taxon", is_taxon, "taxon, nor two of them"),
        ):
            for code, text in enumerate(self.table.values[column]):
                if (text or self.is_gaf) and not is_right(text):
                    self.told.warn(column, f"{text!r} is no {wanted}; the rows stay", self.told.lines(column, code))

    def _wanted(self) -> npt.NDArray[np.bool_]:
        values = self.table.values["evidence"]
        try:
            wanted = codes_wanted(self.evidence, values)
        except ValueError as fault:
            raise QueryError(
                f"evidence {self.evidence}",
                str(fault),
                f"Ask for all, no-iea, experimental ({', '.join(EXPERIMENTAL)}), or codes like IDA,IMP.",
            ) from fault
        marked = np.array([*(text in wanted for text in values), False], np.bool_)[self.table.codes["evidence"]]
        lost = int((~marked).sum())
        if self.evidence != "all":
            self.told.note(
                "evidence", f"{lost} of {len(marked)} rows are left out: evidence asked for: {self.evidence}"
            )
        return marked

    def _report_pooling(self, rows: Rows, pooled: Pooled, usable: Int64, keys: tuple[str, ...]) -> None:
        line = self.table.line[usable]
        for group in pooled.copies:
            ids = keys[rows.record[group[0]]], self.ontology.ids[rows.term[group[0]]]
            message = f"{ids[0]} and {ids[1]}: {len(group)} rows are equal; they count once"
            self.told.note("copied-row", message, line[group].tolist(), ids)
        owner = np.repeat(np.arange(len(keys)), np.diff(pooled.ptr))
        twice = (pooled.term[1:] == pooled.term[:-1]) & (owner[1:] == owner[:-1])
        for at in np.flatnonzero(twice).tolist():
            ids = keys[owner[at]], self.ontology.ids[pooled.term[at]]
            lines = np.sort(line[pooled.kept[pooled.row_ptr[at] : pooled.row_ptr[at + 2]]]).tolist()
            message = f"{ids[0]} has {ids[1]} with and without NOT, lines {join_shown(lines)}; both stay"
            self.told.warn("conflict", message, lines, ids)

    def _report_counts(self, rows: Rows, pooled: Pooled, keys: tuple[str, ...]) -> None:
        count = len(self.table) + len(self.table.broken)
        if not len(pooled.kept):
            message = f"no row can be used, of {count} there" if count else "there is no row"
            self.told.warn("no-rows", message)
        left = np.bincount(rows.record, minlength=len(keys)) == 0
        lost = [keys[i] for i in np.flatnonzero(left).tolist()]
        if lost:
            message = f"no row of {join_shown(lost)} can be used; no annotation is left"
            self.told.note("no-usable-row", message, (), tuple(lost))
        negated, terms = int(rows.negated.sum()), len(np.unique(rows.term))
        message = (
            f"{count} rows; used are {len(rows.term)} ({negated} with NOT) of {len(keys)} records and {terms} terms"
        )
        self.told.note("rows", message)


def _key(database: str, accession: str) -> str:
    """Returns the id of a gene product; some databases write their own name before the accession as well."""
    if not accession or not database:
        return accession
    return accession if accession.startswith(f"{database}:") else f"{database}:{accession}"
