"""Vocabularies: declarations in plain text, ontologies, and what statements are checked against."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from sma_gpu import Case, CaseBatch, Entity, Predicate, Statement, mount, ontology_from_parents
from sma_gpu.cases import Signature, Vocabulary, read_vocabulary
from sma_gpu.errors import ArityMismatch, CaseError, CycleFound, DataMissing, ParseError

OWN = b"""# a vocabulary of our own
pressure is-a quantity, measure   # two parents
causes is-a relation args statement statement
causes is-a "because of"

and args statement... commutative
mass args entity number
constant number
"the \\"odd\\", one" is-a C#
"constant" is-a quantity
raining
"""

OBO = b"""format-version: 1.2

[Term]
id: GO:1
name: cell

[Term]
id: GO:2
name: nucleus
is_a: GO:1
relationship: part_of GO:1

[Term]
id: regulates
name: a term with the id of a relation
relationship: regulates GO:1
"""


def above(vocabulary: Vocabulary, term: str) -> tuple[str, ...]:
    return vocabulary.mounted.ontology.term(term).parents


def test_declarations_add_up() -> None:
    words = read_vocabulary(OWN)
    assert words.mounted.ids == (
        "C#", "and", "because of", "causes", "constant", "mass", "measure", "pressure", "quantity", "raining",
        "relation", 'the "odd", one',
    )  # fmt: skip
    assert above(words, "pressure") == ("measure", "quantity")
    assert above(words, "causes") == ("because of", "relation")
    assert above(words, 'the "odd", one') == ("C#",)
    assert dict(words.signatures) == {
        "and": Signature(("statement",), variadic=True, commutative=True),
        "causes": Signature(("statement", "statement")),
        "mass": Signature(("entity", "number")),
    }
    assert words.constant_types == {"number"}
    assert words.mounted.ontology.report.faults == []
    assert not words.mounted.ontology.placeholder.any()


def test_predicates_and_entities_are_made_as_declared() -> None:
    words = read_vocabulary(OWN)
    assert words.predicate("and") == Predicate("and", commutative=True, variadic=True)
    assert words.predicate("nobody declared this") == Predicate("nobody declared this")
    assert words.entity("5", "number") == Entity("5", "number", constant=True)
    assert words.entity("5") == Entity("5")


@pytest.mark.parametrize(
    ("line", "kinds"),
    [("p args a b...", ("a", "b")), ("p args a b ...", ("a", "b")), ('p args a "b c"...', ("a", "b c"))],
)
def test_the_last_kind_may_repeat(line: str, kinds: tuple[str, ...]) -> None:
    assert read_vocabulary(line.encode()).signatures["p"] == Signature(kinds, variadic=True)


def test_the_parts_of_a_line_come_in_any_order() -> None:
    words = read_vocabulary(b"same commutative args any any is-a relation")
    assert words.signatures["same"] == Signature(("any", "any"), commutative=True)
    assert above(words, "same") == ("relation",)


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("p args a b\n\np args a", 3, "p takes a here, but a b on line 1"),
        ("p args a\np args a...", 2, r"p takes a\.\.\. here, but a on line 1"),
        ("ok\np is-a p", 2, '"p" is its own parent'),
        ("p isa q", 1, '"isa" is not known here.*Write is-a, with a hyphen'),
        ("hot is a big", 1, '"is" is not known here.*Write is-a, with a hyphen'),
        ("p is-a q r", 1, '"r" is not known here.*Separate parents by commas'),
        ("p is-a", 1, 'a parent is missing after "is-a"'),
        ("p is-a q,", 1, 'a parent is missing after ","'),
        ("p is-a args entity", 1, 'a parent is missing after "is-a"'),
        ("p is-a q is-a r", 1, "is-a comes twice"),
        ("p args", 1, "args of p names no kind"),
        ("p args ...", 1, "args of p names no kind"),
        ("p args a... b", 1, '"b" stands among the kinds of p'),
        ("p args a, b", 1, '"," stands among the kinds of p'),
        ("p commutative\nq", 1, "p is commutative, but no line says what arguments it takes"),
        ("q\np args entity statement commutative", 2, "its arguments are of different kinds"),
        ("constant", 1, "constant is followed by 0 words"),
        ("constant is-a quantity", 1, "constant is followed by 2 words"),
        ("is-a q", 1, 'it begins with "is-a"'),
        ("(hot (entity sun))", 1, r'it begins with "\(hot"'),
        ('{"schema": "x"}', 1, 'no blank stands before|it begins with "{'),
        ('"" is-a q', 1, "empty name"),
        ('p is-a ""', 1, "a parent is missing"),
        ('constant ""', 1, "empty name"),
        ("p \x1b[2J", 1, r'"\\u001b\[2J" is not known here'),
        ('p is-a "q', 1, "a quote has no end"),
        ('p"q" is-a r', 1, "no blank stands before"),
        (r'p is-a "\q"', 1, r"\\q is no escape"),
    ],
)
def test_contradictions_and_slips_are_refused_with_their_line(text: str, line: int, found: str) -> None:
    with pytest.raises(ParseError, match=found) as caught:
        read_vocabulary(text.encode(), name="own.txt")
    assert (caught.value.path, caught.value.line) == ("own.txt", line)
    assert f"own.txt, line {line}" in str(caught.value)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "it is empty"),
        (b" \n\t\n", "it is empty"),
        (b"# nothing but remarks\n", "it declares nothing"),
        (b"p is-a q\0", "NUL"),
        (b"p is-a q\xff\n", "line 1 holds bytes that are not UTF-8"),
        (b"<!DOCTYPE html><html>", "web page"),
        (b'<?xml version="1.0"?><rdf:RDF>', "OWL"),
    ],
)
def test_what_is_no_vocabulary_is_refused_in_words(content: bytes, found: str) -> None:
    with pytest.raises(ParseError, match=found):
        read_vocabulary(content)


def test_a_cycle_is_refused_with_its_lines() -> None:
    with pytest.raises(CycleFound, match=r"a -> b -> c -> a \(lines 1, 2, 4\)") as caught:
        read_vocabulary(b"a is-a b\nb is-a c\nd\nc is-a a\n")
    assert caught.value.cycle == ("a", "b", "c", "a")


def test_files_may_be_compressed_or_missing(tmp_path: Path) -> None:
    path = tmp_path / "own.txt.gz"
    path.write_bytes(gzip.compress(OWN))
    assert read_vocabulary(path).mounted.ids == read_vocabulary(OWN).mounted.ids
    with pytest.raises(DataMissing):
        read_vocabulary(tmp_path / "nowhere.txt")


def test_an_ontology_is_recognised_and_its_relations_are_predicates() -> None:
    words = read_vocabulary(OBO)
    assert words.mounted.ids == ("GO:1", "GO:2", "regulates", "part_of")
    assert above(words, "GO:2") == ("GO:1",)
    assert dict(words.signatures) == {"part_of": Signature(("statement", "statement"))}


def test_strict_reading_refuses_an_ontology_with_a_warning() -> None:
    faulty = OBO + b"is_a: GO:99\n"
    assert "GO:99" in read_vocabulary(faulty).mounted.ids
    with pytest.raises(ParseError, match="GO:99"):
        read_vocabulary(faulty, strict=True)


def test_missing_functors_are_named_and_can_be_added() -> None:
    words = Vocabulary.of(mount(ontology_from_parents({"hot": []})))
    sun = Entity("sun")
    case = Case("c", tuple(Statement(Predicate(p), (sun,)) for p in ("warm", "hot", "bright")))
    assert words.missing([case]) == ("bright", "warm")
    grown = words.with_predicates(words.missing([case]))
    assert grown.missing([case]) == ()
    assert grown.mounted.ids == ("hot", "bright", "warm")
    assert grown.with_predicates(["hot", "dim"]).mounted.ids == ("hot", "bright", "dim", "warm")
    assert Vocabulary.plain().missing([case]) == ("bright", "hot", "warm")
    assert words.missing([Case("c", case.statements, excluded=("charged", "hot"))]) == ("bright", "charged", "warm")


def test_the_vocabulary_that_declares_nothing_is_called_so() -> None:
    with pytest.raises(CaseError, match="hot is not in the empty vocabulary"):
        CaseBatch.from_cases([Case("c", (Statement(Predicate("hot"), ()),))], Vocabulary.plain().mounted)


def test_added_predicates_keep_signatures_and_constants() -> None:
    words = read_vocabulary(OWN).with_predicates(["new"])
    assert words.predicate("and").variadic
    assert words.entity("1", "number").constant


A, B, FIVE = Entity("a"), Entity("b"), Entity("5", "number", constant=True)
P = Statement(Predicate("p"), (A,))
AND = Predicate("and", commutative=True, variadic=True)


def test_a_case_as_declared_passes() -> None:
    good = (
        Statement(Predicate("causes"), (P, Statement(AND, (P,)))),
        Statement(AND, (P, P, P)),
        Statement(Predicate("mass"), (A, FIVE)),
        Statement(Predicate("undeclared"), (A, P)),
    )
    read_vocabulary(OWN).check(Case("c", good))


@pytest.mark.parametrize(
    ("statement", "kind", "found"),
    [
        (Statement(Predicate("causes"), (P,)), ArityMismatch, r"causes takes 2 arguments, but causes\(p\(a\)\) has 1"),
        (Statement(AND, ()), ArityMismatch, r"and takes 1 argument or more, but and\(\) has 0"),
        (
            Statement(Predicate("causes"), (P, A)),
            CaseError,
            r"argument 2 of causes\(p\(a\), a\) is an entity \(a, of type entity\); causes wants a statement there",
        ),
        (Statement(AND, (P, P, B)), CaseError, r"argument 3 of and\(p\(a\), p\(a\), b\) is an entity"),
        (Statement(AND, (P, Entity("x", "statement"))), CaseError, "argument 2 .* wants a statement"),
        (Statement(Predicate("mass"), (A, B)), CaseError, "argument 2 .* mass wants an entity of type number there"),
        (Statement(Predicate("mass"), (P, FIVE)), CaseError, "argument 1 .* is a statement; mass wants an entity"),
        (Statement(Predicate("and"), (P, P)), CaseError, "and is used as Predicate.* but is declared as Predicate"),
        (Statement(Predicate("q"), (Entity("5", "number"),)), CaseError, "5 is no constant"),
        (Statement(Predicate("q"), (Statement(Predicate("causes"), (A, A)),)), CaseError, "argument 1 of causes"),
    ],
)
def test_a_case_otherwise_than_declared_is_refused(statement: Statement, kind: type[CaseError], found: str) -> None:
    with pytest.raises(kind, match=f"case 'c': .*{found}"):
        read_vocabulary(OWN).check(Case("c", (statement,)))


def test_a_long_statement_is_cut_short_in_a_message() -> None:
    deep = P
    for _ in range(60):
        deep = Statement(AND, (deep, deep))  # written out it would fill the memory
    with pytest.raises(ArityMismatch) as caught:
        read_vocabulary(OWN).check(Case("c", (Statement(Predicate("causes"), (deep,)),)))
    assert len(str(caught.value)) < 400


def test_signatures_that_make_no_sense_are_refused() -> None:
    with pytest.raises(CaseError, match="variadic"):
        Signature((), variadic=True)
    with pytest.raises(CaseError, match="different kinds"):
        Signature(("entity", "any"), commutative=True)
    with pytest.raises(CaseError, match=r'its kinds are one string, "entity"\. Give a tuple: \("entity",\)'):
        Signature("entity")  # type: ignore[arg-type]
    with pytest.raises(CaseError, match="kind 2 is empty"):
        Signature(("entity", ""))
    with pytest.raises(CaseError, match="kind 1 is 7, no text"):
        Signature((7,))  # type: ignore[arg-type]


def test_a_vocabulary_does_not_change_with_what_it_was_made_from() -> None:
    signatures = {"p": Signature(("any",))}
    words = Vocabulary(mount(ontology_from_parents({"p": []})), signatures)
    signatures["q"] = Signature(("any",))
    assert list(words.signatures) == ["p"]
