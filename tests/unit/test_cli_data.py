"""The commands data list, verify, report, diff and cite, on small invented files."""

from __future__ import annotations

import gzip
import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import toy

from sma_gpu.answers.data_report import depths
from sma_gpu.cli import main
from sma_gpu.ontologies import companions, domains
from sma_gpu.ontologies import locate as locating
from sma_gpu.ontologies.catalog import catalog
from sma_gpu.ontologies.compiled import cache_dir, ontology_to_arrays, store_compiled
from sma_gpu.ontologies.differences import Gone, Moved, Renamed, differences
from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.manifest import Release, manifests
from sma_gpu.ontologies.source import read_source

OLD = b"""ontology: ex
data-version: 2026-01-01

[Term]
id: EX:1
name: root

[Term]
id: EX:2
name: two
is_a: EX:1

[Term]
id: EX:3
name: three
is_a: EX:2

[Term]
id: EX:4
name: four
is_a: EX:2

[Term]
id: EX:5
name: five
is_a: EX:1

[Term]
id: EX:6
name: six
is_obsolete: true

[Term]
id: EX:7
name: seven
is_a: EX:1
"""
NEW = b"""ontology: ex
data-version: 2026-02-01

[Term]
id: EX:1
name: root
alt_id: EX:4

[Term]
id: EX:2
name: zwei
is_a: EX:1

[Term]
id: EX:3
name: three
is_a: EX:1
is_a: EX:2

[Term]
id: EX:5
name: obsolete five
is_obsolete: true
consider: EX:2

[Term]
id: EX:6
name: six
is_a: EX:1

[Term]
id: EX:8
name: eight
is_a: EX:3
"""
MAPPINGS = """subject_id\tpredicate_id\tobject_id
MONDO:1\tskos:exactMatch\tOMIM:990001
MONDO:1\tskos:exactMatch\tOrphanet:990003
MONDO:2\tskos:exactMatch\tOMIM:990002
"""
GENES = """ncbi_gene_id\tgene_symbol\thpo_id\tdisease_id
1\tABC1\tHP:9910110\tOMIM:990001
1\tABC1\tHP:9920100\tOMIM:990001
"""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("SMA_GPU_CACHE", str(tmp_path / "cache"))
    folder = toy.write(tmp_path / "data")
    (folder / "toy.sssom.tsv").write_text(MAPPINGS, encoding="utf-8")
    (folder / "genes_to_phenotype.txt").write_text(GENES, encoding="utf-8")
    monkeypatch.setenv("SMA_GPU_DATA", str(folder))
    return folder


def asked(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> dict[str, Any]:
    assert main([*words, "--json"]) == code
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_every_change_is_found_once(tmp_path: Path) -> None:
    found = differences(load_ontology(OLD), load_ontology(NEW))
    assert found.kept == 3
    assert found.added == (("EX:8", "eight"),)
    assert found.restored == (("EX:6", "six"),)
    assert found.replaced == (Gone("EX:4", "four", "EX:1"),)
    assert found.obsoleted == (Gone("EX:5", "five", None, ("EX:2",)),)
    assert found.removed == (Gone("EX:7", "seven"),)
    assert found.renamed == (Renamed("EX:2", "two", "zwei"),)
    assert found.moved == (Moved("EX:3", "three", (), ("EX:1",)),)
    nothing = differences(load_ontology(OLD), load_ontology(OLD))
    assert nothing.kept == 6
    assert not any(
        (
            nothing.added,
            nothing.restored,
            nothing.replaced,
            nothing.obsoleted,
            nothing.removed,
            nothing.renamed,
            nothing.moved,
        )
    )


def test_two_releases_are_compared_by_file_and_by_name(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    home = data.parent / "home" / "sma_gpu" / "ex"
    home.mkdir(parents=True)
    (home / "old.obo").write_bytes(OLD)
    (home / "new.obo").write_bytes(NEW)
    by_name = asked(capsys, "data", "diff", "ex@2026-01-01", "ex")
    by_file = asked(capsys, "data", "diff", str(home / "old.obo"), str(home / "new.obo"))
    assert {**by_name, "old": 0, "new": 0} == {**by_file, "old": 0, "new": 0}
    assert (by_name["old"]["version"], by_name["new"]["version"]) == ("2026-01-01", "2026-02-01")
    assert by_name["replaced"] == [{"id": "EX:4", "name": "four", "became": "EX:1", "candidates": []}]
    assert main(["data", "diff", "ex@2026-01-01", "ex"]) == 0
    out = capsys.readouterr().out
    for line in (
        "ex 2026-01-01 (6 terms) -> ex 2026-02-01 (5 terms)", "  EX:4 four -> EX:1", "  EX:3 three: +EX:1",
        "  EX:5 five (candidates: EX:2)", "  EX:2 two -> zwei", "  EX:7 seven",
    ):  # fmt: skip
        assert line in out.splitlines()
    assert main(["data", "diff", "ex@2020-01-01", "ex"]) == 3
    assert "found are 2026-02-01, 2026-01-01" in capsys.readouterr().err
    assert main(["data", "diff", "nothing", "ex"]) == 3


def test_the_report_says_what_a_domain_is_made_of(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = (data / "phenotype.hpoa").read_text(encoding="utf-8")
    old, retired, unknown = "HP:9910900", "HP:9910901", "HP:9999999"
    for number, term in enumerate((old, retired, unknown, unknown)):
        rows += toy.row(f"OMIM:99100{number}", f"Odd {number}", "", term, "", "P") + "\n"
    rows += toy.row("OMIM:990002", "Short disease", "", "HP:9910200", "3/7", "P") + "\n"
    (data / "phenotype.hpoa").write_text(rows, encoding="utf-8")
    lines = len(rows.splitlines())
    report = asked(capsys, "data", "report", "medicine")
    ontology = report["ontology"]
    assert (ontology["terms"], ontology["retired"], ontology["alternative"], ontology["placeholders"]) == (13, 1, 1, 0)
    assert ontology["roots"] == [{"id": "HP:0000001", "name": "All"}]
    assert ontology["depth"] == 4
    assert ontology["terms_by_depth"] == [1, 2, 4, 5, 1]
    assert (ontology["edges"], ontology["several_parents"]) == (12, 0)
    assert [(f["id"], f["became"], f["candidates"], f["lines"]) for f in report["obsolete_in_use"]] == [
        (old, "HP:9910100", [], [lines - 4]), (retired, None, ["HP:9910100"], [lines - 3]),
    ]  # fmt: skip
    assert [(e["ids"], e["uses"], e["lines"]) for e in report["unknown_ids"]] == [
        ([unknown], 2, [lines - 2, lines - 1])
    ]
    assert any(e["kind"] == "copied-row" and lines in e["lines"] for e in report["duplicates"])
    assert report["equal_profiles"] == [["OMIM:990001", "ORPHA:990003"]]
    assert report["records"]["records"] == 11
    assert report["records"]["without_terms"] == 4
    assert main(["data", "report", "medicine"]) == 0
    out = capsys.readouterr().out
    for part in (
        f"{old} became HP:9910100; line {lines - 4}", f"{retired} became nothing (candidates: HP:9910100)",
        "2 records: OMIM:990001, ORPHA:990003", "depth 4: 1 at 0, 2 at 1, 4 at 2, 5 at 3, 1 at 4",
        f"lines {lines - 2}, {lines - 1}",
    ):  # fmt: skip
        assert part in out


def test_what_goes_with_the_records_is_listed_reported_and_looked_at(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (data / "toy.sssom.tsv").open("a", encoding="utf-8") as file:
        file.write("sssom:NoTermFound\tskos:exactMatch\tOMIM:990004\n")
    with (data / "genes_to_phenotype.txt").open("a", encoding="utf-8") as file:
        file.write("2\tABC2\tHP:9910110\tOMIM:777777\n")
    found = {told["part"]: told for told in asked(capsys, "data", "report", "medicine")["beside"]}
    assert found["mappings"]["counts"] == {"records mapped": 3, "groups of several records": 1}
    assert found["genes"]["counts"] == {"genes": 2, "records with genes": 1, "diseases that are no record": 1}
    report = asked(capsys, "data", "report", "medicine")
    assert report["counts"][str(data / "genes_to_phenotype.txt")] == {"unknown-disease": 1}
    assert [(entry["ids"], entry["lines"]) for entry in report["unknown_ids"]] == [(["OMIM:777777"], [4])]
    assert main(["data", "report", "medicine"]) == 0
    assert "  3 records mapped, 1 groups of several records\n" in capsys.readouterr().out
    parts = {part["part"]: part for part in asked(capsys, "data", "list")["domains"][0]["parts"]}
    assert [file["path"] for file in parts["genes"]["found"]] == [str(data / "genes_to_phenotype.txt")]
    assert parts["mappings"]["releases"] == [
        {
            "version": "2025-06-09", "address": None, "bytes": 12700455,
            "sha256": "120bbc52a1cf2fa4db49140a951810ee436ae52e1ed551254792561d681cec5d",
        }
    ]  # fmt: skip
    medicine = next(domain for domain in asked(capsys, "doctor")["domains"] if domain["name"] == "medicine")
    assert [file["path"] for file in medicine["beside"]["mappings"]] == [str(data / "toy.sssom.tsv")]
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert f"  genes     unknown      used       {data / 'genes_to_phenotype.txt'}" in out


def test_mappings_of_other_things_do_not_serve_and_are_not_taken_in(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = data / "another.sssom.tsv"
    other.write_text("subject_id\tpredicate_id\tobject_id\nUBERON:1\tskos:exactMatch\tFMA:2\n", encoding="utf-8")
    found = {told["part"]: told for told in asked(capsys, "data", "report", "medicine")["beside"]}
    assert found["mappings"]["path"] == str(data / "toy.sssom.tsv")
    assert main(["data", "add", str(other)]) == 2
    assert "it is no ontology and no known records" in capsys.readouterr().err
    assert asked(capsys, "data", "add", str(data / "toy.sssom.tsv"))["part"] == "mappings"
    added = asked(capsys, "data", "add", str(data / "genes_to_phenotype.txt"), "--name", "medicine")
    assert (added["part"], added["new"]) == ("genes", True)


def test_a_file_that_states_no_release_is_known_by_its_sum(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    content = GENES.encode()
    medicine = manifests()["medicine"]
    known = replace(medicine.companions["genes"], bytes=len(content), sha256=hashlib.sha256(content).hexdigest())
    changed = {"medicine": replace(medicine, companions={"genes": known})}
    for module in (domains, companions):
        monkeypatch.setattr(module, "manifests", lambda: changed)
    assert asked(capsys, "cite", "medicine")["sources"][-1]["version"] == known.version
    (data / "genes_to_phenotype.txt").unlink()
    (data / "genes.txt.gz").write_bytes(gzip.compress(content))
    for place in ("medicine", str(data)):
        genes = asked(capsys, "data", "verify", place)["files"][-1]
        assert [(check["what"], check["agrees"]) for check in genes["checks"]] == [
            ("sha256 of release 2025-01-16", True)
        ]


def test_an_index_of_ones_own_is_reported_on(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = data.parent / "own"
    assert main(["index", str(data / "hp.obo"), str(data / "phenotype.hpoa"), "-o", str(own)]) == 0
    capsys.readouterr()
    of_files = asked(capsys, "data", "report", str(data))
    report = asked(capsys, "data", "report", str(own))
    for key in ("obsolete_in_use", "unknown_ids", "duplicates", "suspicious", "equal_profiles"):
        assert report[key] == of_files[key]
    assert report["records"]["records"] == of_files["records"]["records"] == 7
    assert report["ontology"]["path"] == str(data / "hp.obo")
    cited = asked(capsys, "cite", str(own))
    assert [source["sha256"] for source in cited["sources"]] == [
        hashlib.sha256((data / name).read_bytes()).hexdigest() for name in ("hp.obo", "phenotype.hpoa")
    ]
    assert asked(capsys, "data", "verify", str(own))["agrees"]
    with (data / "hp.obo").open("a", encoding="utf-8") as file:
        file.write("\n")
    found = asked(capsys, "data", "verify", str(own), code=1)
    assert [check["agrees"] for file in found["files"] for check in file["checks"]] == [False, True]


def test_the_report_takes_an_ontology_alone(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = data.parent / "new.obo"
    path.write_bytes(NEW)
    report = asked(capsys, "data", "report", str(path))
    assert report["records"] is None
    assert (report["ontology"]["terms"], report["ontology"]["depth"]) == (5, 3)
    assert depths(load_ontology(NEW)).tolist() == [0, 1, 2, 1, 3]
    assert main(["data", "report", str(path)]) == 0
    assert "no records belong to it here" in capsys.readouterr().out


def test_obsolete_and_missing_parents_and_double_names_are_reported(
    data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = data.parent / "odd.obo"
    stanzas = [
        "id: EX:1\nname: one\nname: eins",
        "id: EX:2\nname: two\nis_a: EX:3\nis_a: EX:4\nis_a: EX:9",
        "id: EX:3\nname: three\nis_obsolete: true\nreplaced_by: EX:1",
        "id: EX:4\nname: four\nis_obsolete: true\nconsider: EX:1",
    ]
    path.write_text("\n\n".join(f"[Term]\n{stanza}" for stanza in stanzas) + "\n", encoding="utf-8")
    report = asked(capsys, "data", "report", str(path))
    assert [(f["id"], f["became"], f["path"], f["candidates"]) for f in report["obsolete_in_use"]] == [
        ("EX:3", "EX:1", ["EX:3", "EX:1"], []), ("EX:4", None, ["EX:4"], ["EX:1"]),
    ]  # fmt: skip
    assert [e["ids"] for e in report["unknown_ids"]] == [["EX:9"]]
    assert [(e["kind"], e["lines"]) for e in report["duplicates"]] == [("second-name", [4])]
    assert report["suspicious"] == []


def test_a_folder_stands_for_the_domain_whose_files_it_holds(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    by_name = {what: asked(capsys, *what.split(), "medicine") for what in ("data report", "data verify", "cite")}
    monkeypatch.delenv("SMA_GPU_DATA")
    for what, found in by_name.items():
        in_folder = asked(capsys, *what.split(), str(data))
        assert {**in_folder, "name": "", "notes": []} == {**found, "name": "", "notes": []}


def test_long_sections_are_cut_and_say_so(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = (data / "phenotype.hpoa").read_text(encoding="utf-8")
    rows += "".join(toy.row("OMIM:9", "Odd", "", f"HP:88888{n:02}", "", "P") + "\n" for n in range(30))
    (data / "phenotype.hpoa").write_text(rows, encoding="utf-8")
    assert main(["data", "report", "medicine"]) == 0
    out = capsys.readouterr().out
    assert "unknown ids (30)" in out
    assert "  and 18 more; --json has all" in out


def stated(monkeypatch: pytest.MonkeyPatch, **values: object) -> None:
    """Lets the manifest of medicine state something of the invented release."""
    medicine = manifests()["medicine"]
    other = replace(medicine.ontology, releases=(Release("2026-01-01", **values),))  # type: ignore[arg-type]
    changed = {**manifests(), "medicine": replace(medicine, ontology=other)}
    monkeypatch.setattr(domains, "manifests", lambda: changed)


def test_verify_compares_sums_counts_and_the_compiled_file(
    data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    sha256 = hashlib.sha256((data / "hp.obo").read_bytes()).hexdigest()
    found = asked(capsys, "data", "verify", "medicine")
    assert found["agrees"]
    assert [(file["part"], file["stated"]) for file in found["files"]] == [
        ("ontology", False), ("records", False), ("mappings", False), ("genes", False),
    ]  # fmt: skip
    assert [c["what"] for c in found["files"][0]["checks"]] == []  # nothing is stated, and nothing was compiled
    load_ontology(data / "hp.obo")
    stated(monkeypatch, sha256=sha256, terms=13, retired=1)
    found = asked(capsys, "data", "verify", "medicine")
    assert found["agrees"] and found["files"][0]["stated"]
    assert [c["what"] for c in found["files"][0]["checks"]] == [
        "sha256 of release 2026-01-01", "terms", "retired terms", "the compiled file",
    ]  # fmt: skip
    stated(monkeypatch, sha256="0" * 64, terms=14, retired=1)
    found = asked(capsys, "data", "verify", "medicine", code=1)
    assert [c["agrees"] for c in found["files"][0]["checks"]] == [False, False, True, True]
    assert main(["data", "verify", "medicine"]) == 1
    assert "DIFFERS  terms: 13, where 14 is stated" in capsys.readouterr().out


def test_verify_finds_a_compiled_file_that_says_something_else(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert asked(capsys, "data", "verify", "medicine")["agrees"]
    source = read_source(data / "hp.obo")
    other = load_ontology(toy.obo().replace("Long fingers", "Lone fingers").encode())
    assert store_compiled("ontology", source.raw_sha256, ontology_to_arrays(other))
    assert cache_dir() == data.parent / "cache"
    assert main(["data", "verify", "medicine"]) == 1
    assert "DIFFERS  the compiled file: other meta, names" in capsys.readouterr().out


def test_verify_knows_what_was_fetched(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    receipt = {"address": "https://example.org/hp.obo", "final_address": "", "version": "2026-01-01", "bytes": 1}
    (data / ".fetched").mkdir()
    text = json.dumps({**receipt, "sha256": "0" * 64, "validator": ""})
    (data / ".fetched" / "hp.obo.json").write_text(text, encoding="utf-8")
    found = asked(capsys, "data", "verify", "medicine", code=1)
    assert found["files"][0]["checks"][0]["what"] == "sha256 when it was fetched"
    assert asked(capsys, "cite", "medicine")["sources"][0]["address"] == "https://example.org/hp.obo"


def test_cite_names_sources_releases_licences_and_sums(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    cited = asked(capsys, "cite", "medicine")
    files = ("hp.obo", "phenotype.hpoa", "toy.sssom.tsv", "genes_to_phenotype.txt")
    assert [source["part"] for source in cited["sources"]] == ["ontology", "records", "mappings", "genes"]
    for source, name in zip(cited["sources"], files, strict=True):
        assert source["sha256"] == hashlib.sha256((data / name).read_bytes()).hexdigest()
        assert source["version"] == ("2026-01-01" if source["part"] in ("ontology", "records") else "")
        assert source["licence"].startswith("CC BY 4.0" if source["part"] == "mappings" else "HPO licence")
        assert source["address"].endswith(name.removeprefix("toy"))
    assert main(["cite", "medicine"]) == 0
    assert "cite: Gargano MA et al." in capsys.readouterr().out
    assert main(["cite", "medicine", "-f", "bibtex"]) == 0
    out = capsys.readouterr().out
    assert out.count("@misc{") == 4
    assert out.startswith("@misc{medicine-ontology-2026-01-01,\n  title = {{Human Phenotype Ontology}},\n")
    assert out.count("{") == out.count("}")
    assert "  year = {2026}," in out
    assert main(["cite", "nothing"]) == 3


def test_cite_marks_a_sample_and_escapes(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("SMA_GPU_DATA", raising=False)
    assert main(["cite", "legal", "-f", "bibtex"]) == 0
    out = capsys.readouterr().out
    assert "Cooperative Patent Classification (bundled sample)" in out
    cited = asked(capsys, "cite", "legal")
    assert [source["version"] for source in cited["sources"]] == ["2025-05-01", ""]


def test_list_shows_domains_and_the_catalog(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    listed = asked(capsys, "data", "list")
    assert [domain["name"] for domain in listed["domains"]] == list(manifests())
    assert [entry["name"] for entry in listed["catalog"]] == list(catalog())
    medicine = listed["domains"][0]["parts"][0]
    assert [(f["path"], f["version"], f["terms"]) for f in medicine["found"]] == [
        (str(data / "hp.obo"), "2026-01-01", None)
    ]
    assert medicine["licence"].startswith("HPO licence")
    assert main(["query", "medicine", "HP:9910100"]) == 0
    capsys.readouterr()
    assert asked(capsys, "data", "list")["domains"][0]["parts"][0]["found"][0]["terms"] == 13
    mondo = data / "mondo"
    mondo.mkdir()
    (mondo / "file").write_bytes(OLD)
    entry = next(e for e in asked(capsys, "data", "list")["catalog"] if e["name"] == "mondo")
    assert [f["version"] for f in entry["found"]] == ["2026-01-01"]
    assert main(["data", "list"]) == 0
    out = capsys.readouterr().out
    assert "further ontologies that are here, without records\n  mondo     2026-01-01" in out
    assert "  doid         Human Disease Ontology (CC0 1.0)" in out


def test_the_users_folder_comes_behind_the_named_one(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = toy.write(data.parent / "home" / "sma_gpu" / "medicine")
    medicine = manifests()["medicine"]
    assert locating.locate(medicine).ontology.path == data / "hp.obo"
    (data / "phenotype.hpoa").unlink()
    files = locating.locate(medicine)
    assert files.records.path == own / "phenotype.hpoa"
    monkeypatch.delenv("SMA_GPU_DATA")
    assert locating.locate(medicine).ontology.path == own / "hp.obo"
    for path in own.iterdir():
        path.unlink()
    if not locating.find(medicine, "ontology"):
        pytest.skip("the package with the data of medicine is not installed")
    assert locating.locate(medicine).notes == ()
