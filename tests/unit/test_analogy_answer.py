"""An analogy as an answer and in words: shape, numbers that add up, nothing left out without a word."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from analogies import analogy_of, crowd, entity_pair, flow, pair, say

from sma_gpu.answers.analogy_answer import analogy_answer, lattice_notes
from sma_gpu.answers.analogy_forest import Forest, item_text, label, projected_pairs
from sma_gpu.answers.analogy_text import analogy_text
from sma_gpu.answers.batch import line_text
from sma_gpu.cases import Case, Entity, Statement, Vocabulary, read_vocabulary
from sma_gpu.ontologies.builder import ontology_from_parents
from sma_gpu.ontologies.mount import mount
from sma_gpu.retrieval.analogy import Analogy, CandidateInference

SCHEMA = json.loads((files("sma_gpu.answers") / "analogy-1.schema.json").read_text())


def valid(answer: dict[str, Any]) -> dict[str, Any]:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(answer, SCHEMA)
    assert json.loads(line_text(answer, indent=1)) == answer
    return answer


@pytest.mark.parametrize("analogy", [flow(), crowd(), analogy_of(Case("a", (say("x"),)), Case("b", (say("y"),)))])
def test_answers_have_the_shape_of_the_schema_and_add_up(analogy: Analogy) -> None:
    answer = valid(analogy_answer(analogy))
    assert answer["score_bits"] == sum(c["bits"] for c in answer["mapping"])
    assert answer["bound_bits"] == answer["score_bits"] + answer["gap_bits"]
    assert answer["optimal"] == (answer["gap_bits"] == 0)
    assert answer["dials_fingerprint"] == analogy.dials.fingerprint
    assert answer["base"]["statements"] == len(list(analogy.base.walk()))


def test_the_answer_says_what_the_analogy_says() -> None:
    answer = valid(analogy_answer(flow(), notes=["a remark"]))
    assert answer["schema"] == "sma-gpu/analogy/1"
    assert (answer["vocabulary"], answer["notes"], answer["names"]) == (None, ["a remark"], {})
    assert (answer["base"]["key"], answer["base"]["name"], answer["target"]["name"]) == ("water", "Water flow", "")
    assert answer["mapping"][2] == {
        "base": "pressure(beaker)", "target": "temperature(coffee)", "kind": "statement", "via": "quantity",
        "distance": 2, "bits": 1.125, "grounded": True,
    }  # fmt: skip
    assert [c["grounded"] for c in answer["mapping"] if c["kind"] == "entity"] == [True, True, False, True]
    because, glass = answer["inferences"]
    assert because["source"] == "cause(greater(pressure(beaker), pressure(vial)), flow(beaker, vial, water, pipe))"
    assert (because["support_bits"], because["value_bits"], because["skolems"]) == (4.0, 2.0, [])
    assert because["json"]["args"][0]["args"][1] == {"functor": "temperature", "args": [{"entity": "ice-cube"}]}
    assert (glass["statement"], glass["skolems"]) == ("made-of(coffee, ?glass)", ["?glass"])
    assert glass["expression"] == "(made-of (entity coffee) (entity glass skolem))"
    assert glass["json"]["args"][1] == {"entity": "glass", "type": "skolem"}
    assert answer["differences"]["alignable"] == [
        {"base": "liquid(water)", "target": "0.5 * brown(coffee)", "via": "look"},
        {"base": "pressure(vial)", "target": "temperature(ice-cube)", "via": "quantity"},
    ]
    assert answer["contradicted"] == [{"base": "not still(vial)", "target": "still(ice-cube)"}]


def test_the_schema_refuses_what_cannot_be() -> None:
    answer = analogy_answer(flow())
    for change in ({"optimal": True, "gap_bits": 1.0}, {"schema": "sma-gpu/analogy/2"}, {"explained": 1.5}):
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate({**answer, **change}, SCHEMA)
    free = {**answer["mapping"][0], "grounded": False}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**answer, "mapping": [free]}, SCHEMA)


def test_a_statement_too_deep_for_json_is_there_as_an_expression() -> None:
    deep = say("end", Entity("\ud800"))
    odd = analogy_of(Case("a", (deep,)), Case("b", ()), (), (CandidateInference(deep, deep, (), 0, 0),))
    for _ in range(3000):
        deep = say("in", deep)
    analogy = analogy_of(Case("a", (deep,)), Case("b", (say("x"),)), (), (CandidateInference(deep, deep, (), 0, 0),))
    answer = valid(analogy_answer(analogy))
    assert answer["inferences"][0]["json"] is None
    assert answer["inferences"][0]["expression"].count("(in ") == 3000
    assert analogy_text(analogy).count("in(in(") > 0
    assert analogy_answer(odd)["inferences"][0]["json"] is None


def test_names_come_from_the_lattice() -> None:
    flu, cough = say("EX:1", Entity("ann")), say("EX:2", Entity("bob"))
    analogy = analogy_of(Case("a", (flu,)), Case("b", (cough, say("other"))), (pair(flu, cough, 1.0, "EX:0", 2),))
    parents = {"EX:0": [], "EX:1": ["EX:0"], "EX:2": ["EX:0"]}
    ontology = ontology_from_parents(parents, names={"EX:0": "Illness", "EX:1": "Flu", "EX:2": "EX:2"})
    words = Vocabulary.of(mount(ontology))
    answer = valid(analogy_answer(analogy, words, lattice_notes(analogy.base, analogy.target, words)))
    assert answer["names"] == {"EX:0": "Illness", "EX:1": "Flu"}
    assert answer["vocabulary"]["sha256"] == ontology.sha256
    assert answer["notes"] == ["The lattice lacks 1 predicate, which matches itself alone: other."]
    assert "EX:1  Flu" in analogy_text(analogy, answer["names"])


def test_notes_name_every_predicate_that_the_lattice_lacks() -> None:
    base, target = (Case(key, tuple(say(f"{key}{i:02}") for i in range(20))) for key in "ab")
    words = read_vocabulary(b"a03 is-a thing")
    (note,) = lattice_notes(base, target, words)
    assert "39 predicates" in note
    assert all(f"{key}{i:02}" in note for key in "ab" for i in range(20) if (key, i) != ("a", 3))
    assert lattice_notes(base, target, None) == ["No lattice was given: every predicate matches itself alone."]
    known = Case("c", (say("a03"),))
    assert lattice_notes(known, known, words) == []


def test_the_text_tells_all_parts_in_order() -> None:
    text = analogy_text(flow(), notes=["a remark"])
    lines = text.splitlines()
    assert lines[:3] == [
        "base   water (Water flow): 11 statements",
        "target heat: 6 statements",
        "score  9.88 bits, 49% of the target explained, proved best",
    ]
    at = lines.index("entities (4)")
    assert lines[at + 1 : at + 6] == [
        "  pipe   -> bar",
        "  beaker -> coffee",
        "  water  -> heat      free",
        "  vial   -> ice-cube",
        "  free: no matched statement speaks of the two; other pairs of free entities score the same",
    ]
    at = lines.index("statements (4), by bits")
    assert [line.split()[0] for line in lines[at + 1 : at + 5]] == ["2.00", "1.62", "1.12", "1.12"]
    assert lines[at + 3].startswith("    1.12    pressure(beaker)")
    assert lines[at + 3].endswith("-> temperature(coffee)  through quantity, 2 steps")
    assert lines[at + 3].index("->") == lines[at + 1].index("->")
    for part in (
        "the target may also have (2)\n  cause(greater(temperature(coffee)",
        "made-of(coffee, ?glass)  (1.00 bits, resting on 1.00; unknown: ?glass)",
        "base -- target (2)\n  liquid(water) -- 0.5 * brown(coffee)  (each a look)",
        "only in the base (1)\n  greater(diameter(beaker), diameter(vial))",
        "contradicted (1)\n  the base has not still(vial), the target has still(ice-cube)",
        "Note: a remark",
    ):
        assert part in text
    assert text.isascii()
    assert text.endswith("remark\n")


def test_the_text_cuts_no_list_without_saying_so() -> None:
    analogy = crowd()
    text = analogy_text(analogy)
    for title, items in (
        ("the target may also have", analogy.inferences),
        ("only in the base", analogy.base_only),
        ("only in the target", analogy.target_only),
    ):
        block = text[text.index(title) :].split("\n\n")[0].splitlines()
        assert block[0] == f"{title} ({len(items)})"
        assert len(block) == 10
        assert block[-1] == f"  and {len(items) - 8} more; --json lists all"
    pairs = sum(isinstance(c.base, Statement) for c in analogy.mapping)
    assert text.count("->") == len(analogy.mapping)
    assert f"statements ({pairs}), by bits" in text


def test_the_text_is_honest_about_proof_and_about_nothing() -> None:
    assert "not proved best: at most 0.01 bits more are possible" in analogy_text(crowd())
    assert "stopped after 31 nodes; --nodes raises this budget" in analogy_text(crowd())
    x, y = say("x", Entity("e")), say("x", Entity("f"))
    tied = analogy_of(Case("a", (x,)), Case("b", (y,)), (pair(x, y, 1.0),), canonical=False)
    assert "Other mappings may score the same" in analogy_text(tied)
    nothing = analogy_text(analogy_of(Case("a", (x,)), Case("", (say("z"),))))
    assert "0.00 bits: nothing corresponds, proved" in nothing
    assert "\n\nNothing corresponds: " in nothing
    assert "target unnamed: 1 statement\n" in nothing
    assert "->" not in nothing
    searching = analogy_text(analogy_of(Case("a", (x,)), Case("b", (y,)), gap=65536))
    assert "at most 1.00 bits more are possible" in searching
    assert "Nothing was found to correspond" in searching


def test_statements_stand_once_below_the_first_that_has_them() -> None:
    leaf = say("leaf", Entity("e"))
    one, two = say("one", leaf, leaf), say("two", say("not-there"), leaf)
    forest = Forest([leaf, one, two])
    assert [(s.functor.id, d) for s, d in forest.rows()] == [("one", 0), ("leaf", 1), ("two", 0)]
    assert [s.functor.id for s, _ in forest.rows(lambda s: s.functor.id != "two")] == ["two", "one", "leaf"]
    assert forest.shared
    assert not Forest([leaf, one]).shared
    assert label(say("f", one, Entity("e"), negated=True, weight=0.25)) == ("0.25 * not f", "(one, e)")


def test_projected_parts_are_paired_with_their_sources_once() -> None:
    inference = flow().inferences[0]
    pairs = list(projected_pairs(inference))
    assert pairs[0] == (inference.source, inference.statement)
    assert len(pairs) == len(set(pairs)) == 9
    assert item_text(Entity("?x", "skolem")) == "?x"


def test_a_mapping_of_entities_alone_and_of_bare_statements() -> None:
    e, f = Entity("e"), Entity("f")
    entities = analogy_text(analogy_of(Case("a", (say("x", e),)), Case("b", (say("y", f),)), (entity_pair(e, f),)))
    assert "entities (1)" in entities
    assert "by bits" not in entities
    bare = analogy_text(analogy_of(Case("a", (say("x"),)), Case("b", (say("x"),)), (pair(say("x"), say("x"), 1.0),)))
    assert "statements (1), by bits\n    1.00  x() -> x()\n" in bare
    assert "entities" not in bare
