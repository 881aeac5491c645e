"""Field cases P-OBO-01 to P-OBO-13 of the shared folder: what the OBO reader must make of each file."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sma_gpu.errors import ParseError
from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.readers.obo import read_obo


def case(folder: Path, number: int) -> Ontology:
    return read_obo(folder / f"P-OBO-{number:02}.obo")


def ex(*numbers: int) -> tuple[str, ...]:
    return tuple(f"EX:{n:07}" for n in numbers)


def live(ontology: Ontology) -> tuple[str, ...]:
    return tuple(t for t, bare in zip(ontology.ids, ontology.placeholder, strict=True) if not bare)


def ancestors(ontology: Ontology, term: str) -> set[str]:
    found: set[str] = set()
    rest = [term]
    while rest:
        above = set(ontology.term(rest.pop()).parents) - found
        found |= above
        rest += above
    return found


def warned_lines(ontology: Ontology) -> list[tuple[int, ...]]:
    return [e.lines for e in ontology.report.warnings]


def test_obo_01_qualifiers_and_comments_behind_a_parent_id(shared_cases: Path) -> None:
    found = case(shared_cases, 1)
    assert live(found) == ex(1, 2, 3, 4)
    assert found.relation_ids == ("part_of",)
    assert found.relation_names == ("part of",)
    assert not found.placeholder.any()
    assert len(found.report) == 0
    assert found.term("EX:0000004").parents == ex(2, 3)
    assert found.term("EX:0000003").parents == ex(1)
    assert found.term("EX:0000004").relations == (("part_of", "EX:0000001"),)
    assert not [i for i in (*found.ids, *found.retired) if set(i) & set(" {!")]


def test_obo_02_escapes_against_comments_in_names(shared_cases: Path) -> None:
    found = case(shared_cases, 2)
    assert found.live_count == 4
    assert found.term("EX:0000002").name == "(?<=[AL])(?!P)"
    assert found.term("EX:0000003").name == "(?<=[KR])(?"
    assert warned_lines(found) == [(15,)]
    term = found.term("EX:0000004")
    assert term.name == "braces {8} and a back\\slash"
    assert term.definition == 'A pattern of form "a" {8}\nsecond line'
    assert term.references == ("EX:ref,1", "http://example.org/x")


def test_obo_03_an_old_id_as_alternative_id_and_as_retired_stanza(shared_cases: Path) -> None:
    found = case(shared_cases, 3)
    assert live(found) == ex(1, 10, 12)
    assert found.live_count == 3
    assert found.retired_count == 2
    assert found.term("EX:0000010").name == "repeated episodes"
    assert found.resolve("EX:0000010").status == "live"
    assert found.resolve("EX:0000011").used == "EX:0000010"
    assert found.resolve("EX:0000013").used == "EX:0000012"
    assert found.resolve("EX:0000014").used == "EX:0000012"
    assert len(found.report) == 0


def test_obo_04_replacement_chains_and_retired_suggestions(shared_cases: Path) -> None:
    found = case(shared_cases, 4)
    assert live(found) == ex(1, 23, 25, 26)
    assert found.retired_count == 5
    assert found.resolve("EX:0000021").path == ex(21, 22, 23)
    assert found.resolve("EX:0000022").path == ex(22, 23)
    for old, candidates in ((24, ex(25, 26)), (27, ex(23)), (28, ())):
        resolution = found.resolve(f"EX:{old:07}")
        assert resolution.status == "retired"
        assert resolution.used is None
        assert resolution.candidates == candidates


def test_obo_05_a_term_that_is_its_own_parent(shared_cases: Path) -> None:
    found = case(shared_cases, 5)
    assert found.live_count == 3
    assert found.term("EX:0000003").parents == ex(2)
    assert ancestors(found, "EX:0000003") == set(ex(1, 2))
    (warning,) = found.report.warnings
    assert warning.lines == (17,)
    assert warning.ids == ex(3)
    assert "EX:0000003" in warning.message and "17" in warning.message


def test_obo_06_two_stanzas_for_one_id(shared_cases: Path) -> None:
    found = case(shared_cases, 6)
    assert found.live_count == 5
    assert len(found.parents) == 5
    term = found.term("EX:0000004")
    assert term.parents == ex(2, 3)
    assert {s.text for s in term.synonyms} == {"upper limb", "forelimb"}
    assert found.term("EX:0000005").parents == ex(4)
    (note,) = found.report
    assert note.severity == "note"
    assert note.lines == (19, 30)


def test_obo_07_invisible_bytes(shared_cases: Path) -> None:
    found = case(shared_cases, 7)
    assert found.ids == ex(1, 2, 3)
    assert found.header["format-version"] == ("1.2",)
    assert found.term("EX:0000002").parents == ex(1)
    assert found.term("EX:0000003").parents == ex(2)
    assert all(text == text.strip() for text in (*found.ids, *found.names))
    assert found.term("EX:0000001").name == "root"
    assert len(found.report) == 0


def test_obo_08_utf_8_however_it_is_given(shared_cases: Path) -> None:
    path = shared_cases / "P-OBO-08.obo"
    with path.open("rb") as file:
        ways = [read_obo(path), read_obo(str(path)), read_obo(file), read_obo(path.read_bytes())]
    for found in ways:
        assert found.live_count == 3
        assert found.term("EX:0000002").name == "XY\u2013score"
        assert found.term("EX:0000003").name == "S\u00f6dergren \u03b2-sign"
        assert [s.text for s in found.term("EX:0000003").synonyms] == ["\u75c7\u72b6"]


def test_obo_08_under_a_plain_c_locale(shared_cases: Path) -> None:
    program = (
        "import sys; from sma_gpu.ontologies.readers.obo import read_obo;"
        "sys.stdout.write(ascii(list(read_obo(sys.argv[1]).names)))"
    )
    plain = {k: v for k, v in os.environ.items() if not k.startswith(("LC_", "LANG", "PYTHONUTF8", "PYTHONIOENC"))}
    root = Path(__file__).resolve().parent.parent.parent
    done = subprocess.run(
        [sys.executable, "-c", program, str(shared_cases / "P-OBO-08.obo")],
        env={**plain, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONPATH": str(root)},
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout == ascii(["root", "XY\u2013score", "S\u00f6dergren \u03b2-sign"])


@pytest.mark.parametrize("name", ["zipped_but_named_plain.obo", "plain_but_named_zipped.obo.gz"])
def test_obo_09_compression_by_content(shared_cases: Path, name: str) -> None:
    for read in (read_obo, load_ontology):
        found = read(shared_cases / "P-OBO-09" / name)
        assert found.live_count == 2
        assert found.term("EX:0000002").parents == ex(1)


def test_obo_10_other_relations_are_not_is_a(shared_cases: Path) -> None:
    found = case(shared_cases, 10)
    assert found.live_count == 4
    assert found.relation_ids == ("has_part", "part_of")
    edges = {(t, p) for t in found.ids for p in found.term(t).parents}
    assert edges == {("EX:0000002", "EX:0000001"), ("EX:0000003", "EX:0000001"), ("EX:0000004", "EX:0000003")}
    assert len(found.parents) == 3
    assert ancestors(found, "EX:0000004") == set(ex(1, 3))
    assert found.term("EX:0000004").relations == (("part_of", "EX:0000002"),)
    assert found.term("EX:0000002").relations == (("has_part", "EX:0000004"),)
    assert len(found.relations) == 2


def test_obo_11_a_parent_that_is_never_defined(shared_cases: Path) -> None:
    found = case(shared_cases, 11)
    assert live(found) == ex(1, 3, 4, 5)
    assert found.live_count == 4
    placeholder = found.term("QQ:0000001")
    assert placeholder.is_placeholder
    assert placeholder.name == ""
    assert found.term("EX:0000003").parents == (*ex(1), "QQ:0000001")
    assert found.term("EX:0000005").parents == ("QQ:0000001",)
    (warning,) = found.report.warnings
    assert warning.ids == ("QQ:0000001",)
    assert warning.lines == (12, 22)
    assert found.resolve("QQ:0000001").status == "placeholder"
    assert found.resolve("EX:0000004").status == "live"
    assert found.roots == ex(1)


def test_obo_12_bad_lines_are_named_and_cost_nothing_else(shared_cases: Path) -> None:
    found = case(shared_cases, 12)
    assert found.live_count == 3
    assert found.term("EX:0000002").parents == ex(1)
    assert found.term("EX:0000003").parents == ex(2)
    assert warned_lines(found) == [(2,), (8,), (13,), (14,)]
    assert not found.report.errors


@pytest.mark.parametrize("read", [read_obo, load_ontology])
def test_obo_12_strict_names_the_first_fault(shared_cases: Path, read: object) -> None:
    assert callable(read)
    path = shared_cases / "P-OBO-12.obo"
    read(path)  # a compiled file must not hide the refusal
    with pytest.raises(ParseError) as refused:
        read(path, strict=True)
    assert refused.value.line == 2
    assert refused.value.path == str(path)
    assert str(path) in str(refused.value) and "line 2" in str(refused.value)


def test_obo_13_several_roots_and_a_loose_term(shared_cases: Path) -> None:
    found = case(shared_cases, 13)
    assert found.live_count == 5
    assert found.roots == ex(1, 10, 20)
    assert not ancestors(found, "EX:0000002") & ancestors(found, "EX:0000011")
    assert len(found.ids) == 5  # no top of our own


def test_toy_files_beside_the_cases(shared_cases: Path) -> None:
    hp = read_obo(shared_cases / "shared" / "toy_hp.obo")
    assert (hp.live_count, hp.retired_count, len(hp.retired), hp.roots) == (24, 2, 3, ("HP:0000001",))
    go = read_obo(shared_cases / "shared" / "toy_go.obo")
    assert (go.live_count, go.retired_count, len(go.retired), len(go.roots)) == (7, 2, 4, 3)
