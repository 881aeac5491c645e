"""Patients of a batch: JSON lines, phenopackets, folders, archives and standard input."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import sys
import tarfile
import threading
import zipfile
from pathlib import Path
from typing import Any

import pytest

from sma_gpu.errors import DataMissing, ParseError, QueryError
from sma_gpu.ontologies.records.patient_model import BadRecord, PatientInput, PatientRecord
from sma_gpu.ontologies.records.patients import read_patients
from sma_gpu.ontologies.records.phenopacket import read_phenopacket


def packet(key: str = "p1", *terms: str, **fields: Any) -> dict[str, Any]:
    features = [{"type": {"id": term}} for term in terms]
    return {"id": key, "subject": {"id": "s"}, "phenotypicFeatures": features, "metaData": {}, **fields}


def feature(term: str, **fields: Any) -> dict[str, Any]:
    return {"type": {"id": term}, **fields}


def as_bytes(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()


def good(found: PatientInput) -> list[PatientRecord]:
    return [record for record in found.records if isinstance(record, PatientRecord)]


def bad(found: PatientInput) -> list[BadRecord]:
    return [record for record in found.records if isinstance(record, BadRecord)]


def lines(*texts: str) -> bytes:
    return ("\n".join(texts) + "\n").encode()


def stdin(content: bytes) -> PatientInput:
    return read_patients("-", stdin=io.BytesIO(content))


# Phenopackets


def test_flags_of_both_versions_and_both_spellings() -> None:
    for name in ("excluded", "negated"):
        for features in ("phenotypicFeatures", "phenotypic_features"):
            value = {"id": "a", "subject": {}, features: [feature("HP:1", **{name: True}), feature("HP:2")]}
            record = read_phenopacket(as_bytes(value))
            assert (record.observed, record.excluded) == (("HP:2",), ("HP:1",))


def test_agreeing_flags_are_one_and_disagreeing_ones_cost_the_record() -> None:
    both = packet(phenotypicFeatures=[feature("HP:1", excluded=True, negated=True)])
    assert read_phenopacket(as_bytes(both)).excluded == ("HP:1",)
    split = packet(phenotypicFeatures=[feature("HP:2"), feature("HP:1", excluded=False, negated=True)])
    with pytest.raises(QueryError) as caught:
        read_phenopacket(as_bytes(split), name="p.json")
    assert "phenotypicFeatures[1]" in caught.value.asked
    assert "excluded is false and negated is true" in caught.value.found


@pytest.mark.parametrize("flag", ["true", 1, "no", []])
def test_a_flag_that_is_not_true_or_false_costs_the_record(flag: object) -> None:
    with pytest.raises(QueryError):
        read_phenopacket(as_bytes(packet(phenotypicFeatures=[feature("HP:1", excluded=flag)])))


@pytest.mark.parametrize("name", ["isExcluded", "Negated", "is_absent"])
def test_a_flag_under_another_name_is_not_passed_over(name: str) -> None:
    with pytest.raises(QueryError) as caught:
        read_phenopacket(as_bytes(packet(phenotypicFeatures=[feature("HP:1", **{name: True})])))
    assert name in caught.value.asked


def test_a_null_flag_is_the_default() -> None:
    record = read_phenopacket(as_bytes(packet(phenotypicFeatures=[feature("HP:1", excluded=None)])))
    assert record.observed == ("HP:1",)


def test_features_without_a_type_id_are_told_by_their_path() -> None:
    features = [feature("HP:1"), {"type": {"label": "x"}}, {"excluded": True}, None, feature(" "), feature("HP:2")]
    record = read_phenopacket(as_bytes(packet(phenotypicFeatures=features)), name="p.json")
    assert record.observed == ("HP:1", "HP:2")
    assert [(e.where, e.severity, e.path) for e in record.notes] == [
        (f"phenotypicFeatures[{i}]", "warning", "p.json") for i in (1, 2, 3, 4)
    ]


@pytest.mark.parametrize("features", [{}, {"phenotypicFeatures": None}, {"phenotypicFeatures": []}])
def test_no_features_is_legal(features: dict[str, Any]) -> None:
    record = read_phenopacket(as_bytes({"id": "a", "measurements": [], **features}))
    assert (record.id, record.observed, record.excluded, record.notes) == ("a", (), (), ())


def test_ids_stand_as_written_repeats_included() -> None:
    record = read_phenopacket(as_bytes(packet("a", "HP:2", "hp:1", "HP:2")))
    assert (record.observed, record.notes) == (("HP:2", "hp:1", "HP:2"), ())


def test_blanks_around_ids_are_no_part_of_them_and_are_noted() -> None:
    value = packet(" a ", "HP:1 ", "\u00a0HP:2", diseases=[{"term": {"id": "\tD:1"}}])
    record = read_phenopacket(as_bytes(value), name="p.json")
    assert (record.id, record.observed, record.labels) == ("a", ("HP:1", "HP:2"), ("D:1",))
    assert [(e.severity, e.kind, e.where, e.ids) for e in record.notes] == [
        ("note", "padded-id", "id", ("a",)),
        ("note", "padded-id", "phenotypicFeatures[0]", ("HP:1",)),
        ("note", "padded-id", "phenotypicFeatures[1]", ("HP:2",)),
        ("note", "padded-id", "diseases[0]", ("D:1",)),
    ]
    (record,) = good(stdin(lines('{"id": " r ", "observed": ["HP:1", "", " HP:2"], "excluded": ["  "]}')))
    assert (record.id, record.observed, record.excluded) == ("r", ("HP:1", "HP:2"), ())
    assert [(e.severity, e.kind, e.where, e.path) for e in record.notes] == [
        ("note", "padded-id", "id", "<stdin>:1"),
        ("warning", "empty-id", "observed[1]", "<stdin>:1"),
        ("note", "padded-id", "observed[2]", "<stdin>:1"),
        ("warning", "empty-id", "excluded[0]", "<stdin>:1"),
    ]
    with pytest.raises(QueryError, match="two records have this id"):
        stdin(lines('{"id": "a", "observed": []}', '{"id": "a ", "observed": 3}'))


@pytest.mark.parametrize(
    "name",
    ["phenotypicfeatures", "phenotypicFeature", "Phenotypic_Features", "phenotypic-features", "phenotypic_feature"],
)
def test_features_under_a_misspelt_name_cost_the_record(name: str) -> None:
    for other in ({"subject": {}}, {}):
        value = {"id": "a", name: [feature("HP:1")], **other}
        with pytest.raises(QueryError) as caught:
            read_phenopacket(as_bytes(value))
        assert name in caught.value.asked
        assert "phenotypicFeatures" in caught.value.do
        assert [(r.id, r.error.asked.count(name)) for r in bad(stdin(json.dumps(value).encode()))] == [("a", 1)]


def test_a_null_proband_makes_no_family() -> None:
    record = read_phenopacket(as_bytes(packet("a", "HP:1", proband=None, members=None)))
    assert record.observed == ("HP:1",)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_has_not_are_refused(number: str) -> None:
    with pytest.raises(QueryError) as caught:
        read_phenopacket(f'{{"id": "a", "phenotypicFeatures": [], "x": {number}}}'.encode())
    assert number in caught.value.found


HALVES = {
    "id": '{"id": "a\\ud800", "phenotypicFeatures": []}',
    "term": '{"id": "a", "phenotypicFeatures": [{"type": {"id": "HP:1\\uDFFF"}}]}',
    "name": '{"id": "a", "phenotypicFeatures": [], "\\ud800": 1}',
    "yaml": 'id: "a\\ud800"\nphenotypicFeatures: []\n',
    "yaml list": 'id: a\nphenotypicFeatures: []\nx: ["\\ud800"]\n',
}


@pytest.mark.parametrize("which", HALVES)
def test_half_a_character_costs_the_record(which: str) -> None:
    with pytest.raises(QueryError) as caught:
        read_phenopacket(HALVES[which].encode())
    assert caught.value.found.startswith("the text")
    assert "half" in caught.value.found
    "".join(caught.value.as_dict().values()).encode()
    assert read_phenopacket(b'{"id": "a\\ud83d\\ude00\\\\ud800", "phenotypicFeatures": []}').id == "a\U0001f600\\ud800"


def test_a_name_given_twice_among_many_is_found_at_once() -> None:
    names = ",".join(f'"k{i}": 1' for i in range(50_000))
    with pytest.raises(QueryError, match="'z' twice"):
        read_phenopacket(f'{{"id": "a", {names}, "z": 1, "z": 2}}'.encode())
    with pytest.raises(QueryError, match="'k2999' twice"):
        read_phenopacket(("id: a\n" + "".join(f"k{i}: 1\n" for i in range(3000)) + "k2999: 2\n").encode())


def test_labels_are_diagnoses_and_solved_interpretations_once_each() -> None:
    value = packet(
        diseases=[{"term": {"id": "D:1"}}, {"term": {"id": "D:2"}, "excluded": True}, {"term": {"id": "D:1"}}, {}],
        interpretations=[
            {"progressStatus": "SOLVED", "diagnosis": {"disease": {"id": "D:1"}}},
            {"progress_status": "SOLVED", "diagnosis": {"disease": {"id": "D:3"}}},
            {"progressStatus": 3, "diagnosis": {"disease": {"id": "D:4"}}},
            {"progressStatus": "IN_PROGRESS", "diagnosis": {"disease": {"id": "D:5"}}},
            {"diagnosis": {"disease": {"id": "D:6"}}},
            {"progressStatus": "SOLVED"},
        ],
    )
    record = read_phenopacket(as_bytes(value))
    assert (record.labels, record.ruled_out) == (("D:1", "D:3", "D:4"), ("D:2",))
    assert [e.where for e in record.notes] == ["diseases[3]", "interpretations[5]"]
    assert record.observed == record.excluded == ()


def test_a_diagnosis_that_is_also_ruled_out_is_told() -> None:
    value = packet(diseases=[{"term": {"id": "D:1"}}, {"term": {"id": "D:1"}, "excluded": True}])
    record = read_phenopacket(as_bytes(value))
    assert [(e.kind, e.ids) for e in record.notes] == [("label-conflict", ("D:1",))]


@pytest.mark.parametrize("key", [None, "", "  ", 7, ["a"]])
def test_an_id_that_is_none(key: object) -> None:
    with pytest.raises(QueryError) as caught:
        read_phenopacket(as_bytes({**packet(), "id": key}))
    assert "id" in caught.value.asked


OTHERS = {
    "family": ({"id": "f", "proband": packet(), "pedigree": {}}, "Family"),
    "cohort": ({"id": "c", "members": [packet()], "metaData": {}}, "Cohort"),
    "wrapped": ({"id": "i", "phenopacket": packet(), "metaData": {}}, "around"),
    "list": ([packet(), packet()], "a list of 2"),
    "other": ({"nodes": [], "edges": []}, "'nodes'"),
    "text": ("hello", "text"),
    "nothing": ({}, "nothing"),
}


@pytest.mark.parametrize("which", OTHERS)
def test_json_that_is_no_phenopacket_says_what_it_is(which: str) -> None:
    value, expected = OTHERS[which]
    with pytest.raises(QueryError) as caught:
        read_phenopacket(json.dumps(value).encode(), name="given.json")
    assert expected in caught.value.found
    assert "given.json" in caught.value.asked
    assert caught.value.do


def test_features_that_are_no_list_cost_the_record() -> None:
    with pytest.raises(QueryError, match="an object"):
        read_phenopacket(as_bytes(packet(phenotypicFeatures={"type": {"id": "HP:1"}})))


def test_a_field_in_both_spellings_must_agree() -> None:
    with pytest.raises(QueryError, match="both given and differ"):
        read_phenopacket(as_bytes(packet("a", "HP:1", phenotypic_features=[])))


def test_a_name_given_twice_is_refused() -> None:
    text = '{"id": "a", "phenotypicFeatures": [], "phenotypicFeatures": [{"type": {"id": "HP:1"}}]}'
    with pytest.raises(QueryError, match="twice"):
        read_phenopacket(text.encode())
    with pytest.raises(QueryError, match="twice"):
        read_phenopacket(b"id: a\nphenotypicFeatures: []\nphenotypicFeatures: []\n")


YAML = """\
# a patient
id: y1
subject: {id: s}
phenotypicFeatures:
  - type: {id: HP:0000001, label: All}
    excluded: true
  - type: {id: "HP:0000002"}
diseases:
  - term: {id: OMIM:1}
metaData: {created: 2026-01-01T00:00:00Z}
"""


def test_yaml() -> None:
    record = read_phenopacket(YAML.encode())
    assert (record.id, record.observed, record.excluded) == ("y1", ("HP:0000002",), ("HP:0000001",))
    assert record.labels == ("OMIM:1",)


@pytest.mark.parametrize(
    "text",
    [
        "id: [",
        "1: a\nyes: b\n2020-01-01: c\n",
        "id: a\n---\nid: b\n",
        "a: !!python/object:os.system {}\n",
        "id: 2026-13-45\n",
    ],
)
def test_yaml_that_cannot_be_read(text: str) -> None:
    with pytest.raises(QueryError):
        read_phenopacket(text.encode())
    assert len(bad(stdin(text.encode()))) == 1


def test_without_pyyaml_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(DataMissing) as caught:
        read_phenopacket(YAML.encode())
    assert "pip install pyyaml" in caught.value.do
    assert read_phenopacket(as_bytes(packet("a", "HP:1"))).observed == ("HP:1",)


@pytest.mark.parametrize("content", [b"", b"{", as_bytes(packet())[:-9], b'{"id": "\xff"}', b"[" * 100_000])
def test_broken_json_is_a_query_error(content: bytes) -> None:
    with pytest.raises(QueryError):
        read_phenopacket(content)


def test_encodings() -> None:
    text = json.dumps(packet("\u00e4"), ensure_ascii=False)
    batch = lines('{"id": "\u00e4", "observed": []}', '{"id": "b", "observed": []}').decode()
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-32-le", "utf-32-be"):
        assert read_phenopacket(text.encode(encoding)).id == "\u00e4"
        assert [r.id for r in good(stdin(batch.encode(encoding)))] == ["\u00e4", "b"]


def test_bytes_that_are_no_utf_16_cost_their_line() -> None:
    whole = lines('{"id": "a", "observed": []}', '{"id": "b", "observed": []}').decode().encode("utf-16")
    found = stdin(whole[:-3])
    assert ([r.id for r in good(found)], [r.where for r in bad(found)]) == (["a"], ["<stdin>:2"])


# JSON lines


def test_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "batch"
    path.write_bytes(
        lines(
            '{"id": "a", "observed": ["HP:2", "HP:1", "HP:2"], "excluded": ["HP:3"], "pmid": 7}',
            "",
            '{"id": "b", "observed": []}',
            '{"id": "c", "excluded": ["HP:1"]}',
        )
    )
    found = read_patients(path)
    assert (found.form, bad(found)) == ("jsonl", [])
    assert [(r.id, r.observed, r.excluded) for r in good(found)] == [
        ("a", ("HP:2", "HP:1", "HP:2"), ("HP:3",)),
        ("b", (), ()),
        ("c", (), ("HP:1",)),
    ]
    assert [r.where for r in good(found)] == [f"{path}:{n}" for n in (1, 3, 4)]


def test_a_recorded_answer_is_no_part_of_the_query() -> None:
    found = stdin(
        lines(
            '{"id": "a", "observed": ["HP:1"], "gold": ["D:1"], "labels": ["D:1"], "diagnosis": "D:1", "diseases": []}'
        )
    )
    assert good(found) == [PatientRecord("a", ("HP:1",), labels=("D:1",), solved=True, where="<stdin>:1")]
    alone = stdin(lines('{"id": "a", "excluded": ["HP:1"], "diseases": [{"term": {"id": "D:1"}}]}'))
    assert good(alone) == [PatientRecord("a", (), ("HP:1",), where="<stdin>:1")]


BAD_LINES = {
    "no json": ("nonsense", None),
    "cut off": ('{"id": "x", "observed": ["HP:1"', None),
    "a list": ('["HP:1"]', None),
    "null": ("null", None),
    "a number": ("7", None),
    "neither": ('{"id": "x", "gold": ["D:1"]}', "x"),
    "misspelt": ('{"id": "x", "observd": ["HP:1"]}', "x"),
    "no id": ('{"observed": ["HP:1"]}', None),
    "blank id": ('{"id": " ", "observed": ["HP:1"]}', None),
    "numeric id": ('{"id": 3, "observed": ["HP:1"]}', None),
    "text": ('{"id": "x", "observed": "HP:1"}', "x"),
    "null signs": ('{"id": "x", "observed": null}', "x"),
    "number among signs": ('{"id": "x", "observed": ["HP:1", 5]}', "x"),
    "bad excluded": ('{"id": "x", "observed": ["HP:1"], "excluded": {"HP:2": true}}', "x"),
    "name twice": ('{"id": "x", "observed": ["HP:1"], "observed": ["HP:2"]}', None),
    "wrapped": (json.dumps({"id": "x", "phenopacket": packet("y", "HP:1")}), "x"),
    "phenopacket without an id": (json.dumps(packet("", "HP:1")), None),
    "half a character": ('{"id": "x\\ud800", "observed": ["HP:1"]}', None),
    "half a character among signs": ('{"id": "x", "observed": ["\\udc00"]}', None),
    "no number": ('{"id": "x", "observed": [], "age": NaN}', None),
    **{
        f"{name} beside observed": (json.dumps({"id": "x", "observed": ["HP:1"], name: ["HP:2"]}), "x")
        for name in ("exclude", "Excluded", "negated", "absent", "observe", "Observed", "not_observed")
    },
    "Observed alone": ('{"id": "x", "Observed": ["HP:1"]}', "x"),
}


@pytest.mark.parametrize("indent", [None, 1])
def test_families_and_cohorts(indent: int | None) -> None:
    one, two = packet("a", "HP:1"), packet("b", "HP:2", diseases=[{"term": {"id": "D:1"}}])
    family = {"id": "f", "proband": two, "relatives": [one], "pedigree": {}, "metaData": {}}
    found = stdin(json.dumps(family, indent=indent).encode())
    (patient,) = good(found)
    assert (patient.id, patient.observed, patient.labels) == ("b", ("HP:2",), ("D:1",))
    assert patient.where == f"<stdin>{':1' if found.form == 'jsonl' else ''} proband"
    assert [(e.kind, e.message.partition(";")[0]) for e in patient.notes] == [
        ("relatives", "1 relative is no patients here")
    ]
    cohort = stdin(json.dumps({"id": "c", "members": [one, 5, two]}, indent=indent).encode())
    assert [record.id for record in cohort.records] == ["a", None, "b"]
    assert [record.where.rpartition(" ")[2] for record in cohort.records] == ["members[0]", "members[1]", "members[2]"]
    nameless = stdin(json.dumps({"id": "f", "proband": packet("", "HP:1")}, indent=indent).encode())
    assert [(record.id, record.error.found) for record in bad(nameless)] == [(None, 'it is text ("")')]


def test_a_tar_archive_is_read_like_a_zip_archive() -> None:
    pack = io.BytesIO()
    with tarfile.open(fileobj=pack, mode="w:gz") as archive:
        for name, value in (("x/b.json", packet("b", "HP:2")), ("x/a.json", packet("a", "HP:1")), ("x/notes.txt", 5)):
            info = tarfile.TarInfo(name)
            info.size = len(as_bytes(value))
            archive.addfile(info, io.BytesIO(as_bytes(value)))
    found = stdin(pack.getvalue())
    assert (found.form, [(r.id, r.where) for r in good(found)]) == ("tar", [("a", "x/a.json"), ("b", "x/b.json")])
    assert [note.kind for note in found.notes] == ["other-file"]


@pytest.mark.parametrize("place", [0, 1, 2], ids=["first", "middle", "last"])
@pytest.mark.parametrize("which", BAD_LINES)
def test_one_bad_line_is_one_bad_record(which: str, place: int) -> None:
    text, key = BAD_LINES[which]
    rows = ['{"id": "a", "observed": ["HP:1"]}', '{"id": "b", "observed": ["HP:2"]}']
    rows.insert(place, text)
    found = stdin(lines(*rows))
    assert found.form == "jsonl"
    (fault,) = bad(found)
    assert (fault.id, fault.where) == (key, f"<stdin>:{place + 1}")
    assert [r.id for r in good(found)] == ["a", "b"]
    assert found.records.index(fault) == place
    assert all(fault.error.as_dict().values())


@pytest.mark.parametrize(
    ("name", "right"), [("exclude", "excluded"), ("negated", "excluded"), ("Observed", "observed")]
)
def test_a_misspelt_key_is_named_with_the_right_spelling(name: str, right: str) -> None:
    for indent in (None, 1):
        (record,) = bad(stdin(json.dumps({"id": "x", name: ["HP:2"]}, indent=indent).encode()))
        assert name in record.error.asked
        assert right in record.error.do


def test_null_for_excluded_is_none() -> None:
    assert good(stdin(lines('{"id": "a", "observed": ["HP:1"], "excluded": null}')))[0].excluded == ()


def test_phenopackets_one_a_line() -> None:
    rows = [json.dumps(packet(key, "HP:1", diseases=[{"term": {"id": "D:1"}}])) for key in "ab"]
    found = stdin(lines(*rows, '{"id": "c", "observed": ["HP:2"]}', "nonsense"))
    assert found.form == "jsonl"
    assert [(r.id, r.labels, r.where) for r in good(found)] == [
        ("a", ("D:1",), "<stdin>:1"),
        ("b", ("D:1",), "<stdin>:2"),
        ("c", (), "<stdin>:3"),
    ]
    assert [r.where for r in bad(found)] == ["<stdin>:4"]
    assert len(good(stdin(lines("nonsense", *rows)))) == 2


@pytest.mark.parametrize("text", ['{"id": "a", "observed": ["HP:1"', '{"id": "a", "observed": [}\n\n'])
def test_one_broken_line_is_told_by_its_number(text: str) -> None:
    found = stdin(text.encode())
    assert (found.form, [r.where for r in bad(found)], len(found.records)) == ("jsonl", ["<stdin>:1"], 1)


@pytest.mark.parametrize("indent", [None, 1])
@pytest.mark.parametrize("item", [{"id": "a", "observed": []}, packet("a", "HP:1")])
def test_an_array_of_records_is_refused_with_the_form_to_give(item: dict[str, Any], indent: int | None) -> None:
    found = stdin(json.dumps([item, {**item, "id": "b"}], indent=indent).encode())
    (record,) = bad(found)
    assert len(found.records) == 1
    assert "a list of 2" in record.error.found
    assert "one object per line" in record.error.do


def test_carriage_returns_alone_end_lines() -> None:
    found = stdin(b'{"id": "a", "observed": []}\r\r{"id": "b", "observed": []}\rnonsense\r')
    assert [r.where for r in found.records] == ["<stdin>:1", "<stdin>:3", "<stdin>:4"]
    assert [r.id for r in good(found)] == ["a", "b"]


def test_a_pipe_can_be_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_bytes, args=(b'{"id": "a", "observed": []}\n',))
    writer.start()
    assert [r.id for r in good(read_patients(pipe))] == ["a"]
    writer.join()


def test_bytes_that_are_no_text_cost_their_line() -> None:
    found = stdin(b'{"id": "a", "observed": []}\n{"id": "\xff", "observed": []}\n{"id": "\xc3\xa4", "observed": []}\n')
    assert [r.id for r in good(found)] == ["a", "\u00e4"]
    assert [r.where for r in bad(found)] == ["<stdin>:2"]


def test_line_separators_inside_text_and_windows_line_ends() -> None:
    found = stdin('{"id": "a\u2028\x85", "observed": []}\r\n{"id": "b", "observed": []}\r\n'.encode())
    assert [r.id for r in good(found)] == ["a\u2028\x85", "b"]


def test_an_empty_input_holds_no_record() -> None:
    for content in (b"", b"\n\n"):
        found = stdin(content)
        assert (found.records, [e.kind for e in found.notes]) == ([], ["empty"])


def test_two_records_with_one_id_refuse_the_whole_input() -> None:
    rows = lines('{"id": "a", "observed": []}', '{"id": "b", "observed": []}', '{"id": "a", "observed": 3}')
    with pytest.raises(QueryError) as caught:
        stdin(rows)
    assert "'a'" in caught.value.asked
    assert "<stdin>:1" in caught.value.found
    assert "<stdin>:3" in caught.value.found


# The form of the input


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("name", ["a.txt", "a.gz", "a.json"])
def test_the_form_is_told_by_the_content(tmp_path: Path, pack: Any, name: str) -> None:
    path = tmp_path / name
    rows = lines('{"id": "a", "observed": ["HP:1"]}', '{"id": "b", "observed": []}')
    contents = {"jsonl": rows, "phenopacket": as_bytes(packet("p", "HP:1"))}
    for form, content in contents.items():
        path.write_bytes(pack(content))
        found = read_patients(path)
        assert found.form == form
        assert bad(found) == []
        assert found.sha256 == read_patients("-", stdin=io.BytesIO(content)).sha256


@pytest.mark.parametrize(
    "content", [as_bytes(packet("p", "HP:1")), json.dumps(packet("p", "HP:1")).encode(), YAML.encode()]
)
def test_one_phenopacket_on_standard_input(content: bytes) -> None:
    found = stdin(content)
    assert found.form == "phenopacket"
    assert [r.where for r in good(found)] == ["<stdin>"]


def test_one_record_over_several_lines() -> None:
    found = stdin(b'{\n "id": "a",\n "observed": ["HP:1"]\n}\n')
    assert (found.form, good(found)) == ("jsonl", [PatientRecord("a", ("HP:1",), where="<stdin>")])


@pytest.mark.parametrize("content", [as_bytes(packet("p", "HP:1"))[:-20], b"format-version: 1.2\n\n[Term]\nid: HP:1\n"])
def test_a_single_file_that_is_no_record_is_one_bad_record(content: bytes) -> None:
    found = stdin(content)
    assert (len(found.records), len(bad(found))) == (1, 1)


def test_missing_input(tmp_path: Path) -> None:
    with pytest.raises(DataMissing):
        read_patients(tmp_path / "absent.jsonl")
    with pytest.raises(QueryError):
        read_patients("-")
    path = tmp_path / "cut.gz"
    path.write_bytes(gzip.compress(lines('{"id": "a", "observed": []}'))[:-6])
    with pytest.raises(ParseError):
        read_patients(path)


# Folders and archives


def fill(folder: Path) -> dict[str, bytes]:
    files = {
        "b.json": as_bytes(packet("b", "HP:1")),
        "a/z.yaml": YAML.encode(),
        "a/c.YML.gz": gzip.compress(YAML.replace("y1", "y2").encode()),
        "a.json.xz": lzma.compress(as_bytes(packet("x"))),
        "broken.json": b"{",
        "README.md": b"about",
        "table.tsv": b"1\t2",
        ".hidden.json": b"{}",
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return files


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def test_a_folder_and_its_archive_are_read_alike(tmp_path: Path) -> None:
    files = fill(tmp_path / "folder")
    (tmp_path / "packed").write_bytes(zipped(files))
    folder, archive = read_patients(tmp_path / "folder"), read_patients(tmp_path / "packed")
    assert (folder.form, archive.form) == ("folder", "zip")
    for found in (folder, archive):
        assert [(r.where, r.id) for r in found.records] == [
            ("a.json.xz", "x"),
            ("a/c.YML.gz", "y2"),
            ("a/z.yaml", "y1"),
            ("b.json", "b"),
            ("broken.json", None),
        ]
        assert [r.where for r in bad(found)] == ["broken.json"]
        assert [(e.kind, e.severity, e.where) for e in found.notes] == [
            ("hidden", "note", ""),
            ("other-file", "note", "README.md"),
            ("other-file", "note", "table.tsv"),
        ]
    assert folder.sha256 == archive.sha256


def test_the_checksum_of_a_folder_covers_names_and_content(tmp_path: Path) -> None:
    def checksum(files: dict[str, bytes]) -> str:
        path = tmp_path / "packed"
        path.write_bytes(zipped(files))
        return read_patients(path).sha256

    base = {"a.json": as_bytes(packet("a")), "b.json": as_bytes(packet("b"))}
    first = checksum(base)
    assert checksum(dict(reversed(base.items()))) == first
    assert checksum({**base, "note.txt": b"x"}) == first
    assert checksum({**base, "a.json": as_bytes(packet("a", "HP:1"))}) != first
    assert checksum({"a.json": base["a.json"], "c.json": base["b.json"]}) != first


def test_one_id_in_two_files_names_both(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_bytes(as_bytes(packet("same")))
    (tmp_path / "y.json").write_bytes(as_bytes(packet("same", "HP:1")))
    with pytest.raises(QueryError) as caught:
        read_patients(tmp_path)
    assert "x.json" in caught.value.found
    assert "y.json" in caught.value.found


def test_a_folder_without_phenopackets_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x")
    with pytest.raises(QueryError) as caught:
        read_patients(tmp_path)
    assert "none of its 1 files" in caught.value.found


def test_archives_of_one_file(tmp_path: Path) -> None:
    path = tmp_path / "one.zip"
    rows = lines('{"id": "a", "observed": ["HP:1"]}', "nonsense")
    path.write_bytes(zipped({"patients.jsonl": rows}))
    found = read_patients(path)
    assert (found.form, len(good(found)), len(bad(found))) == ("jsonl", 1, 1)
    path.write_bytes(zipped({"p.json": as_bytes(packet("p"))}))
    assert (read_patients(path).form, [r.id for r in read_patients(path).records]) == ("zip", ["p"])


LITTER = {"d/": b"", "__MACOSX/d/._patients.jsonl": b"\0\5", ".DS_Store": b"x", "d/.git/config": b"{}"}


def test_litter_in_an_archive_is_counted_in_one_note(tmp_path: Path) -> None:
    path = tmp_path / "one.zip"
    rows = lines('{"id": "a", "observed": ["HP:1"]}', '{"id": "b", "observed": []}')
    path.write_bytes(zipped({**LITTER, "d/patients.jsonl": rows}))
    found = read_patients(path)
    assert (found.form, [r.id for r in good(found)], bad(found)) == ("jsonl", ["a", "b"], [])
    assert found.sha256 == read_patients("-", stdin=io.BytesIO(rows)).sha256
    (note,) = found.notes
    assert (note.kind, note.severity, "3 hidden files" in note.message) == ("hidden", "note", True)
    path.write_bytes(zipped(LITTER))
    with pytest.raises(QueryError):
        read_patients(path)


def test_members_are_told_by_their_content(tmp_path: Path) -> None:
    files = {
        "a.phenopacket": as_bytes(packet("a", "HP:1")),
        "b": YAML.encode(),
        "c.txt": lines('{"id": "c1", "observed": ["HP:1"]}', "nonsense", '{"id": "c2", "observed": []}'),
        "d.json": lines('{"id": "d1", "observed": []}', json.dumps(packet("d2", "HP:1"))),
        "e.jsonl": lines('{"id": "e", "observed": []}'),
        "f.csv": b"id,observed\n",
        "g.json": b'{"name": "a package"}',
        "h.bin": bytes(range(256)),
        "i.dat": gzip.compress(as_bytes(packet("i"))),
        "j.json": b"",
    }
    (tmp_path / "packed").write_bytes(zipped(files))
    (tmp_path / "folder").mkdir()
    for name, content in files.items():
        (tmp_path / "folder" / name).write_bytes(content)
    for found in (read_patients(tmp_path / "packed"), read_patients(tmp_path / "folder")):
        assert [(r.id, r.where) for r in found.records] == [
            ("a", "a.phenopacket"),
            ("y1", "b"),
            ("c1", "c.txt:1"),
            (None, "c.txt:2"),
            ("c2", "c.txt:3"),
            ("d1", "d.json:1"),
            ("d2", "d.json:2"),
            ("e", "e.jsonl"),
            (None, "g.json"),
            ("i", "i.dat"),
            (None, "j.json"),
        ]
        assert [(e.kind, e.where) for e in found.notes] == [("other-file", "f.csv"), ("other-file", "h.bin")]


def test_what_a_folder_holds_besides_files(tmp_path: Path) -> None:
    inner, outer = tmp_path / "folder" / "inner", tmp_path / "outer"
    for folder, key in ((inner, "a"), (outer, "b")):
        folder.mkdir(parents=True)
        (folder / "p.json").write_bytes(as_bytes(packet(key)))
    (tmp_path / "folder" / "link").symlink_to(outer)
    (tmp_path / "folder" / "loop").symlink_to(tmp_path / "folder")
    (tmp_path / "folder" / "gone.json").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "folder" / "pipe.json")
    found = read_patients(tmp_path / "folder")
    assert [(r.id, r.where) for r in found.records] == [(None, "gone.json"), ("a", "inner/p.json")]
    assert [(e.kind, e.where) for e in found.notes] == [
        ("linked-folder", "link"),
        ("linked-folder", "loop"),
        ("other-file", "pipe.json"),
    ]


def test_a_folder_of_links_alone_is_refused_with_the_reason(tmp_path: Path) -> None:
    (tmp_path / "far").mkdir()
    (tmp_path / "near").mkdir()
    (tmp_path / "near" / "link").symlink_to(tmp_path / "far")
    with pytest.raises(QueryError) as caught:
        read_patients(tmp_path / "near")
    assert "link is a link to a folder" in caught.value.found


def test_names_of_files_that_are_no_text_can_be_written(tmp_path: Path) -> None:
    place = os.fsencode(tmp_path) + b"/\xff.json"
    with open(place, "wb") as file:
        file.write(as_bytes(packet("a")))
    (record,) = read_patients(tmp_path).records
    assert record.where == "\\xff.json"


def test_damaged_archives(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    whole = zipped({"a.json": as_bytes(packet("a", *["HP:1"] * 200)), "b.json": as_bytes(packet("b"))})
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(QueryError):
        read_patients(path)
    start = whole.index(b"a.json") + 6
    path.write_bytes(whole[:start] + bytes(40) + whole[start + 40 :])
    found = read_patients(path)
    assert ([r.id for r in good(found)], [r.where for r in bad(found)]) == (["b"], ["a.json"])
    path.write_bytes(zipped({}))
    with pytest.raises(QueryError):
        read_patients(path)


@pytest.mark.parametrize(
    "name", ["observation_date", "observer", "excluded_by", "absenteeism", "negatives_of_film_roll"]
)
def test_other_fields_may_have_similar_names(name: str) -> None:
    line = json.dumps({"id": "a", "observed": ["HP:1"], name: "x"}).encode()
    (record,) = read_patients("-", stdin=io.BytesIO(line)).records
    assert isinstance(record, PatientRecord)


@pytest.mark.parametrize(
    "name", ["exclude", "Excluded", "negated", "absent", "observe", "Observed", "excluded_terms", "exclusions"]
)
def test_a_misspelt_field_of_signs_costs_its_record(name: str) -> None:
    line = json.dumps({"id": "a", "observed": ["HP:1"], name: ["HP:2"]}).encode()
    (record,) = read_patients("-", stdin=io.BytesIO(line)).records
    assert isinstance(record, BadRecord)
