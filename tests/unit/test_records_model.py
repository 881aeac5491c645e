"""The table of records: views, packing, the way into and out of a compiled file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sma_gpu.errors import ArtifactError, FingerprintMismatch, ParseError, UnknownKey
from sma_gpu.ontologies.builder import ontology_from_parents
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.records import loading
from sma_gpu.ontologies.records.hpoa import read_hpoa
from sma_gpu.ontologies.records.loading import load_records
from sma_gpu.ontologies.records.model import EVIDENCE_FIELDS, Records

HEADER = (
    "database_id\tdisease_name\tqualifier\thpo_id\treference\tevidence\tonset\tfrequency\tsex\tmodifier\taspect"
    "\tbiocuration\n"
)
ARRAYS = ("ptr", "term", "aspect", "excluded", "low", "high", "numerator", "denominator", "row_ptr", "line")
TERMS = ("HP:1", "HP:2", "HP:3")


def toy() -> Ontology:
    return ontology_from_parents({"HP:1": [], "HP:2": ["HP:1"], "HP:3": ["HP:1"]}, name="hp", version="toy")


def line(key: str, term: str, frequency: str = "", qualifier: str = "", aspect: str = "P") -> str:
    return f"{key}\tName of {key} \u03b2\t{qualifier}\t{term}\tPMID:1\tPCS\t\t{frequency}\t\t\t{aspect}\tx\n"


CONTENT = (
    "#version: 2026-02-02\n"
    + HEADER
    + line("OMIM:20", "HP:3", "1/2")
    + line("OMIM:20", "HP:2", "HP:0040285")
    + line("OMIM:10", "HP:2", "40%")
    + line("OMIM:10", "HP:1", "", "", "I")
    + line("ORPHA:1", "HP:9")
).encode()


@pytest.fixture
def ontology() -> Ontology:
    return toy()


@pytest.fixture
def records(ontology: Ontology) -> Records:
    return read_hpoa(CONTENT, ontology, name="toy.hpoa")


def assert_same(a: Records, b: Records) -> None:
    for name in ARRAYS:
        left, right = getattr(a, name), getattr(b, name)
        assert left.dtype == right.dtype, name
        assert np.array_equal(left, right, equal_nan=left.dtype.kind == "f"), name
    for name in ("name", "version", "sha256", "ontology_version", "ontology_sha256", "keys", "names", "term_ids"):
        assert getattr(a, name) == getattr(b, name), name
    for name in EVIDENCE_FIELDS:
        assert np.array_equal(a.evidence[name].codes, b.evidence[name].codes)
        assert [a.evidence[name][i] for i in range(len(a.line))] == [b.evidence[name][i] for i in range(len(b.line))]
    assert list(a.report) == list(b.report)


def test_keys_are_in_code_point_order(records: Records) -> None:
    assert records.keys == ("OMIM:10", "OMIM:20", "ORPHA:1")
    assert [records.index(k) for k in records.keys] == [0, 1, 2]
    assert "OMIM:10" in records
    assert "OMIM:1" not in records
    assert len(records) == 3


def test_views(records: Records) -> None:
    record = records.record("OMIM:20")
    assert (record.key, record.name) == ("OMIM:20", "Name of OMIM:20 \u03b2")
    assert (record.positive, record.excluded) == (("HP:3",), ("HP:2",))
    assert [a.rows[0].line for a in record.annotations] == [4, 3]
    assert [a.term for a in records.record("OMIM:10").aspect("inheritance")] == ["HP:1"]
    assert records.record("ORPHA:1").annotations == ()
    with pytest.raises(ValueError, match="onset"):
        record.aspect("onset")
    with pytest.raises(IndexError):
        records.record_at(3)


@pytest.mark.parametrize(("asked", "suggested"), [("OMIM:30", "OMIM:20"), ("omim:10", "OMIM:10"), ("20", "OMIM:20")])
def test_an_unknown_key_is_answered_with_the_nearest(records: Records, asked: str, suggested: str) -> None:
    with pytest.raises(UnknownKey) as caught:
        records.record(asked)
    assert suggested in caught.value.do
    assert asked in caught.value.asked


def test_packing(records: Records, ontology: Ontology) -> None:
    ptr, term = records.phenotypes(excluded=False)
    assert [str(array.dtype) for array in (ptr, term)] == ["int64", "int32"]
    assert ptr.tolist() == [0, 1, 2, 2]
    assert [ontology.ids[t] for t in term] == ["HP:2", "HP:3"]
    ptr, term = records.phenotypes(excluded=True)
    assert ptr.tolist() == [0, 0, 1, 1]
    assert [ontology.ids[t] for t in term] == ["HP:2"]


def test_arrays_are_read_only(records: Records, ontology: Ontology) -> None:
    again = Records.from_arrays(records.to_arrays(), ontology, path="toy.hpoa")
    for table in (records, again):
        for array in (*(getattr(table, n) for n in ARRAYS), table.evidence["reference"].codes):
            with pytest.raises(ValueError, match="read-only"):
                array[:1] = array[:1]


def test_round_trip(records: Records, ontology: Ontology) -> None:
    assert [e.kind for e in records.report] == ["unknown-id", "no-usable-row"]
    again = Records.from_arrays(records.to_arrays(), ontology, path="toy.hpoa")
    assert_same(records, again)
    assert again.record("OMIM:20") == records.record("OMIM:20")


def test_an_empty_table_goes_round_too(ontology: Ontology) -> None:
    empty = read_hpoa(HEADER.encode(), ontology)
    assert (len(empty), empty.ptr.tolist(), empty.row_ptr.tolist()) == (0, [0], [0])
    assert_same(empty, Records.from_arrays(empty.to_arrays(), ontology, path="<bytes>"))
    ptr, term = empty.phenotypes(excluded=False)
    assert (ptr.tolist(), term.tolist()) == ([0], [])


def test_arrays_of_another_ontology_are_refused(records: Records) -> None:
    other = ontology_from_parents({"HP:1": [], "HP:2": ["HP:1"], "HP:3": ["HP:2"]})
    with pytest.raises(FingerprintMismatch) as caught:
        Records.from_arrays(records.to_arrays(), other, path="toy.hpoa")
    assert caught.value.field == "ontology_sha256"


@pytest.mark.parametrize("name", ["ptr", "meta", "evidence_sex", "evidence_sex_values", "keys_ends"])
def test_missing_or_wrong_arrays_are_refused(records: Records, ontology: Ontology, name: str) -> None:
    arrays = records.to_arrays()
    del arrays[name]
    with pytest.raises(ArtifactError):
        Records.from_arrays(arrays, ontology, path="toy.hpoa")
    wrong = {**records.to_arrays(), name: np.zeros(3, np.float32)}
    with pytest.raises(ArtifactError):
        Records.from_arrays(wrong, ontology, path="toy.hpoa")


ROWS = st.lists(
    st.tuples(
        st.sampled_from(["A:1", "A:2", "B:1"]),
        st.sampled_from(TERMS),
        st.sampled_from(["", "0/3", "1/3", "50%", "HP:0040283", "0%", "5/3"]),
        st.sampled_from(["", "NOT"]),
        st.sampled_from("PI"),
    ),
    max_size=12,
)


@given(ROWS)
def test_pooling_follows_its_definition(rows: list[tuple[str, str, str, str, str]]) -> None:
    """Each annotation against a plain reading of the rule, one pair at a time."""
    records = read_hpoa((HEADER + "".join(line(*r) for r in rows)).encode(), toy())
    pairs: dict[tuple[str, str, str], list[tuple[str, str]]] = {}
    for key, term, frequency, qualifier, aspect in dict.fromkeys(rows):
        pairs.setdefault((key, aspect, term), []).append((frequency, qualifier))
    assert len(records.term) == len(pairs)
    assert records.keys == tuple(sorted({r[0] for r in rows}))
    conflicts = 0
    for (key, aspect, term), said in pairs.items():
        name = "phenotype" if aspect == "P" else "inheritance"
        (annotation,) = [a for a in records.record(key).aspect(name) if a.term == term]
        positive = [f for f, q in said if not q and f not in ("0/3", "0%")]
        conflicts += bool(positive) and any(q for _, q in said)
        assert annotation.excluded == (not positive)
        assert len(annotation.rows) == len(said)
        counts = [f for f, q in said if f == "0/3" or (f == "1/3" and not q)]
        if "1/3" in counts:
            assert annotation.frequency is not None
            affected = counts.count("1/3")
            assert annotation.frequency.numerator == affected
            assert annotation.frequency.denominator == 3 * len(counts)
            assert annotation.frequency.low == pytest.approx(affected / (3 * len(counts)))
        elif positive and annotation.frequency is not None:
            assert annotation.frequency.high > 0
            assert annotation.frequency.denominator is None
    assert conflicts == sum(e.kind == "conflict" for e in records.report)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SMA_GPU_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def test_the_second_load_does_not_parse(cache: Path, ontology: Ontology, monkeypatch: pytest.MonkeyPatch) -> None:
    first = load_records(CONTENT, ontology, name="a.hpoa")
    assert len(list(cache.glob("records*"))) == 1

    def refuse(*args: object, **kwargs: object) -> Records:
        raise AssertionError("parsed again")

    monkeypatch.setattr(loading, "read_hpoa", refuse)
    assert_same(first, load_records(CONTENT, ontology, name="a.hpoa"))
    renamed = load_records(CONTENT, ontology, name="b.hpoa")
    assert {e.path for e in renamed.report} == {"b.hpoa"}
    with pytest.raises(AssertionError):
        load_records(CONTENT + b"\n", ontology)
    with pytest.raises(AssertionError):
        load_records(CONTENT, ontology_from_parents({"HP:1": [], "HP:2": [], "HP:3": []}))
    with pytest.raises(AssertionError):
        load_records(CONTENT, ontology, cache=False)


def test_strict_holds_for_a_compiled_file_too(cache: Path, ontology: Ontology) -> None:
    load_records(CONTENT, ontology, name="a.hpoa")
    with pytest.raises(ParseError) as caught:
        load_records(CONTENT, ontology, strict=True, name="a.hpoa")
    assert caught.value.line == 7


def test_a_damaged_compiled_file_is_made_again(cache: Path, ontology: Ontology) -> None:
    first = load_records(CONTENT, ontology, name="a.hpoa")
    (stored,) = cache.glob("records*")
    stored.write_bytes(stored.read_bytes()[:-40])
    assert_same(first, load_records(CONTENT, ontology, name="a.hpoa"))
