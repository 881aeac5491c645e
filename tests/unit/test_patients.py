"""Patients of a batch: JSON lines, phenopackets, folders, archives and standard input."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import sys
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
    record = read_phenopacket(as_bytes(packet("a", "HP:2", "hp:1", "HP:2", "HP:0000001 ")))
    assert record.observed == ("HP:2", "hp:1", "HP:2", "HP:0000001 ")


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
    "text", ["id: [", "id: a\n---\nid: b\n", "a: !!python/object:os.system {}\n", "id: 2026-13-45\n"]
)
def test_yaml_that_cannot_be_read(text: str) -> None:
    with pytest.raises(QueryError):
        read_phenopacket(text.encode())


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
    for encoding in ("utf-8", "utf-8-sig", "utf-16"):
        assert read_phenopacket(text.encode(encoding)).id == "\u00e4"


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


def test_a_recorded_answer_is_never_read() -> None:
    found = stdin(
        lines(
            '{"id": "a", "observed": ["HP:1"], "gold": ["D:1"], "labels": ["D:1"], "diagnosis": "D:1", "diseases": []}'
        )
    )
    assert good(found) == [PatientRecord("a", ("HP:1",), where="<stdin>:1")]
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
    "phenopacket": (json.dumps(packet("x", "HP:1")), "x"),
}


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
            ("other-file", "note", name) for name in (".hidden.json", "README.md", "table.tsv")
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
