"""Reader of the gene tables of the Human Phenotype Ontology: which gene carries which disease.

``genes_to_phenotype.txt`` has a row for each gene, sign and disease, ``genes_to_disease.txt`` one for each gene and
disease. Of both, the gene and the disease are read; columns are found by name. Older releases name them in a comment.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from ...errors import ParseError
from ...lattice.arrays import pointers
from ..report import LoadReport
from ..source import SourceLike, decode_lines, read_source
from .equivalents import folded
from .tab import Table, read_table

__all__ = ["GeneLinks", "can_read", "read_genes"]

Int32 = npt.NDArray[np.int32]
Int64 = npt.NDArray[np.int64]

_COLUMNS = {
    "ncbi_gene_id": "gene",
    "entrez_gene_id": "gene",
    "gene_symbol": "symbol",
    "entrez_gene_symbol": "symbol",
    "disease_id": "disease",
    "gene_id(entrez)": "gene",
    "disease_id_for_link": "disease",
    "diseaseid": "disease",
}
_FORMAT = "#format:"
_NEEDED = ("gene", "symbol", "disease")
_NCBI = "NCBIGene:"
_ALL_NUMBER = re.compile(r"[0-9]+")


@dataclass(frozen=True, eq=False)
class GeneLinks:
    """Genes of ``R`` records; read-only.

    Attributes:
        path: name of the file.
        sha256: SHA-256 of the uncompressed file, hex.
        keys: id of each gene, such as ``NCBIGene:2200``; genes are ordered by symbol, then by id, both by code point.
        symbols: symbol of each gene, its id where it has none.
        ptr: int64 ``[R + 1]``; the genes of record i are ``gene[ptr[i]:ptr[i + 1]]``, ascending, each once.
        gene: int32, numbers of genes.
        unknown: number of diseases in the file that are no record.
        report: what the reader noticed.
    """

    path: str
    sha256: str
    keys: tuple[str, ...]
    symbols: tuple[str, ...]
    ptr: Int64
    gene: Int32
    unknown: int
    report: LoadReport = field(repr=False)

    def __post_init__(self) -> None:
        self.ptr.setflags(write=False)
        self.gene.setflags(write=False)

    def of(self, record: int) -> list[int]:
        """Returns the numbers of the genes of record number ``record``, ascending."""
        found: list[int] = self.gene[self.ptr[record] : self.ptr[record + 1]].tolist()
        return found


def can_read(head: bytes) -> bool:
    """Returns whether ``head``, the uncompressed start of a file, has the column header of a gene table."""
    lines = decode_lines(head, LoadReport(""))
    return set(_NEEDED) <= set(_columns(lines, _header_at(lines)))


def read_genes(source: SourceLike, keys: Sequence[str], *, strict: bool = False) -> GeneLinks:
    r"""Returns the genes that a gene table gives to the records with these keys.

    Args:
        source: path, bytes or binary file, perhaps compressed.
        keys: keys of the records.
        strict: refuse the file at its first warning instead of reporting it.

    Raises:
        ParseError: the file is no gene table, its compression is damaged, or ``strict`` met a fault.
        DataMissing: there is no such file.

    >>> links = read_genes(b"ncbi_gene_id\tgene_symbol\tdisease_id\n2200\tFBN1\tOMIM:154700\n", ["OMIM:154700"])
    >>> links.keys, links.symbols, links.of(0)
    (('NCBIGene:2200',), ('FBN1',), [0])
    """
    opened = read_source(source)
    report = LoadReport(opened.path)
    lines = decode_lines(opened.content(), report)
    at = _header_at(lines)
    columns = _columns(lines, at)
    missing = [name for name in _NEEDED if name not in columns]
    if missing or len(set(filter(None, columns))) < len(list(filter(None, columns))):
        raise ParseError(
            f"read {opened.path} as a gene table",
            f"it has no column for the {missing[0]}" if missing else "a column stands there twice",
            "Give genes_to_phenotype.txt or genes_to_disease.txt of an HPO release.",
            path=opened.path,
            line=at + 1 if at >= 0 else None,
        )
    table = read_table(lines, at + 1, columns, _NEEDED, _NEEDED)
    for uneven, what in ((table.broken, "left out"), (table.uneven, "read as far as the header goes")):
        if uneven:
            message = f"{len(uneven)} lines have not the {len(columns)} columns of the header; {what}"
            report.warn("columns", message, [line.line for line in uneven])
    links = _links(table, keys, report, opened.path, opened.content_sha256)
    if strict:
        report.require_clean()
    return links


def _header_at(lines: Sequence[str]) -> int:
    for at, line in enumerate(lines):
        if line[: len(_FORMAT)].lower() == _FORMAT:
            return at
        if line.strip() and not line.startswith("#"):
            return at
    return -1


def _columns(lines: Sequence[str], at: int) -> list[str]:
    if at < 0:
        return []
    line = lines[at]
    if line[: len(_FORMAT)].lower() == _FORMAT:
        line = line[len(_FORMAT) :].replace("<tab>", "\t")
    return [_COLUMNS.get(re.sub(r"[ -]", "_", cell.strip().lower()), "") for cell in line.split("\t")]


def _links(table: Table, keys: Sequence[str], report: LoadReport, path: str, sha256: str) -> GeneLinks:
    codes, values = table.codes, table.values
    ids = [f"{_NCBI}{text}" if _ALL_NUMBER.fullmatch(text) else text for text in values["gene"]]
    place: dict[str, list[int]] = {}
    for number, key in enumerate(keys):
        place.setdefault(folded(key), []).append(number)
    known = [place.get(folded(text), []) for text in values["disease"]]

    empty = (
        np.array([not text for text in values["gene"]], np.bool_)[codes["gene"]] if len(table) else codes["gene"] > 0
    )
    empty |= np.array([not text for text in values["disease"]], np.bool_)[codes["disease"]] if len(table) else False
    if empty.any():
        lines = table.line[empty].tolist()
        report.warn("empty-id", f"{len(lines)} rows have no gene or no disease; left out", lines)
    pairs = np.unique(np.column_stack([codes["disease"], codes["gene"], codes["symbol"]])[~empty], axis=0).tolist()

    symbols: dict[str, dict[str, None]] = {}
    for _, gene, symbol in pairs:
        text = values["symbol"][symbol]
        symbols.setdefault(ids[gene], {}).update({text: None} if text and text != "-" else {})
    for gene, found in sorted(symbols.items()):
        if len(found) > 1:
            texts = sorted(found)
            report.note("several-symbols", f"{gene} is called {', '.join(texts)}; {texts[0]} is used", ids=[gene])
    named = {gene: min(found) if found else gene for gene, found in symbols.items()}
    ordered = sorted(named, key=lambda gene: (named[gene], gene))
    number_of = {gene: number for number, gene in enumerate(ordered)}

    links = sorted({(record, number_of[ids[gene]]) for disease, gene, _ in pairs for record in known[disease]})
    owner, gene_numbers = np.array(links, np.int64).reshape(-1, 2).T
    strange = sorted({values["disease"][disease] for disease, _, _ in pairs if not known[disease]})
    if strange:
        told = ", ".join(strange[:3])
        lost = {disease for disease, _, _ in pairs if not known[disease]}
        lines = table.line[np.isin(codes["disease"], list(lost))].tolist()
        report.note("unknown-disease", f"{len(strange)} diseases of the file are no record: {told}", lines, strange)
    return GeneLinks(
        path=path,
        sha256=sha256,
        keys=tuple(ordered),
        symbols=tuple(named[gene] for gene in ordered),
        ptr=pointers(owner, len(keys)),
        gene=gene_numbers.astype(np.int32),
        unknown=len(strange),
        report=report,
    )
