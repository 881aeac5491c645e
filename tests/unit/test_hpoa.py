"""The phenotype.hpoa reader on small files with one fault each."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from sma_gpu import ontology_from_parents
from sma_gpu.errors import DataMissing, ParseError
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.readers.obo import read_obo
from sma_gpu.ontologies.records.frequency import Frequency
from sma_gpu.ontologies.records.hpoa import can_read, read_hpoa
from sma_gpu.ontologies.records.model import Annotation, Records

TOY = b"""format-version: 1.2
data-version: hp/releases/2026-01-01
ontology: hp

[Term]
id: HP:1
name: Sign one
alt_id: HP:901

[Term]
id: HP:2
name: Sign two
is_a: HP:1
is_a: HP:77

[Term]
id: HP:3
name: Sign three
is_a: HP:1

[Term]
id: HP:0040283
name: Occasional
alt_id: HP:0040999

[Term]
id: HP:800
name: obsolete with heir
is_obsolete: true
replaced_by: HP:3

[Term]
id: HP:801
name: obsolete without heir
is_obsolete: true
consider: HP:2
"""

NEW = "database_id disease_name qualifier hpo_id reference evidence onset frequency sex modifier aspect biocuration"
EARLY = (
    "#DatabaseID DiseaseName Qualifier HPO_ID DB_Reference Evidence Onset Frequency Sex Modifier Aspect BiocurationBy"
)
OLD = "#DatabaseID DiseaseName Qualifier HPO_ID Reference Evidence Onset Frequency Sex Modifier Aspect Biocuration"
FIRST = 3  # line of the first row in the files made below


@pytest.fixture(scope="module")
def ontology() -> Ontology:
    return read_obo(TOY, name="toy.obo")


def row(
    term: str = "HP:1",
    frequency: str = "",
    qualifier: str = "",
    *,
    key: str = "OMIM:1",
    name: str = "Toy",
    reference: str = "PMID:1",
    sex: str = "",
    aspect: str = "P",
) -> str:
    cells = (key, name, qualifier, term, reference, "PCS", "", frequency, sex, "", aspect, "HPO:x[2026-01-01]")
    return "\t".join(cells)


def text(*rows: str, header: str = NEW) -> bytes:
    return "\n".join(["#version: 2026-01-01", header.replace(" ", "\t"), *rows, ""]).encode()


def read(ontology: Ontology, *rows: str, header: str = NEW, strict: bool = False) -> Records:
    return read_hpoa(text(*rows, header=header), ontology, strict=strict, name="toy.hpoa")


def only(records: Records) -> Annotation:
    (annotation,) = records.record("OMIM:1").annotations
    return annotation


def faults(records: Records) -> list[tuple[str, tuple[int, ...]]]:
    return [(e.kind, e.lines) for e in records.report.warnings]


@pytest.mark.parametrize("header", [NEW, OLD, EARLY], ids=["since 2024", "2018 to 2023", "early 2018"])
def test_all_headers_give_one_table(ontology: Ontology, header: str) -> None:
    records = read(ontology, row("HP:2", "1/2"), row("HP:3", "", "NOT"), header=header)
    record = records.record("OMIM:1")
    assert (record.name, record.positive, record.excluded) == ("Toy", ("HP:2",), ("HP:3",))
    assert records.version == "2026-01-01"
    assert record.annotations[0].rows[0].reference == "PMID:1"
    assert record.annotations[0].rows[0].biocuration == "HPO:x[2026-01-01]"
    assert len(records.report) == 0


def test_columns_are_found_by_name(ontology: Ontology) -> None:
    order = (7, 10, 3, 0, 2, 1, 4, 5, 6, 8, 9, 11)
    cells = ["12", *(row("HP:2", "1/2", "NOT").split("\t")[i] for i in order), "new column"]
    header = " ".join(["row", *(NEW.split(" ")[i] for i in order), "added_later"])
    annotation = only(read(ontology, "\t".join(cells), header=header))
    assert (annotation.term, annotation.excluded, annotation.rows[0].frequency) == ("HP:2", True, "1/2")


HEADERS = {
    "quoted": "\t".join(f'"{name}"' for name in NEW.split()),
    "with blanks": NEW.replace(" ", "\t").replace("_", " ").title(),
    "hash before a quote": '#"database_id"\t' + "\t".join(NEW.split()[1:]),
    "capitals": NEW.replace(" ", "\t").upper(),
    "a tab at its end": NEW.replace(" ", "\t") + "\t",
}


@pytest.mark.parametrize("which", HEADERS)
def test_names_of_columns_in_other_dress(ontology: Ontology, which: str) -> None:
    content = "\n".join(["#version: 2026-01-01", HEADERS[which], row("HP:2", "1/2"), row("HP:3", "", "NOT")])
    assert can_read(content.encode())
    records = read_hpoa(content.encode(), ontology)
    assert (records.record("OMIM:1").positive, records.record("OMIM:1").excluded) == (("HP:2",), ("HP:3",))
    assert list(records.report) == []


@pytest.mark.parametrize("column", ["qualifier", "aspect", "frequency", "hpo_id"])
def test_a_header_without_a_needed_column_is_refused(ontology: Ontology, column: str) -> None:
    with pytest.raises(ParseError) as caught:
        read(ontology, header=NEW.replace(column, "something"))
    assert caught.value.line == 2
    assert "there is no" in caught.value.found


def test_nothing_is_quoted(ontology: Ontology) -> None:
    records = read(ontology, row("HP:1", name='"Toy" 3" syndrome'), row("HP:2", name='5" other', key="OMIM:2"))
    assert list(records.names) == ['"Toy" 3" syndrome', '5" other']


def test_a_comment_between_rows_and_windows_line_ends(ontology: Ontology) -> None:
    content = text(row("HP:1"), "# a remark", "", row("HP:2"), "#" + row("HP:3")).replace(b"\n", b"\r\n")
    records = read_hpoa(content, ontology)
    assert len(records.report) == 0
    assert records.record("OMIM:1").positive == ("HP:1", "HP:2")
    assert records.line.tolist() == [FIRST, FIRST + 3]
    assert (
        only(read_hpoa(text(row("HP:1")).replace(b"\n", b"\r\n"), ontology)).rows[0].biocuration == "HPO:x[2026-01-01]"
    )


def test_path_bytes_and_compressed_bytes_agree(ontology: Ontology, tmp_path: Path) -> None:
    content = text(row("HP:1", "1/2"))
    path = tmp_path / "phenotype.hpoa"
    path.write_bytes(content)
    made = [read_hpoa(s, ontology) for s in (path, str(path), content, gzip.compress(content))]
    assert len({m.sha256 for m in made}) == 1
    assert len({only(m) for m in made}) == 1
    with pytest.raises(DataMissing):
        read_hpoa(tmp_path / "absent.hpoa", ontology)


FREQUENCIES: list[tuple[str, Frequency]] = [
    ("3/7", Frequency(3 / 7, 3 / 7, 3, 7)),
    ("3 / 7", Frequency(3 / 7, 3 / 7, 3, 7)),
    ("7/7", Frequency(1.0, 1.0, 7, 7)),
    ("12.5%", Frequency(0.125, 0.125)),
    ("12.5 %", Frequency(0.125, 0.125)),
    ("100%", Frequency(1.0, 1.0)),
    ("5-29%", Frequency(0.05, 0.29)),
    ("5%-29%", Frequency(0.05, 0.29)),
    ("5 % \u2013 29 %", Frequency(0.05, 0.29)),
    ("HP:0040280", Frequency(1.0, 1.0)),
    ("HP:0040281", Frequency(0.80, 0.99)),
    ("HP:0040282", Frequency(0.30, 0.79)),
    ("HP:0040283", Frequency(0.05, 0.29)),
    ("HP:0040284", Frequency(0.01, 0.04)),
    ("HP:0040999", Frequency(0.05, 0.29)),
]


@pytest.mark.parametrize(
    ("frequency", "shown"),
    [
        (Frequency(3 / 7, 3 / 7, 3, 7), "3 of 7"),
        (Frequency(0.29, 0.29), "29%"),
        (Frequency(0.125, 0.125), "12.5%"),
        (Frequency(0.8, 0.99), "80% to 99%"),
        (Frequency(0.0, 0.0), "0%"),
    ],
)
def test_a_frequency_in_words(frequency: Frequency, shown: str) -> None:
    assert str(frequency) == shown


@pytest.mark.parametrize(("written", "expected"), FREQUENCIES, ids=[w for w, _ in FREQUENCIES])
def test_forms_of_a_frequency(ontology: Ontology, written: str, expected: Frequency) -> None:
    records = read(ontology, row(frequency=written))
    assert only(records).frequency == expected
    assert not only(records).excluded
    assert only(records).rows[0].frequency == written
    assert len(records.report) == 0


@pytest.mark.parametrize("written", ["0/30", "0%", "0.0 %", "HP:0040285"])
def test_a_share_of_nothing_excludes(ontology: Ontology, written: str) -> None:
    records = read(ontology, row(frequency=written))
    assert only(records).excluded
    frequency = only(records).frequency
    assert frequency is not None
    assert (frequency.low, frequency.high) == (0.0, 0.0)
    assert len(records.report) == 0


def test_an_empty_frequency_is_unknown(ontology: Ontology) -> None:
    records = read(ontology, row())
    assert only(records).frequency is None
    assert np.isnan(records.low[0])
    assert np.isnan(records.high[0])
    assert records.denominator[0] == -1


@pytest.mark.parametrize(
    "written",
    ["9/7", "0/0", "3/0", "101%", "50-101%", "29-5%", "common", "0.5", "2.5/7", "-1/7", "1/7/9", "HP:0040279"],
)
def test_an_unusable_frequency_keeps_the_term(ontology: Ontology, written: str) -> None:
    records = read(ontology, row("HP:2", "1/2"), row("HP:3", written))
    kept = records.record("OMIM:1").annotations[1]
    assert (kept.term, kept.excluded, kept.frequency) == ("HP:3", False, None)
    assert faults(records) == [("frequency", (FIRST + 1,))]
    assert repr(written) in records.report.warnings[0].message


@pytest.mark.parametrize(
    ("qualifier", "severity"),
    [
        ("NOT", ""),
        ("CURATED NOT", "note"),
        ("NOT|INFERRED", "note"),
        ("INFERRED|NOT", "note"),
        ("not", "warning"),
        ("Not", "warning"),
        ("inferred;not", "warning"),
        ("NOT|", "warning"),
        ("|NOT", "warning"),
        ("NOT| ", "warning"),
    ],
)
def test_negation_in_any_dress(ontology: Ontology, qualifier: str, severity: str) -> None:
    records = read(ontology, row(qualifier=qualifier))
    assert only(records).excluded
    assert only(records).rows[0].qualifier == qualifier.strip()
    assert [(e.severity, e.kind, e.lines) for e in records.report] == [(severity, "qualifier", (FIRST,))] * bool(
        severity
    )


@pytest.mark.parametrize(
    "qualifier", ["excluded", "EXCLUDE", "absent", "negated", "NOT_X", "NOTPRESENT", "no", "No", "!"]
)
def test_a_qualifier_that_may_be_a_negation_costs_the_row(ontology: Ontology, qualifier: str) -> None:
    records = read(ontology, row("HP:2", qualifier=qualifier), row("HP:3"))
    assert (records.record("OMIM:1").positive, records.record("OMIM:1").excluded) == (("HP:3",), ())
    assert faults(records) == [("unknown-qualifier", (FIRST,))]
    assert "left out" in records.report.warnings[0].message


def test_a_qualifier_that_only_contains_the_letters_is_no_negation(ontology: Ontology) -> None:
    for qualifier in ("NOTED", "knot", "contributes_to"):
        assert not only(read(ontology, row(qualifier=qualifier))).excluded
    records = read(ontology, row(qualifier="NOTED"))
    assert faults(records) == [("unknown-qualifier", (FIRST,))]


def test_the_last_row_does_not_win(ontology: Ontology) -> None:
    records = read(
        ontology,
        row(frequency="2/3"),
        row(frequency="4/7", reference="PMID:2"),
        row(frequency="0/5", reference="PMID:3"),
    )
    assert only(records).frequency == Frequency(6 / 15, 6 / 15, 6, 15)
    assert len(only(records).rows) == 3


def test_counts_beat_other_forms_and_other_forms_span(ontology: Ontology) -> None:
    counted = read(ontology, row(frequency="1/4"), row(frequency="HP:0040281", sex="MALE"))
    assert only(counted).frequency == Frequency(0.25, 0.25, 1, 4)
    spanned = read(ontology, row(frequency="HP:0040283"), row(frequency="60%", sex="MALE"), row(sex="FEMALE"))
    assert only(spanned).frequency == Frequency(0.05, 0.60)


def test_nobody_counted_beside_a_positive_row_is_no_share_of_zero(ontology: Ontology) -> None:
    bare = only(read(ontology, row(frequency="0/6"), row(reference="PMID:2")))
    assert (bare.excluded, bare.frequency) == (False, None)
    percent = only(read(ontology, row(frequency="0%"), row(reference="PMID:2")))
    assert (percent.excluded, percent.frequency) == (False, None)
    ranged = only(read(ontology, row(frequency="0/6"), row(frequency="HP:0040283", reference="PMID:2")))
    assert (ranged.excluded, ranged.frequency) == (False, Frequency(0.0, 0.29))


def test_exact_copies_count_once(ontology: Ontology) -> None:
    records = read(ontology, row(frequency="1/2"), row(frequency="1/2"), row(frequency="3/4"))
    assert only(records).frequency == Frequency(4 / 6, 4 / 6, 4, 6)
    assert [(e.kind, e.lines) for e in records.report] == [("copied-row", (FIRST, FIRST + 1))]
    assert "exactly equal" in records.report.notes[0].message


@pytest.mark.parametrize("other", [row("HP:901", "1/2"), row("HP:1", "1/2", name="Toy, old name")])
def test_rows_that_say_the_same_in_other_words_count_once(ontology: Ontology, other: str) -> None:
    records = read(ontology, row(frequency="1/2"), other, row(frequency="3/4"))
    assert only(records).frequency == Frequency(4 / 6, 4 / 6, 4, 6)
    (note,) = [e for e in records.report if e.kind == "copied-row"]
    assert note.lines == (FIRST, FIRST + 1)
    assert "say the same" in note.message
    assert "equal" not in note.message
    assert records.report.warnings == []


def test_a_share_of_nothing_beside_a_share_is_noted(ontology: Ontology) -> None:
    records = read(
        ontology,
        row("HP:2", "HP:0040285"),
        row("HP:2", "1/4", reference="PMID:2"),
        row("HP:3", "0%"),
        row("HP:3", "HP:0040283", reference="PMID:2"),
        row("HP:1", "0/5"),
        row("HP:1", "2/5", reference="PMID:2"),
        row("HP:1", "0%", key="OMIM:2"),
        row("HP:1", "", key="OMIM:2", reference="PMID:2"),
    )
    assert records.record("OMIM:1").positive == ("HP:1", "HP:2", "HP:3")
    assert [(e.severity, e.kind, e.lines, e.ids) for e in records.report] == [
        ("note", "mixed-share", (FIRST, FIRST + 1), ("OMIM:1", "HP:2")),
        ("note", "mixed-share", (FIRST + 2, FIRST + 3), ("OMIM:1", "HP:3")),
    ]


def test_conflict_is_one_warning_with_its_lines(ontology: Ontology) -> None:
    records = read(
        ontology,
        row("HP:2", "1/4"),
        row("HP:3"),
        row("HP:2", "0/5", "NOT"),
        row("HP:2", qualifier="NOT", reference="PMID:2"),
        row("HP:2", key="OMIM:2", qualifier="NOT"),
    )
    assert records.record("OMIM:1").positive == ("HP:2", "HP:3")
    assert records.record("OMIM:2").excluded == ("HP:2",)
    assert faults(records) == [("conflict", (FIRST, FIRST + 2, FIRST + 3))]
    assert records.record("OMIM:1").annotations[0].frequency == Frequency(1 / 9, 1 / 9, 1, 9)


def test_not_with_a_share_is_believed_as_not(ontology: Ontology) -> None:
    records = read(ontology, row(frequency="3/7", qualifier="NOT"))
    assert (only(records).excluded, only(records).frequency) == (True, None)
    assert faults(records) == [("negated-frequency", (FIRST,))]


def test_old_ids_are_used_and_noted_once(ontology: Ontology) -> None:
    records = read(ontology, row("HP:901", "1/2"), row("HP:800", "1/2"), row("HP:901", "2/2", reference="PMID:2"))
    assert records.record("OMIM:1").positive == ("HP:1", "HP:3")
    assert records.record("OMIM:1").annotations[0].frequency == Frequency(0.75, 0.75, 3, 4)
    assert [(e.kind, e.lines, e.ids) for e in records.report] == [
        ("old-id", (FIRST, FIRST + 2), ("HP:901", "HP:1")),
        ("old-id", (FIRST + 1,), ("HP:800", "HP:3")),
    ]


def test_ids_that_cannot_be_used_are_left_out_once_each(ontology: Ontology) -> None:
    records = read(
        ontology, row("HP:801"), row("HP:5"), row("HP:801", key="OMIM:2"), row("HP:77"), row("HP:2"), row("hp:2")
    )
    assert records.record("OMIM:1").positive == ("HP:2",)
    assert faults(records) == [
        ("retired-id", (FIRST, FIRST + 2)),
        ("unknown-id", (FIRST + 1,)),
        ("unknown-id", (FIRST + 3,)),
        ("unknown-id", (FIRST + 5,)),
    ]
    assert records.report.warnings[0].ids == ("HP:801", "HP:2")


def test_a_disease_without_a_usable_term_stays(ontology: Ontology) -> None:
    records = read(ontology, row("HP:5"), row("HP:2", key="OMIM:2", aspect="I"))
    assert records.keys == ("OMIM:1", "OMIM:2")
    assert records.record("OMIM:1").annotations == ()
    assert records.record("OMIM:2").positive == ()
    ptr, term = records.phenotypes(excluded=False)
    assert (ptr.tolist(), term.tolist()) == ([0, 0, 0], [])


def test_aspects(ontology: Ontology) -> None:
    letters = "PICMH"
    records = read(ontology, *(row("HP:2", aspect=letter) for letter in letters), row("HP:3", aspect="X"))
    record = records.record("OMIM:1")
    assert [a.aspect for a in record.annotations] == ["phenotype", "inheritance", "course", "modifier", "history"]
    assert record.positive == ("HP:2",)
    assert faults(records) == [("unknown-aspect", (FIRST + 5,))]


def test_rows_that_are_no_rows(ontology: Ontology) -> None:
    records = read(
        ontology,
        row("HP:1"),
        "OMIM:9\tcut off",
        row("HP:2", key=""),
        row("", key="OMIM:8"),
        row("HP:3") + "\t\t",
        "\t" * 11,
        "\t" * 3,
        " \t" * 15,
    )
    assert records.keys == ("OMIM:1", "OMIM:8")
    assert records.record("OMIM:1").positive == ("HP:1", "HP:3")
    assert faults(records) == [
        ("columns", (FIRST + 1,)),
        ("empty-id", (FIRST + 2,)),
        ("empty-id", (FIRST + 3,)),
    ]


def test_rows_a_little_too_long_or_too_short_are_kept(ontology: Ontology) -> None:
    def short(term: str, cells: int) -> str:
        return "\t".join(row(term, "1/2").split("\t")[:cells])

    records = read(
        ontology,
        short("HP:1", 11),
        row("HP:2") + "\tmore",
        short("HP:3", 10),
        row("HP:3") + "\tx\ty",
        short("HP:2", 11),
    )
    assert records.record("OMIM:1").positive == ("HP:1", "HP:2", "HP:3")
    assert records.record("OMIM:1").annotations[0].rows[0].biocuration == ""
    assert records.record("OMIM:1").annotations[0].frequency == Frequency(0.5, 0.5, 1, 2)
    assert faults(records) == [
        ("columns", (FIRST, FIRST + 4)),
        ("columns", (FIRST + 1,)),
        ("columns", (FIRST + 2,)),
        ("columns", (FIRST + 3,)),
    ]
    said = [e.message for e in records.report.warnings]
    assert [("left out" in m, "ignored" in m) for m in said] == [
        (False, False),
        (False, True),
        (True, False),
        (False, True),
    ]


def test_a_repeated_header_is_no_row(ontology: Ontology) -> None:
    again = [NEW.replace(" ", "\t"), "#version: 2025-01-01", OLD.replace(" ", "\t")]
    records = read(ontology, row("HP:1"), *again, row("HP:2", key="OMIM:2"))
    assert records.keys == ("OMIM:1", "OMIM:2")
    assert [(e.severity, e.kind, e.lines) for e in records.report] == [
        ("note", "repeated-header", (FIRST + 1, FIRST + 3))
    ]


def test_a_second_header_with_other_columns_is_refused(ontology: Ontology) -> None:
    other = "\t".join(reversed(NEW.split(" ")))
    with pytest.raises(ParseError) as caught:
        read(ontology, row("HP:1"), other, row("HP:2"))
    assert caught.value.line == FIRST + 1


def test_diseases_that_lose_every_row_are_named_together(ontology: Ontology) -> None:
    records = read(
        ontology,
        row("HP:5", key="OMIM:2"),
        row("HP:1"),
        row("HP:5"),
        row("HP:1", key="OMIM:3", qualifier="absent"),
        row("HP:2", key="OMIM:4", aspect="I"),
    )
    (entry,) = [e for e in records.report if e.kind == "no-usable-row"]
    assert (entry.severity, entry.ids, entry.lines) == ("note", ("OMIM:2", "OMIM:3"), (FIRST, FIRST + 3))


@pytest.mark.parametrize("rows", [(), ("", "# remark"), ("cut off", "cut\toff"), (row("HP:5"), row("HP:801"))])
def test_a_file_without_a_usable_row_is_told(ontology: Ontology, rows: tuple[str, ...]) -> None:
    records = read(ontology, *rows)
    assert ("no-rows", (2,)) in faults(records)
    assert len(records.term) == 0
    with pytest.raises(ParseError):
        read(ontology, *rows, strict=True)


BRANCHED = """format-version: 1.2
ontology: hp

""" + "\n".join(
    f"[Term]\nid: {term}\nname: n\n{parent}"
    for term, parent in {
        "HP:0000001": "",
        **{f"HP:{n}": "is_a: HP:0000001\n" for n in ("0000118", "0000005", "0012823", "0031797", "0032443", "0040279")},
        "HP:10": "is_a: HP:0000118\n",
        "HP:20": "is_a: HP:0000005\nalt_id: HP:21\n",
        "HP:30": "is_a: HP:0012823\n",
        "HP:40": "is_a: HP:0031797\n",
        "HP:50": "is_a: HP:0032443\n",
        "HP:60": "is_a: HP:0040279\n",
        "HP:70": "is_a: HP:0012823\nis_a: HP:10\n",
        "HP:80": "is_a: HP:20\nis_a: HP:30\n",
    }.items()
)


def test_a_sign_outside_phenotypic_abnormality_is_filed_by_its_branch() -> None:
    branched = read_obo(BRANCHED.encode(), name="branched.obo")
    terms = ("10", "20", "30", "40", "50", "60", "70", "80", "0000001", "0000118", "0012823", "21")
    records = read(branched, *(row(f"HP:{term}") for term in terms), row("HP:20", key="OMIM:2"))
    record = records.record("OMIM:1")
    assert record.positive == ("HP:0000001", "HP:0000118", "HP:10", "HP:70")
    assert {a.term: a.aspect for a in record.annotations if a.aspect != "phenotype"} == {
        "HP:0012823": "modifier",
        "HP:20": "inheritance",
        "HP:30": "modifier",
        "HP:40": "course",
        "HP:50": "history",
    }
    assert records.record("OMIM:2").positive == ()
    found = {e.ids[0]: (e.kind, e.lines) for e in records.report.warnings}
    assert found == {
        "HP:20": ("branch", (FIRST + 1, FIRST + 11, FIRST + 12)),
        "HP:30": ("branch", (FIRST + 2,)),
        "HP:40": ("branch", (FIRST + 3,)),
        "HP:50": ("branch", (FIRST + 4,)),
        "HP:60": ("branch", (FIRST + 5,)),
        "HP:80": ("branch", (FIRST + 7,)),
        "HP:0012823": ("branch", (FIRST + 10,)),
    }
    left_out = {e.ids[0] for e in records.report.warnings if "left out" in e.message}
    assert left_out == {"HP:60", "HP:80"}


def test_rows_with_an_aspect_of_their_own_keep_it() -> None:
    branched = read_obo(BRANCHED.encode(), name="branched.obo")
    records = read(branched, row("HP:20", aspect="I"), row("HP:10", aspect="C"), row("HP:60", aspect="M"))
    (stray,) = records.report  # a phenotype that stands under another aspect takes no part, and that is said
    assert (stray.severity, stray.kind, stray.ids) == ("warning", "branch", ("HP:10",))
    assert [(a.term, a.aspect) for a in records.record("OMIM:1").annotations] == [
        ("HP:20", "inheritance"),
        ("HP:10", "course"),
        ("HP:60", "modifier"),
    ]


def test_counts_that_make_no_sense_say_so(ontology: Ontology) -> None:
    assert "make no sense" in read(ontology, row(frequency="5/0")).report.warnings[0].message
    assert "nobody was examined" in read(ontology, row(frequency="0/0")).report.warnings[0].message


def test_strict_names_the_first_fault_of_the_file(ontology: Ontology) -> None:
    rows = (row("HP:1"), row("HP:2", "9/7"), row("HP:5"), "cut off")
    with pytest.raises(ParseError) as caught:
        read(ontology, *rows, strict=True)
    assert (caught.value.path, caught.value.line) == ("toy.hpoa", FIRST + 1)
    assert len(read(ontology, row("HP:901"), strict=True).report.notes) == 1


def test_names_that_differ_are_noted_and_the_first_is_used(ontology: Ontology) -> None:
    records = read(ontology, row("HP:1", name=""), row("HP:2", name="B"), row("HP:3", name="A"), row("HP:3", name="B"))
    assert records.record("OMIM:1").name == "B"
    assert [(e.kind, e.lines) for e in records.report.notes if e.kind == "several-names"] == [
        ("several-names", (FIRST + 1, FIRST + 2))
    ]


def test_the_release_of_the_ontology_is_compared(ontology: Ontology) -> None:
    address = b"#hpo-version: http://purl.obolibrary.org/obo/hp/releases/2025-01-16/hp.json\n"
    records = read_hpoa(address + text(row()), ontology)
    assert records.ontology_version == "2025-01-16"
    assert [e.kind for e in records.report] == ["release"]
    same = read_hpoa(address.replace(b"2025-01-16", b"2026-01-01") + text(row()), ontology)
    assert len(same.report) == 0


def test_blanks_around_fields_are_no_part_of_them(ontology: Ontology) -> None:
    records = read(ontology, row(" HP:1 ", " 1/2 ", key=" OMIM:1"), row("HP:1", "1/2"))
    assert records.keys == ("OMIM:1",)
    assert only(records).frequency == Frequency(0.5, 0.5, 1, 2)


NOT_HPOA = {
    "empty": (b"", "empty"),
    "web page": (b"<!DOCTYPE html><html>404</html>", "HTML"),
    "ontology": (TOY, "OBO"),
    "json": (b'{"id": "x"}', "JSON"),
    "gaf": (b"!gaf-version: 2.2\nUniProtKB\tX\n", "GAF"),
    "comments": (b"#version: 2026\n", "no column header"),
    "no header": (text(row()).replace(NEW.replace(" ", "\t").encode() + b"\n", b""), "OMIM:1"),
    "other table": (b"hpo_id\thpo_name\tgene\nHP:1\ta\tB\n", "hpo_id"),
    "binary": (bytes(range(1, 9)) + b"\x00\xff" * 9, "binary"),
}


@pytest.mark.parametrize("which", NOT_HPOA)
def test_a_file_of_another_kind_is_refused_with_its_kind(ontology: Ontology, which: str) -> None:
    content, expected = NOT_HPOA[which]
    assert not can_read(content)
    with pytest.raises(ParseError) as caught:
        read_hpoa(content, ontology, name="given.txt")
    assert expected in caught.value.found
    assert caught.value.path == "given.txt"
    assert "phenotype.hpoa" in caught.value.do


@pytest.mark.parametrize("header", [NEW, OLD])
def test_can_read(header: str) -> None:
    assert can_read(text(header=header))
    assert can_read(b"\xef\xbb\xbf" + text(header=header))


def test_rows_in_another_order_give_the_same_sets(ontology: Ontology) -> None:
    rows = [
        row("HP:3", "1/2"),
        row("HP:2", key="OMIM:2"),
        row("HP:1", "", "NOT"),
        row("HP:3", "0/9", reference="PMID:2"),
    ]
    forward, backward = read(ontology, *rows), read(ontology, *reversed(rows))
    for name in ("ptr", "term", "aspect", "excluded", "low", "high", "numerator", "denominator", "row_ptr"):
        assert np.array_equal(getattr(forward, name), getattr(backward, name), equal_nan=name in ("low", "high")), name


@pytest.mark.parametrize("qualifier", ["-", "~", "\u00ac", "N", "false", "!", "no"])
def test_a_mark_that_may_negate_is_not_read_as_positive(qualifier: str) -> None:
    parents = {"HP:0000001": [], "HP:0000118": ["HP:0000001"], "HP:2": ["HP:0000118"], "HP:3": ["HP:0000118"]}
    columns = "database_id\tdisease_name\tqualifier\thpo_id\tfrequency\taspect"
    rows = [f"OMIM:1\tToy\t{qualifier}\tHP:2\t\tP", "OMIM:1\tToy\t\tHP:3\t\tP"]
    records = read_hpoa("\n".join([columns, *rows]).encode(), ontology_from_parents(parents))
    assert records.record("OMIM:1").positive == ("HP:3",)
    assert records.report.warnings


def test_a_phenotype_under_another_aspect_is_warned_of() -> None:
    parents = {"HP:0000001": [], "HP:0000118": ["HP:0000001"], "HP:2": ["HP:0000118"], "HP:0000005": ["HP:0000001"]}
    columns = "database_id\tdisease_name\tqualifier\thpo_id\tfrequency\taspect"
    records = read_hpoa(f"{columns}\nOMIM:1\tToy\t\tHP:2\t\tI\n".encode(), ontology_from_parents(parents))
    assert records.record("OMIM:1").positive == ()
    (warning,) = records.report.warnings
    assert (warning.lines, warning.ids) == ((2,), ("HP:2",))
