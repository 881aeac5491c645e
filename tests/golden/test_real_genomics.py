"""The Gene Ontology and its annotations as published, counted a second time in a few plain lines."""

from __future__ import annotations

import gzip
import json
import lzma
from collections import defaultdict
from pathlib import Path

import numpy as np
import pytest

from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.records import Records, load_records, read_gaf
from sma_gpu.ontologies.records.gaf_text import EXPERIMENTAL

SAYS_LITTLE = {"GO:0005515"}  # protein binding, which those who made the questions left out


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "genomics"


@pytest.fixture(scope="module")
def ontology(folder: Path) -> Ontology:
    return load_ontology(folder / "go-2019-01-27.obo.xz")


def roots_of(ontology: Ontology) -> dict[str, int]:
    """Number of live terms under each of the three roots, by a walk along first parents."""
    counts: dict[str, int] = defaultdict(int)
    for term in range(len(ontology)):
        while len(above := ontology.parents_of(term)):
            term = int(above[0])
        counts[ontology.ids[term]] += 1
    return dict(counts)


def relations_of(ontology: Ontology) -> dict[str, int]:
    return {r: int((ontology.relations[:, 1] == i).sum()) for i, r in enumerate(ontology.relation_ids)}


@pytest.mark.parametrize(
    ("file", "version", "terms", "retired", "roots", "is_a", "relations"),
    [
        (
            "go-2019-01-27.obo.xz", "2019-01-27", 47_347, 2_334, (29_694, 11_113, 4_206), 77_189,
            {"part_of": 7_942, "regulates": 3_575, "positively_regulates": 3_105, "negatively_regulates": 3_126,
             "has_part": 726, "occurs_in": 192},
        ),
        (
            "go-basic-2021-12-15.obo.xz", "2021-12-15", 47_261, 3_472, (28_429, 11_177, 4_183), 70_759,
            {"part_of": 7_066, "regulates": 3_209, "positively_regulates": 2_752, "negatively_regulates": 2_763},
        ),
    ],
)  # fmt: skip
def test_counts_of_the_ontology(
    folder: Path,
    file: str,
    version: str,
    terms: int,
    retired: int,
    roots: tuple[int, int, int],
    is_a: int,
    relations: dict[str, int],
) -> None:
    go = load_ontology(folder / file)
    assert go.version == version
    assert go.live_count + go.retired_count == terms
    assert go.retired_count == retired
    under = roots_of(go)
    assert (under["GO:0008150"], under["GO:0003674"], under["GO:0005575"]) == roots
    assert sum(under.values()) == go.live_count
    assert len(go.parents) == is_a
    found = relations_of(go)
    assert {name: found[name] for name in relations} == relations


COUNTS = {  # rows, with NOT, gene products, terms without and with those of NOT alone, conflicts
    "human": (475_402, 1_187, 19_739, 18_012, 18_062, 195),
    "mouse": (396_273, 796, 21_714, 18_296, 18_327, 126),
}


@pytest.mark.parametrize("species", list(COUNTS))
def test_counts_of_the_annotations(folder: Path, ontology: Ontology, species: str) -> None:
    rows, negated, products, terms, all_terms, conflicts = COUNTS[species]
    records = read_gaf(folder / f"goa_{species}_2019-01.gaf.xz", ontology)
    assert (records.version, records.ontology_version) == ("2019-01-14", "2019-01-11")
    assert len(records.line) == rows  # no row is a copy of another
    owner = np.repeat(np.arange(len(records.term)), np.diff(records.row_ptr))
    assert int(records.excluded[owner].sum()) == negated
    assert len(records) == products
    assert len(np.unique(records.term[~records.excluded])) == terms
    assert len(np.unique(records.term)) == all_terms
    assert {e.kind for e in records.report.faults} == {"conflict"}  # nothing is unknown, nothing is left out
    assert len(records.report.faults) == conflicts
    days = records.attributes["date"].values.texts
    assert (min(days), max(days)) == ({"human": "2000-03-22", "mouse": "1999-01-01"}[species], "2019-01-13")


@pytest.fixture(scope="module")
def human(folder: Path, ontology: Ontology) -> Records:
    return read_gaf(folder / "goa_human_2019-01.gaf.xz", ontology, evidence="experimental")


def test_annotations_are_those_of_the_rows(folder: Path, ontology: Ontology, human: Records) -> None:
    wanted: dict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    text = lzma.decompress((folder / "goa_human_2019-01.gaf.xz").read_bytes()).decode()
    for line in text.rstrip("\n").split("\n"):
        cells = line.rstrip("\n").split("\t")
        if line[0] == "!" or cells[6] not in EXPERIMENTAL:
            continue
        term = ontology.ids[ontology.resolve(cells[4]).index]
        wanted[f"UniProtKB:{cells[1]}"]["NOT" in cells[3].split("|")].add(term)
    found = {key: (set(r.positive), set(r.excluded)) for key in wanted for r in (human.record(key),)}
    assert found == wanted
    assert sum(bool(human.record(key).annotations) for key in human.keys) == len(wanted)


def test_questions_on_orthologs_are_the_experimental_terms(folder: Path, human: Records) -> None:
    """What was made from the two files by other code holds exactly the terms that the filter leaves."""
    with gzip.open(folder / "eval-ortholog-human-to-mouse.jsonl.gz", "rt", encoding="utf-8") as lines:
        queries = [json.loads(line) for line in lines]
    assert len(queries) == 4_776
    for query in queries:
        assert set(query["terms"]) == set(human.record(query["id"]).positive) - SAYS_LITTLE


@pytest.mark.slow
def test_genes_of_a_newer_table(folder: Path) -> None:
    path = folder / "org-hs-go-2022-09.jsonl.gz"
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        genes = [json.loads(line) for line in lines]
    assert len(genes) == 20_484
    go = load_ontology(folder / "go-basic-2021-12-15.obo.xz")
    records = load_records(path, go)
    assert records.keys == tuple(sorted(gene["id"] for gene in genes))
    rows = {(g["id"], aspect, term, code) for g in genes for aspect in "PFC" for term, code in g[aspect]}
    lost = {
        (key, aspect, term, code)
        for key, aspect, term, code in rows
        if go.resolve(term).status in ("unknown", "retired")
    }
    unlike = [entry for entry in records.report.faults if entry.kind not in ("unknown-id", "retired-id")]
    assert not unlike
    assert {entry.ids[0] for entry in records.report.faults} == {term for _, _, term, _ in lost}
    kept = {(key, go.ids[go.resolve(term).index], code) for key, _, term, code in rows - lost}
    found = {
        (record.key, annotation.term, row.evidence)
        for record in map(records.record, records.keys)
        for annotation in record.annotations
        for row in annotation.rows
    }
    assert found == kept
    assert records.record("NCBIGene:1").attributes["symbol"] == ("A1BG",)
    assert records.record("NCBIGene:1").attributes["synonym"] == ("P04217", "V9HWD8")
