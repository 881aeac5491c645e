"""Cases as JSON: what is read, what is refused and where, how it is printed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from sma_gpu import Case, Entity, Predicate, Statement
from sma_gpu.cases import Vocabulary, read_case, read_vocabulary
from sma_gpu.cases.case_json import SCHEMA, parse_case_json, print_case_json
from sma_gpu.errors import ArityMismatch, CaseError, ParseError

PLAIN = Vocabulary.plain()
SUN = {"entity": "sun"}
HOT: dict[str, Any] = {"functor": "hot", "args": [SUN]}


def written(*statements: object, **fields: object) -> str:
    return json.dumps({"schema": SCHEMA, "statements": list(statements), **fields})


def test_a_whole_case() -> None:
    words = read_vocabulary(b"mass args entity number\nconstant number\n")
    inner = {"functor": "mass", "args": [SUN, {"entity": "5", "type": "number"}], "negated": True, "weight": 0.5}
    text = written({"functor": "says", "args": [SUN, inner]}, HOT, HOT, key="k", name="n", excluded=["b", "a", "b"])
    mass = Statement(Predicate("mass"), (Entity("sun"), Entity("5", "number", constant=True)), True, 0.5)
    says = Statement(Predicate("says"), (Entity("sun"), mass))
    hot = Statement(Predicate("hot"), (Entity("sun"),))
    assert parse_case_json(text, words) == Case("k", (says, hot), "n", ("b", "a"))
    assert parse_case_json(text, words, key="mine").key == "mine"


def test_printed_form_leaves_defaults_out() -> None:
    hot = Statement(Predicate("hot"), (Entity("sun"), Entity("5", "number")), weight=0.5)
    case = Case("k", (Statement(Predicate("so"), (hot, hot), negated=True), hot), "é", ("a", "b"))
    inside = '{"functor": "hot", "args": [{"entity": "sun"}, {"entity": "5", "type": "number"}], "weight": 0.5}'
    assert print_case_json(case) == (
        '{"schema": "sma-gpu/case/1", "key": "k", "name": "é", "statements": [\n'
        f'  {{"functor": "so", "args": [{inside}, {inside}], "negated": true}},\n'
        f"  {inside}\n"
        '], "excluded": ["a", "b"]}\n'
    )
    assert read_case(print_case_json(case).encode(), PLAIN) == case


@pytest.mark.parametrize(
    ("statement", "place", "found"),
    [
        (7, "statements[1]", "it is a number (7)"),
        (SUN, "statements[1]", "it is an entity, where a statement is wanted"),
        ({"functor": "p"}, "statements[1]", "the field args is missing"),
        ({"args": []}, "statements[1]", "the field functor is missing"),
        ({"functor": 1, "args": []}, "statements[1].functor", "it is a number (1)"),
        ({"functor": "p", "args": SUN}, "statements[1].args", "it is an object"),
        ({"functor": "p", "args": ["sun"]}, "statements[1].args[0]", 'it is text ("sun")'),
        ({"functor": "", "args": [SUN]}, "statements[1]", "a predicate has an empty name"),
        ({"functor": "p", "args": [{"entity": ""}]}, "statements[1].args[0]", "an entity has an empty name"),
        (
            {"functor": "p", "args": [{"entity": "a", "type": ""}]},
            "statements[1].args[0]",
            "the type of an entity has an empty name",
        ),
        ({"functor": "p", "args": [HOT, {"entity": 3}]}, "statements[1].args[1].entity", "it is a number (3)"),
        ({"functor": "p", "args": [{"entity": "a", "type": None}]}, "statements[1].args[0].type", "it is null"),
        ({"functor": "p", "args": [{"entity": "a", "kind": "b"}]}, "statements[1].args[0]", "'kind' is not known"),
        (
            {"functor": "p", "args": [{"functor": "q", "args": [SUN, {"functor": "r"}]}]},
            "statements[1].args[0].args[1]",
            "the field args is missing",
        ),
        (HOT | {"wieght": 1}, "statements[1]", "the field 'wieght' is not known"),
        (HOT | {"weight": 0}, "statements[1].weight", "it is a number (0)"),
        (HOT | {"weight": 2}, "statements[1].weight", "it is a number (2)"),
        (HOT | {"weight": True}, "statements[1].weight", "it is true or false (true)"),
        (HOT | {"weight": "1"}, "statements[1].weight", 'it is text ("1")'),
        (HOT | {"negated": 1}, "statements[1].negated", "it is a number (1)"),
    ],
)
def test_a_wrong_statement_is_refused_with_its_path(statement: object, place: str, found: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_case_json(written(HOT, statement), PLAIN, path="x.json")
    assert f"x.json, {place}, as a case" == caught.value.asked.removeprefix("read ")
    assert found in caught.value.found
    assert caught.value.path == "x.json"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("[]", "it is a list"),
        ("{}", "the field schema is missing"),
        ('{"schema": "sma-gpu/case/1"}', "the field statements is missing"),
        (written(HOT).replace("case/1", "case/2"), 'schema, as a case: it is text ("sma-gpu/case/2")'),
        (written(HOT, keys="a"), "the field 'keys' is not known"),
        (written(HOT, key=1), "key, as a case: it is a number (1)"),
        (written(HOT, excluded="a"), 'excluded, as a case: it is text ("a")'),
        (written(HOT, excluded=["a", ""]), "excluded[1], as a case: an excluded term has an empty name"),
        (written({"functor": "p", "args": ["sun"]}), 'For an entity write {"entity": "sun"}.'),
        (written(HOT, excluded=["a", 2]), "excluded[1], as a case: it is a number (2)"),
        (written(), "it holds no statement"),
        (written(HOT | {"weight": float("nan")}), "NaN is no number in JSON"),
        (written(HOT)[:-1] + ', "key": "a", "key": "a"}', "one object gives 'key' twice"),
        (written({"functor": "p", "args": [{"entity": "\ud800"}]}), "half a character"),
        (
            written({"functor": "p", "args": [SUN | {"type": "star"}, SUN | {"type": "rock"}]}),
            "sun is of type rock here, and of type star on statements[0].args[0]",
        ),
    ],
)
def test_a_wrong_text_is_refused_in_words(text: str, found: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_case_json(text, PLAIN)
    assert found in str(caught.value)


def test_a_fault_of_json_itself_has_its_line() -> None:
    with pytest.raises(ParseError, match=r"read x, line 2, as a case: .* at line 2 column 1") as caught:
        parse_case_json('{"schema": 1,\n}', PLAIN, path="x")
    assert caught.value.line == 2


def test_arguments_are_checked_where_they_stand() -> None:
    words = read_vocabulary(b"causes args statement statement")
    with pytest.raises(ArityMismatch, match=r"x, statements\[1\]\.args\[0\], as a case: causes takes 2 arguments"):
        parse_case_json(written(HOT, {"functor": "p", "args": [{"functor": "causes", "args": []}]}), words, path="x")
    with pytest.raises(ArityMismatch, match=r"with 2 arguments here, and with 1 on statements\[0\]"):
        parse_case_json(written(HOT, {"functor": "hot", "args": [SUN, SUN]}), PLAIN)


def nested(depth: int) -> Case:
    statement = Statement(Predicate("p"), (Entity("x"),))
    for _ in range(depth):
        statement = Statement(Predicate("p"), (statement,))
    return Case("k", (statement,))


def test_nesting_beyond_the_reach_of_json_is_refused_in_words() -> None:
    moderate = nested(200)
    assert parse_case_json(print_case_json(moderate), PLAIN) == moderate
    with pytest.raises(CaseError, match=r"nested too deeply for JSON.*S-expressions"):
        print_case_json(nested(5000))
    inner = '{"functor": "p", "args": ['
    text = f'{{"schema": "{SCHEMA}", "statements": [{inner * 5000}{{"entity": "x"}}{"]}" * 5000}]}}'
    with pytest.raises(ParseError, match=r"nested too deeply.*S-expressions"):
        parse_case_json(text, PLAIN)


def test_what_could_not_be_told_apart_is_not_printed() -> None:
    sun, star = Entity("sun"), Entity("sun", "star")
    with pytest.raises(CaseError, match="two of its entities have the name"):
        print_case_json(Case("k", (Statement(Predicate("near"), (sun, star)),)))
    with pytest.raises(CaseError, match="half a character"):
        print_case_json(Case("k\ud800", (Statement(Predicate("near"), (sun,)),)))


def test_a_case_whose_text_would_fill_the_memory_is_not_printed() -> None:
    statement = Statement(Predicate("q"), (Entity("x", "t"),))
    small = statement
    for times in range(40):
        statement = Statement(Predicate("p"), (statement, statement), negated=True, weight=0.5)
        small = statement if times == 5 else small
    with pytest.raises(CaseError, match=r"as JSON: written out it would have .* characters, more than 50,000,000"):
        print_case_json(Case("k", (statement,)))
    assert parse_case_json(print_case_json(Case("k", (small,))), PLAIN).statements == (small,)
