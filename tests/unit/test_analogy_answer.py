"""An analogy as an answer and in words: shape, numbers that add up, nothing left out without a word."""

from __future__ import annotations

import json
import time
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
from sma_gpu.retrieval.alignment import align
from sma_gpu.retrieval.analogy import Analogy, CandidateInference, Difference
from sma_gpu.scoring import Dials

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
    assert answer["contradicted"] == [{"base": "not still(vial)", "target": "still(ice-cube)", "excluded_by": None}]


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
    text = analogy_text(analogy)
    assert text.count("in(in(") > 0
    assert "Note: What is longer than 240 characters is cut and ends in three full stops" in text
    assert max(map(len, text.splitlines())) < 300
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
        "the target may also have (1)\n  cause(greater(temperature(coffee)",
        "\n\nand, resting on pairs of entities alone (1)\n  made-of(coffee, ?glass)  (1.00 bits, ",
        "  (1.00 bits, resting on 1.00; unknown: ?glass)\n",
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
        ("the target may also have", [i for i in analogy.inferences if i.source.order == 2]),
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


def test_texts_grow_neither_with_depth_nor_with_what_is_said_twice() -> None:
    one, other = say("end", Entity("e")), say("end", Entity("f"))
    pairs = [pair(one, other, 1.0)]
    for _ in range(1500):
        one, other = say("in", one), say("in", other)
        pairs.append(pair(one, other, 1.5))
    deep = analogy_of(Case("a", (one,)), Case("b", (other,)), tuple(pairs))
    twice = say("end", Entity("e"))
    for _ in range(70):
        twice = say("both", twice, twice)
    wide = analogy_of(Case("a", (twice,)), Case("b", (say("x"),)), (), (CandidateInference(twice, twice, (), 0, 0),))
    began = time.perf_counter()
    text, answer = analogy_text(deep), valid(analogy_answer(deep))
    assert len(text) < 1_500_000
    assert "what is nested deeper than 20 statements is indented no further" in text
    assert "note" not in analogy_text(flow()).lower()
    assert answer["notes"] == [
        "Texts longer than 1,665 characters are cut and end in three full stops: 2172.",
    ]
    assert max(len(c["base"]) for c in answer["mapping"]) == 1665
    answer = valid(analogy_answer(wide))
    assert (answer["inferences"][0]["expression"], answer["inferences"][0]["json"]) == (None, None)
    assert answer["notes"][1] == "Expressions longer than 1,000,000 characters are left out, null: 1."
    assert len(answer["inferences"][0]["statement"]) == 1_000_000
    assert "both(both(" in analogy_text(wide)
    assert time.perf_counter() - began < 30


def test_two_denials_share_what_both_rule_out() -> None:
    bird, mammal = say("bird", Entity("x"), negated=True), say("mammal", Entity("y"), negated=True)
    analogy = analogy_of(
        Case("a", (bird,)), Case("b", (mammal,)), (pair(bird, mammal, 1.0, "bat", 2),),
        alignable=(Difference(bird, mammal, "bat"),),
    )  # fmt: skip
    text = analogy_text(analogy)
    assert "not bird(x) -> not mammal(y)  each rules out bat, 2 steps\n" in text
    assert "  not bird(x) -- not mammal(y)  (each rules out bat)\n" in text
    assert "a bat" not in text
    assert "through" not in text


def test_what_a_case_excludes_is_called_so() -> None:
    hot, cold = say("hot", Entity("s")), say("cold", Entity("t"))
    dry = say("dry", negated=True)
    analogy = analogy_of(
        Case("a", (hot, dry), excluded=("cold",)), Case("b", (cold, say("dry")), excluded=("hot",)),
        inferences=(CandidateInference(hot, hot, (), 0, 0, (say("hot", negated=True),)),),
        contradicted=((hot, say("hot", negated=True)), (say("cold", negated=True), cold), (dry, say("dry"))),
    )  # fmt: skip
    text = analogy_text(analogy)
    for part in (
        "  the base has hot(s), the target excludes hot\n",
        "  the base excludes cold, the target has cold(t)\n",
        "  the base has not dry(), the target has dry()\n",
        "hot(s)  (0.00 bits, resting on 0.00; but the target excludes hot)\n",
    ):
        assert part in text
    answer = valid(analogy_answer(analogy))
    assert [c["excluded_by"] for c in answer["contradicted"]] == ["target", "base", None]
    assert answer["contradicted"][0]["target"] == "not hot()"
    assert answer["inferences"][0]["denied_by"] == ["not hot()"]


@pytest.mark.parametrize("dials", [Dials.adapter_v1(), Dials("ic")])
def test_nothing_of_worth_is_not_called_nothing_alike(dials: Dials) -> None:
    base, target = Case("a", (say("hot", Entity("sun")),)), Case("b", (say("hot", Entity("fire")),))
    analogy = align(base, target, dials=dials)
    text = analogy_text(analogy)
    assert "nothing corresponds" not in text.lower()
    assert "score  0.00 bits: nothing counts under these dials, proved\n" in text
    wanted = (
        f"Nothing counts: under these dials (scorer {dials.scorer}) what the two share (hot) is worth 0 bits; "
        "one case is no corpus to count in, and the scorer unit gives every statement 1 bit."
    )
    assert wanted in text
    assert valid(analogy_answer(analogy, notes=["first"]))["notes"] == ["first", wanted]
    assert "Nothing corresponds" in analogy_text(align(base, Case("b", (say("cold", Entity("fire")),))))
    light = analogy_text(align(base, Case("b", (say("hot", Entity("fire"), weight=1e-9),))))
    assert "no two statements that fit together are worth anything; small weights count for nothing." in light


def test_nothing_in_the_text_acts_on_a_terminal() -> None:
    odd = "a\x1b[2J\nb\u202e\x9b"
    e, f = Entity(odd), Entity("two, of them")
    x, y = say(odd, e), say(odd + "2", f)
    case = Case(odd, (x,), f"name {odd}", (odd,))
    analogy = analogy_of(
        case, Case("b", (y,)), (pair(x, y, 1.0, odd, 2), entity_pair(e, f)),
        (CandidateInference(y, x, (Entity(odd, "skolem"),), 0, 0),), alignable=(Difference(x, y, odd),),
        base_only=(x,), target_only=(y,), contradicted=((say(odd, negated=True), y),),
    )  # fmt: skip
    text = analogy_text(analogy, {odd: odd}, [f"a note on {odd}"])
    assert not set(text) & set("\x1b\u202e\x9b")
    quoted = r'"a\u001b[2J\nb\u202e\u009b"'
    assert f'  {quoted} -> "two, of them"\n' in text
    assert f"unknown: ?{quoted}" in text
    assert text.splitlines()[0] == r"base   a\u001b[2J\nb\u202e\u009b (name a\u001b[2J\nb\u202e\u009b): 1 statement"
    assert r"Note: a note on a\u001b" in text


def test_inferences_from_entities_alone_stand_by_themselves() -> None:
    x, y, z = say("x", Entity("e")), say("y", Entity("e")), say("z", say("x", Entity("e")))
    mapping = (pair(x, say("x", Entity("f")), 1.0), entity_pair(Entity("e"), Entity("f")))
    weak, strong = (CandidateInference(s, s, (), 0, 0) for s in (y, z))
    base, target = Case("a", (x, y, z)), Case("b", (say("x", Entity("f")),))
    text = analogy_text(analogy_of(base, target, mapping, (weak, strong)))
    first = text.index("the target may also have (1)\n  z(x(e))")
    assert first < text.index("\n\nand, resting on pairs of entities alone (1)\n  y(e)  (")
    assert "resting on pairs" not in analogy_text(analogy_of(base, target, mapping, (strong,)))
    alone = analogy_text(analogy_of(base, target, mapping, (weak,)))
    assert "\n\nthe target may also have, resting on pairs of entities alone (1)\n" in alone
