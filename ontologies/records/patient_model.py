"""What a batch of patients is made of, before any term is looked up."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...errors import SmaError
from ..report import Entry

__all__ = ["BadRecord", "PatientInput", "PatientRecord"]


@dataclass(frozen=True)
class PatientRecord:
    """One patient as recorded. Term ids stand as written but for blanks around them, repeats included, unresolved.

    Attributes:
        id: key of the record.
        observed: ids of the signs that were seen.
        excluded: ids of the signs that were looked for and ruled out.
        labels: recorded diagnoses, each once: those of a phenopacket, or ``gold`` of a line. They are for comparison
            with an answer, never a part of the query.
        ruled_out: diseases recorded as excluded, each once.
        solved: the record says what is right. With no labels, that is to be none of the entities there are.
        publications: where the record was published, ids such as ``PMID:20301510``, each once.
        where: file, with line or path inside it.
        notes: what the reader noticed.
    """

    id: str
    observed: tuple[str, ...]
    excluded: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    ruled_out: tuple[str, ...] = ()
    solved: bool = False
    publications: tuple[str, ...] = ()
    where: str = ""
    notes: tuple[Entry, ...] = ()


@dataclass(frozen=True)
class BadRecord:
    """One line or file of a batch that cannot be used.

    Attributes:
        id: key of the record, or None where it cannot be told.
        where: file, with line or path inside it.
        error: why.
    """

    id: str | None
    where: str
    error: SmaError


@dataclass(frozen=True)
class PatientInput:
    """All records of one batch, good and bad, in the order of the input.

    Attributes:
        records: one entry for each line or file.
        sha256: SHA-256 of the uncompressed content, hex. For a folder or an archive it covers the sorted relative
            paths and the content of the files that were read.
        form: ``jsonl`` (one record a line, phenopackets among them), ``phenopacket``, ``folder``, ``zip`` or ``tar``.
        notes: what was noticed about the input as a whole.
    """

    records: list[PatientRecord | BadRecord]
    sha256: str
    form: str
    notes: tuple[Entry, ...] = field(default=())
