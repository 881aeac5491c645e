"""Gene tables of the HPO."""

from __future__ import annotations

import gzip

import pytest

from sma_gpu.errors import ParseError
from sma_gpu.ontologies.records.genes import can_read, read_genes

PHENOTYPE = "ncbi_gene_id\tgene_symbol\thpo_id\thpo_name\tfrequency\tdisease_id\n"
KEYS = ["OMIM:1", "OMIM:2", "ORPHA:3"]


def test_rows_become_links() -> None:
    rows = "10\tB\tHP:1\tx\t-\tOMIM:1\n10\tB\tHP:2\tx\t-\tOMIM:1\n9\tA\tHP:1\tx\t-\tOMIM:1\n10\tB\tHP:1\t\t-\tORPHA:3\n"
    links = read_genes((PHENOTYPE + rows).encode(), KEYS)
    assert links.keys == ("NCBIGene:9", "NCBIGene:10")
    assert links.symbols == ("A", "B")
    assert [links.of(i) for i in range(3)] == [[0, 1], [], [1]]
    assert (links.unknown, list(links.report)) == (0, [])


def test_the_other_table_has_the_same_links() -> None:
    table = "ncbi_gene_id\tgene_symbol\tassociation_type\tdisease_id\tsource\nNCBIGene:9\tA\tMENDELIAN\tOrphanet:3\tx\n"
    links = read_genes(gzip.compress(table.encode()), KEYS)
    assert links.keys == ("NCBIGene:9",)
    assert links.of(2) == [0]


def test_what_is_odd_is_told() -> None:
    rows = (
        "10\tB\tHP:1\t\t-\tOMIM:1\n10\tC\tHP:1\t\t-\tOMIM:2\n\tD\tHP:1\t\t-\tOMIM:2\nshort\n7\t-\tHP:1\t\t-\tOMIM:99\n"
    )
    links = read_genes((PHENOTYPE + rows).encode(), KEYS)
    assert links.symbols == ("B", "NCBIGene:7")
    assert links.unknown == 1
    assert [(e.severity, e.kind, e.lines) for e in links.report] == [
        ("warning", "columns", (5,)),
        ("warning", "empty-id", (4,)),
        ("note", "several-symbols", ()),
        ("note", "unknown-disease", (6,)),
    ]
    with pytest.raises(ParseError, match="no gene or no disease"):
        read_genes((PHENOTYPE + rows).encode(), KEYS, strict=True)


def test_order_of_rows_plays_no_part() -> None:
    rows = [f"{gene}\tG{gene % 3}\tHP:1\t\t-\t{KEYS[gene % 2]}\n" for gene in range(1, 9)]
    one = read_genes((PHENOTYPE + "".join(rows)).encode(), KEYS)
    other = read_genes((PHENOTYPE + "".join(reversed(rows))).encode(), KEYS)
    assert (one.keys, one.symbols, one.gene.tolist()) == (other.keys, other.symbols, other.gene.tolist())


def test_no_rows() -> None:
    links = read_genes(PHENOTYPE.encode(), KEYS)
    assert (links.keys, links.of(0)) == ((), [])


@pytest.mark.parametrize("table", ["", "a\tb\n", "ncbi_gene_id\tgene_symbol\n", PHENOTYPE.strip() + "\tdisease_id\n"])
def test_other_files_are_refused(table: str) -> None:
    assert can_read(PHENOTYPE.encode())
    with pytest.raises(ParseError):
        read_genes(table.encode(), KEYS)


@pytest.mark.parametrize(
    ("header", "row"),
    [
        (
            "#Format: entrez-gene-id<tab>entrez-gene-symbol<tab>HPO-Term-ID<tab>HPO-Term-Name<tab>Frequency-Raw"
            "<tab>Frequency-HPO<tab>Additional Info from G-D source<tab>G-D source<tab>disease-ID for link",
            "9\tA\tHP:1\tx\t\t\t-\tmim2gene\tOMIM:1",
        ),
        (
            "#Format: HPO-id<tab>HPO label<tab>entrez-gene-id<tab>entrez-gene-symbol<tab>Additional Info from "
            "G-D source<tab>G-D source<tab>disease-ID for link",
            "HP:1\tx\t9\tA\t-\tmim2gene\tOMIM:1",
        ),
        (
            "#Format: diseaseId<tab>gene-symbol<tab>gene-id(entrez)<tab>HPO-ID<tab>HPO-term-name",
            "OMIM:1\tA\t9\tHP:1\tx",
        ),
        ("#Format: entrez-gene-id<tab>entrez-gene-symbol<tab>HPO-Term-Name<tab>HPO-Term-ID", "9\tA\tx\tHP:1"),
    ],
)
def test_headers_of_older_releases(header: str, row: str) -> None:
    table = f"{header}\n{row}\n".encode()
    if "isease" not in header:  # the oldest of them name no disease
        assert not can_read(table)
        return
    assert can_read(table)
    links = read_genes(table, KEYS)
    assert (links.keys, links.symbols, links.of(0), list(links.report)) == (("NCBIGene:9",), ("A",), [0], [])
