"""Answers of a whole domain: shape, account of the query, explanation, comparison."""

from __future__ import annotations

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import toy
from pages import check_page

from sma_gpu import Dials, Engine
from sma_gpu.errors import DataMissing, QueryError, UnknownKey

SCHEMA = json.loads((files("sma_gpu.answers") / "answer-1.schema.json").read_text())
LONG = ["HP:9910110", "HP:9920100", "HP:9930100"]


@pytest.fixture
def engine(tmp_path: Path) -> Engine:
    return toy.engine(tmp_path / "data")


def valid(answer: dict[str, Any]) -> dict[str, Any]:
    jsonschema.validate(answer, SCHEMA)
    assert json.loads(json.dumps(answer)) == answer
    return answer


def test_best_hit_with_its_account(engine: Engine) -> None:
    answer = valid(engine.query(["HP:9910100", "HP:9930100", "HP:9920200"], ["HP:9920100"], k=10, query_id="p1"))
    best = answer["hits"][0]
    assert (answer["id"], best["key"], best["rank"], best["ties"]) == ("p1", "OMIM:990001", 1, 1)
    assert [h["key"] for h in answer["hits"]][:2] == ["OMIM:990001", "ORPHA:990003"]
    pairs = {p["query"]: p for p in best["mapping"]}
    assert pairs["HP:9910100"]["case"] == "HP:9910110"
    assert (pairs["HP:9910100"]["via"], pairs["HP:9910100"]["distance"]) == ("HP:9910100", 1)
    assert pairs["HP:9910100"]["evidence"] == {
        "references": ["PMID:990"],
        "codes": ["PCS"],
        "frequency": {"low": 3 / 7, "high": 3 / 7, "affected": 3, "examined": 7},
    }
    assert best["score_bits"] == 1 + sum(p["bits"] for p in best["mapping"])
    assert best["attributes"] == {
        "source": ["OMIM"],
        "date": ["2026-01-01"],
        "reference": ["PMID:990"],
        "evidence": ["PCS"],
        "frequency": ["3/7"],
        "inheritance": ["HP:9940000"],
    }
    assert answer["names"]["HP:9940000"] == "Toy inheritance"
    assert answer["restriction"] is None
    assert answer["names"]["HP:9910110"] == "Spider fingers"
    assert any("medical device" in note for note in answer["notes"])
    assert answer["records"]["cases"] == 6
    assert engine.index.set_aside == ("OMIM:990007",)


def test_contradictions_both_ways(engine: Engine) -> None:
    answer = valid(engine.query(["HP:9930100", "HP:9920200"], ["HP:9920000"], k=10))
    by_key = {h["key"]: h for h in answer["hits"]}
    assert by_key["OMIM:990002"]["contradicted"] == [
        {"query": "HP:9920000", "case": "HP:9920200", "ruled_out_by": "query"}
    ]
    eye = engine.explain("OMIM:990004", ["HP:9920100", "HP:9910110"])["hits"][0]
    assert eye["contradicted"] == [{"query": "HP:9910110", "case": "HP:9910000", "ruled_out_by": "case"}]


def test_what_a_query_excludes_is_never_looked_for_next(engine: Engine) -> None:
    plain = engine.explain("OMIM:990001", ["HP:9910110"])["hits"][0]
    excluding = engine.explain("OMIM:990001", ["HP:9910110"], ["HP:9920100"])["hits"][0]
    assert "HP:9920100" in [i["functor"] for i in plain["inferences"]]
    assert "HP:9920100" not in [i["functor"] for i in excluding["inferences"]]
    assert plain["score_bits"] == excluding["score_bits"]


@pytest.mark.parametrize(
    ("observed", "excluded", "reason"),
    [
        ([], [], "empty query"),
        ([], ["HP:9920100"], "only exclusions"),
        (["HP:1234567", "GO:0008150", "", "Loose lens", "HP 1"], [], "nothing usable"),
        (["HP:9910901"], [], "nothing usable"),
        (["HP:0000001"], [], "no information"),
        (["HP:0000118"], [], "no information"),
        (["HP:9940000"], [], "nothing fits"),
    ],
)
def test_abstains_with_the_reason(engine: Engine, observed: list[str], excluded: list[str], reason: str) -> None:
    answer = valid(engine.query(observed, excluded))
    assert answer["abstained"]
    assert reason in answer["reason"]
    assert answer["novelty"] == {"nothing fits": 1.0, "no information": 0.0}.get(reason)
    asked = {o["asked"] for o in answer["query"]["left_out"]} | {u["term"] for u in answer["query"]["used"]}
    assert asked == {*observed, *excluded}


def test_every_id_given_is_accounted_for(engine: Engine) -> None:
    observed = ["HP:9910900", "HP:9910110", "HP:9910110", "HP:9910901", "HP:9999999", "hp:9920100", "HP:9930100"]
    answer = valid(engine.query(observed, ["HP:9930100"]))
    assert [u["term"] for u in answer["query"]["used"]] == ["HP:9910110", "HP:9930100"]
    assert [(c["asked"], c["used"]) for c in answer["query"]["changed"]] == [("HP:9910900", "HP:9910100")]
    assert {(o["asked"], o["kind"]) for o in answer["query"]["left_out"]} == {
        ("HP:9910110", "repeat"), ("HP:9910901", "retired"), ("HP:9999999", "unknown"), ("hp:9920100", "unknown"),
        ("HP:9910100", "implied"), ("HP:9930100", "conflict"),
    }  # fmt: skip
    nearest = {o["asked"]: o["candidates"] for o in answer["query"]["left_out"]}
    assert nearest["hp:9920100"] == ["HP:9920100"]
    assert nearest["HP:9910901"] == ["HP:9910100"]


def test_an_excluded_term_above_an_observed_one_is_remarked_on(engine: Engine) -> None:
    answer = valid(engine.query(["HP:9910110"], ["HP:9910000"]))
    assert any("HP:9910000 is excluded although" in note for note in answer["notes"])


@pytest.mark.parametrize("k", [0, -3, 1.5, None, True])
def test_a_k_that_is_no_count_is_wrong_usage(engine: Engine, k: Any) -> None:
    with pytest.raises(QueryError, match="above 0"):
        engine.query(["HP:9910110"], k=k)


def test_explain_gives_the_exact_rank_of_any_case(engine: Engine) -> None:
    query = ["HP:9910110", "HP:9930100"]
    hits = engine.query(query, k=100)["hits"]
    assert len(hits) >= 3
    for hit in hits:
        answer = valid(engine.explain(hit["key"], query))
        assert answer["hits"] == [hit]
    unrelated = valid(engine.explain("OMIM:990002", ["HP:9930100"]))
    assert unrelated["hits"] == []
    assert "no rank" in unrelated["reason"]


def test_unknown_keys_are_refused_with_near_ones(engine: Engine) -> None:
    with pytest.raises(UnknownKey, match="OMIM:990001"):
        engine.explain("omim:990001", LONG)
    with pytest.raises(UnknownKey, match="nothing to match on"):
        engine.compare("OMIM:990007", "OMIM:990001")


def test_compare_accounts_for_every_term(engine: Engine) -> None:
    found = engine.compare("OMIM:990001", "OMIM:990004")
    assert [(p["a"], p["b"]) for p in found["shared"]] == [("HP:9920100", "HP:9920100")]
    assert {t["term"] for t in found["only_a"]} == {"HP:9910110", "HP:9930100"}
    assert {t["term"] for t in found["only_b"]} == {"HP:9920200"}
    twin = engine.compare("OMIM:990001", "ORPHA:990003")
    assert twin["score_bits"] == twin["a"]["self_bits"] == twin["b"]["self_bits"]
    assert twin["only_a"] == twin["only_b"] == []


def test_top_five_is_the_head_of_top_hundred(engine: Engine) -> None:
    wide = engine.query(LONG, k=100)["hits"]
    for k in range(1, len(wide) + 1):
        assert engine.query(LONG, k=k)["hits"] == wide[:k]


def test_dials_change_scores_and_are_stated(tmp_path: Path) -> None:
    answers = [valid(toy.engine(tmp_path / "data", dials).query(LONG, k=3)) for dials in (Dials(), Dials.adapter_v1())]
    assert answers[0]["dials_fingerprint"] != answers[1]["dials_fingerprint"]
    assert answers[1]["dials"] == Dials.adapter_v1().as_dict()


def test_hits_as_a_table(engine: Engine) -> None:
    pytest.importorskip("pandas")
    from sma_gpu import CaseBatch

    number = engine.domain.mounted.ontology.number
    batch = CaseBatch.from_functors(["p", "q"], [[number[t] for t in LONG], []])
    table = engine.index.retrieve(batch, 2).to_pandas()
    assert table["key"].tolist() == ["OMIM:990001", "ORPHA:990003"]
    assert table["query"].tolist() == ["p", "p"]
    assert table["rank"].tolist() == [1, 2]
    assert table["certified"].all()


def test_a_folder_without_the_files_is_refused_with_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sma_gpu import open_engine

    monkeypatch.delenv("SMA_GPU_DATA", raising=False)
    with pytest.raises(DataMissing, match="ready domains are medicine"):
        open_engine("no-such-domain")
    monkeypatch.setenv("SMA_GPU_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(DataMissing, match="no such folder"):
        open_engine("medicine")


def test_the_newest_release_is_used_and_the_choice_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sma_gpu import open_engine

    folder = toy.write(tmp_path / "medicine")
    (folder / "hp-old.obo").write_text(toy.obo("2025-05-05"), encoding="utf-8")
    (folder / "notes.txt").write_text("not data", encoding="utf-8")
    monkeypatch.setenv("SMA_GPU_DATA", str(tmp_path))
    newest = open_engine("medicine")
    assert newest.domain.mounted.ontology.version == "2026-01-01"
    assert any("several ontology releases" in note for note in newest.query(LONG)["notes"])
    older = open_engine("medicine", release="2025-05-05")
    assert older.domain.mounted.ontology.version == "2025-05-05"
    assert any("annotations of 2026-01-01" in note for note in older.query(LONG)["notes"])
    with pytest.raises(DataMissing, match="found are 2026-01-01, 2025-05-05"):
        open_engine("medicine", release="1999-01-01")


@pytest.mark.parametrize("terms", ["HP:9910110", b"HP:9910110", None, 5, [None], [5], [b"HP:9910110"]])
def test_ids_that_are_no_collection_of_strings_are_refused(engine: Engine, terms: Any) -> None:
    with pytest.raises(QueryError, match="terms "):
        engine.query(terms)
    with pytest.raises(QueryError, match="terms "):
        engine.query(LONG, terms)


def test_a_query_of_very_many_terms_is_encoded_in_linear_time() -> None:
    from sma_gpu import encode_query, mount, ontology_from_parents

    size = 3000
    chain = {f"EX:{i:05d}": [f"EX:{i - 1:05d}"] if i else [] for i in range(size)}
    wide = {f"FX:{i:05d}": ["EX:00000"] for i in range(size)}
    encoded = encode_query(mount(ontology_from_parents(chain | wide)), [*chain, *wide], [])
    assert len(encoded.present) == 1 + size
    assert len(encoded.left_out) == size - 1


def test_a_wide_k_costs_no_memory(engine: Engine) -> None:
    from sma_gpu import CaseBatch

    batch = CaseBatch.from_functors(["q"], [[3]])
    assert engine.index.retrieve(batch, 10**15).keys.shape == (1, len(engine.index))
    assert len(engine.query(LONG, k=10**15)["hits"]) <= len(engine.index)


def test_a_wide_delta_costs_no_time(tmp_path: Path) -> None:
    wide = toy.engine(tmp_path / "data", Dials(delta=10**12)).query(LONG)
    same = toy.engine(tmp_path / "data", Dials(delta=8)).query(LONG)
    assert wide["hits"] == same["hits"]


def test_releases_that_are_no_dates_are_not_called_the_newest(tmp_path: Path) -> None:
    from sma_gpu import open_engine

    folder = toy.write(tmp_path / "data")
    (folder / "hp.obo").unlink()
    for name, version in (("a_old.obo", "1.0"), ("b_new.obo", "2.0")):
        (folder / name).write_text(toy.obo().replace("hp/releases/2026-01-01", version), encoding="utf-8")
    notes = open_engine(str(folder)).query(LONG)["notes"]
    assert any("none with a dated release: a_old.obo is used, not 2.0" in note for note in notes)
    assert open_engine(str(folder), release="2.0").domain.mounted.ontology.version == "2.0"
    with pytest.raises(DataMissing, match=r"found are 1\.0, 2\.0"):
        open_engine(str(folder), release="3.0")


def test_files_are_recognised_in_any_encoding_and_behind_imports(tmp_path: Path) -> None:
    from sma_gpu import open_engine

    folder = toy.write(tmp_path / "data")
    text = toy.obo()
    (folder / "hp.obo").write_text(text, encoding="utf-16")
    assert open_engine(str(folder)).query(LONG)["hits"]
    head, rest = text.split("[Term]", 1)
    imported = "[Term]\nid: BFO:0000001\nname: entity\n\n[Term]"
    (folder / "hp.obo").write_text(head + imported + rest, encoding="utf-8")
    assert open_engine(str(folder)).query(LONG)["hits"]


def test_functors_beyond_the_ontology_are_refused_as_query_and_as_case(engine: Engine) -> None:
    from sma_gpu import CaseBatch
    from sma_gpu.errors import CaseError, ShapeError

    with pytest.raises(CaseError, match="functor 999"):
        engine.index.retrieve(CaseBatch.from_functors(["q"], [[999]]), 1)
    for wrapped in (2**32 + 1, -1, 2**31):
        with pytest.raises(ShapeError, match="functors run from 0"):
            CaseBatch.from_functors(["q"], [[wrapped]])


def test_queries_as_arrays(engine: Engine) -> None:
    batch = engine.batch([LONG, ["HP:9910110", "HP:0"]])
    assert batch.keys == ("0", "1")
    assert [engine.ids(batch.functors_of(row)) for row in (0, 1)] == [LONG, LONG[:1]]
    assert engine.index.retrieve(batch, 1).keys[0, 0] == engine.query(LONG, k=1)["hits"][0]["key"]
    assert engine.batch(iter([LONG]), keys=["p1"]).keys == ("p1",)
    assert len(engine.batch([])) == 0
    with pytest.raises(QueryError, match="2 keys"):
        engine.batch([LONG], keys=["p1", "p2"])
    with pytest.raises(QueryError, match="HP:9910110"):
        engine.batch(["HP:9910110"])


def test_answers_and_comparisons_in_words_and_as_pages(engine: Engine) -> None:
    answer, comparison = engine.query(LONG, query_id="Tall"), engine.compare("OMIM:990001", "OMIM:990002")
    assert "OMIM:990001 Long disease: rank 1" in engine.text(answer)
    assert "A = OMIM:990001 Long disease" in engine.text(comparison)
    for found, heading in ((answer, "Tall"), (comparison, "Long disease and Short disease")):
        shown = check_page(engine.page(found))
        assert [title.text for title in shown.all("h1")] == [heading]
        assert "not a medical device" in shown.text


@pytest.mark.parametrize(("explained", "shown"), [(1.0, "100{}%"), (0.9999, ">99{}%"), (0.0001, "<1{}%")])
def test_text_and_page_say_the_same_share(engine: Engine, explained: float, shown: str) -> None:
    answer = engine.query(LONG, k=1)
    answer["hits"][0]["explained"] = answer["hits"][0]["confidence"] = explained
    assert f"  {shown.format('')}\n" in engine.text(answer)
    assert f"explains {shown.format(chr(0xA0))} of the query" in check_page(engine.page(answer)).text
