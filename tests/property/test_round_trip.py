"""What is printed reads back as it was, in both forms, whatever the names."""

from __future__ import annotations

import contextlib
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from sma_gpu import Case, Entity, Predicate, Statement
from sma_gpu.cases import Signature, Vocabulary, parse_case, print_case, read_case, read_vocabulary
from sma_gpu.cases.case_json import parse_case_json, print_case_json
from sma_gpu.errors import SmaError

ODD = "ab \t\n\r\0\"\\();#,:'.\x85\xa0\u2028\ufeff\u200bé漢\U0001f600"
titles = st.one_of(st.text(ODD, max_size=6), st.text(max_size=6))
names = st.one_of(  # nothing else may be empty
    st.text(ODD, min_size=1, max_size=6),
    st.text(min_size=1, max_size=6),
    st.sampled_from(["entity", "not", "weight", "case", "excluded", "1"]),
)
weights = st.one_of(st.just(1.0), st.floats(0, 1, exclude_min=True))


@st.composite
def worlds(draw: st.DrawFn) -> tuple[Case, Vocabulary]:
    """A case over a few predicates and entities with odd names, and the vocabulary that it is written in."""
    constant_types = frozenset(draw(st.lists(names, max_size=1)))
    # One entity a name, since two of one name have no text.
    types = draw(st.dictionaries(names, st.one_of(st.just("entity"), names), min_size=1, max_size=4))
    entities = [Entity(name, type, type in constant_types) for name, type in types.items()]
    shapes = draw(st.dictionaries(names, st.tuples(st.integers(0, 3), st.booleans(), st.booleans()), min_size=1))
    signatures = {
        functor: Signature(("any",) * arity, variadic=variadic and arity > 0, commutative=commutative)
        for functor, (arity, variadic, commutative) in list(shapes.items())[::2]
    }
    words = replace(Vocabulary.plain(), signatures=signatures, constant_types=constant_types)
    items: list[Entity | Statement] = list(entities)
    statements: list[Statement] = []
    for _ in range(draw(st.integers(1, 8))):
        functor = draw(st.sampled_from(sorted(shapes)))
        predicate = words.predicate(functor)
        arity = shapes[functor][0] + (draw(st.integers(0, 2)) if predicate.variadic else 0)
        args = tuple(draw(st.sampled_from(items)) for _ in range(arity))
        statement = Statement(predicate, args, draw(st.booleans()), draw(weights))
        items.append(statement)
        statements.append(statement)
    roots = draw(st.lists(st.sampled_from(statements), min_size=1, unique=True))
    excluded = draw(st.lists(names, max_size=3, unique=True))
    return Case(draw(titles), tuple(roots), draw(titles), tuple(excluded)), words


@settings(max_examples=300, deadline=None)
@given(worlds())
def test_printed_cases_read_back(drawn: tuple[Case, Vocabulary]) -> None:
    case, words = drawn
    words.check(case)
    for write, read in ((print_case, parse_case), (print_case_json, parse_case_json)):
        text = write(case)
        again = read(text, words)
        assert again == case
        assert write(again) == text


@settings(max_examples=200, deadline=None)
@given(worlds())
def test_printed_cases_survive_a_file(drawn: tuple[Case, Vocabulary]) -> None:
    case, words = drawn
    for write in (print_case, print_case_json):
        content = write(case).encode()
        assert read_case(content, words) == case
        assert read_case(content.replace(b"\n", b"\r\n"), words) == case


@settings(max_examples=200, deadline=None)
@given(worlds())
def test_a_printed_case_has_one_statement_a_line(drawn: tuple[Case, Vocabulary]) -> None:
    case, _ = drawn
    extra = 1 + bool(case.excluded)
    assert len(print_case(case).splitlines()) == len(case.statements) + extra


def test_weights_come_back_to_the_last_bit() -> None:
    sun = Entity("sun")
    some = (0.1 + 0.2, 5e-324, 1 / 3, 1 - 2**-53)
    case = Case("k", tuple(Statement(Predicate("hot"), (sun,), weight=w) for w in some))
    for write, read in ((print_case, parse_case), (print_case_json, parse_case_json)):
        assert [s.weight for s in read(write(case), Vocabulary.plain()).statements] == list(some)


CRUMBS = (
    "(", ")", "(hot (entity sun))", "(not ", "(weight 0.5 ", "(case k)", "(entity a b)", "(excluded x)", '"', "\\",
    "\n", ";", "#", " is-a ", " args ", "...", ",", " commutative", "constant ", "p",
    '{"schema": ', "[", "]}", "\0", "é",
)  # fmt: skip


@settings(max_examples=500, deadline=None)
@given(st.one_of(st.lists(st.sampled_from(CRUMBS), max_size=12).map("".join), st.text()))
def test_whatever_stands_in_a_text_only_our_errors_come_of_it(text: str) -> None:
    for read in (
        lambda: parse_case(text, Vocabulary.plain()),
        lambda: parse_case_json(text, Vocabulary.plain()),
        lambda: read_case(text.encode(), Vocabulary.plain()),
        lambda: read_vocabulary(text.encode()),
    ):
        with contextlib.suppress(SmaError):
            read()
