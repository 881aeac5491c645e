"""S-expressions: what they mean, what is refused, and that depth costs nothing but time."""

from __future__ import annotations

import gzip
import io
import sys
import time
from pathlib import Path

import pytest

from sma_gpu import Case, Entity, Predicate, Statement
from sma_gpu.cases import Vocabulary, parse_case, print_case, read_case, read_vocabulary
from sma_gpu.cases.sexpr import short_text, statement_text
from sma_gpu.cases.spelling import statement_lengths
from sma_gpu.errors import ArityMismatch, CaseError, DataMissing, ParseError

PLAIN = Vocabulary.plain()
DECLARED = read_vocabulary(b"causes args statement statement\nmass args entity number\nconstant number\n")
SUN, PLANET = Entity("sun"), Entity("planet")
HOT = Statement(Predicate("hot"), (SUN,))


def only(text: str) -> Statement:
    (statement,) = parse_case(text, PLAIN).statements
    return statement


def test_a_whole_case() -> None:
    case = parse_case(
        """
        (case solar "the solar system")   ; the header
        (causes (attracts (entity sun) (entity planet))
                (weight 0.5 (not (revolves (entity planet) (entity sun)))))
        (mass (entity sun) (entity 2e30 number))
        (excluded charged "odd one")
        (excluded cold charged)
        """,
        DECLARED,
    )
    attracts = Statement(Predicate("attracts"), (SUN, PLANET))
    revolves = Statement(Predicate("revolves"), (PLANET, SUN), negated=True, weight=0.5)
    mass = Statement(Predicate("mass"), (SUN, Entity("2e30", "number", constant=True)))
    assert case == Case(
        "solar",
        (Statement(Predicate("causes"), (attracts, revolves)), mass),
        "the solar system",
        ("charged", "odd one", "cold"),
    )


def test_the_order_of_not_and_weight_does_not_matter() -> None:
    wanted = Statement(Predicate("hot"), (SUN,), negated=True, weight=0.25)
    assert only("(not (weight .25 (hot (entity sun))))") == wanted
    assert only("(weight 25e-2 (not (hot (entity sun))))") == wanted


def test_words_with_a_meaning_are_functors_in_quotes() -> None:
    assert only('("not" (entity sun))') == Statement(Predicate("not"), (SUN,))
    nested = Statement(Predicate("entity"), (Statement(Predicate("case"), (SUN,)),))
    assert only('("entity" ("case" (entity sun)))') == nested
    assert statement_text(nested) == '("entity" ("case" (entity sun)))'
    assert statement_text(Statement(Predicate("hot"), (Entity("not", "case"),))) == "(hot (entity not case))"


def test_the_type_of_an_entity_holds_throughout() -> None:
    case = parse_case("(hot (entity sun))\n(near (entity sun star) (entity moon))\n(big (entity sun))", PLAIN)
    assert case.entities() == (Entity("moon"), Entity("sun", "star"))
    with pytest.raises(ParseError, match="sun is of type rock here, and of type star on line 1") as caught:
        parse_case("(hot (entity sun star))\n\n(big (entity sun rock))", PLAIN)
    assert caught.value.line == 3
    with pytest.raises(ParseError, match="of type entity here"):
        parse_case("(hot (entity sun star))\n(big (entity sun entity))", PLAIN)


def test_a_statement_given_twice_counts_once() -> None:
    case = parse_case("(hot (entity sun))\n(big (entity sun))\n( hot(entity sun) )\n(not (hot (entity sun)))", PLAIN)
    assert [statement_text(s) for s in case.statements] == [
        "(hot (entity sun))", "(big (entity sun))", "(not (hot (entity sun)))",
    ]  # fmt: skip


def test_escapes_and_odd_blanks() -> None:
    assert only(r'(hot (entity "a\"b\\c\nd\te\rf\u00e9;(g"))').args == (Entity('a"b\\c\nd\te\rf\u00e9;(g'),)
    name = 'a "b" \\ \n\t\r\0\x85\u2028\ufeff\U0001f600é'
    printed = statement_text(Entity(name))
    assert printed == r'(entity "a \"b\" \\ \n\t\r\u0000\u0085\u2028\ufeff' + '\U0001f600é")'
    assert only(f"(hot {printed})").args == (Entity(name),)
    assert only("\ufeff(hot\u00a0(entity\r\nsun))") == HOT


def test_the_key_of_the_caller_comes_before_that_of_the_header() -> None:
    assert parse_case("(case a)(hot (entity sun))", PLAIN).key == "a"
    assert parse_case("(case a)(hot (entity sun))", PLAIN, key="b").key == "b"
    assert parse_case("(hot (entity sun))", PLAIN).key == ""


@pytest.mark.parametrize(
    ("text", "line", "found"),
    [
        ("(hot (entity sun))\n(cold (entity moon)\n(big (entity sun))\n", 2, "opens here is never closed"),
        ("(hot (entity sun))\n(p\n(q\n(entity x)", 2, "opens here is never closed"),
        ("(hot (entity sun))\n)", 2, "closed that was never opened"),
        ("(hot (entity sun))\nhot", 2, "hot stands outside all parentheses"),
        ("\n()", 2, "a parenthesis is empty"),
        ("((hot) (entity sun))", 1, "begins with another one"),
        ("(near\n (entity sun)\n moon)", 3, r"moon stands bare .* of near\. For an entity write \(entity moon\)"),
        ('(hot "the sun")', 1, r'For an entity write \(entity "the sun"\)'),
        ("(entity sun)", 1, "entity sun stands by itself"),
        ("(hot (entity))", 1, "an entity is more or less than a name"),
        ("(hot (entity a b c))", 1, "an entity is more or less than a name"),
        ("(hot (entity (a)))", 1, "an entity is more or less than a name"),
        ("(not)", 1, "not holds something else"),
        ("(not (entity sun))", 1, "not holds something else"),
        ("(not (hot (entity sun)) (cold (entity sun)))", 1, "not holds something else"),
        ("(not (not (hot (entity sun))))", 1, "negated twice"),
        ("(not\n(weight 0.5\n (not (hot (entity sun)))))", 1, "negated twice"),
        ("(weight 0.5 (weight 0.5 (hot (entity sun))))", 1, "two weights"),
        ("(weight 1 (not (weight 1 (hot (entity sun)))))", 1, "two weights"),
        ("(weight (hot (entity sun)))", 1, "weight holds something else"),
        ("(weight 0.5 (entity sun))", 1, "weight holds something else"),
        ("(weight 0 (hot (entity sun)))", 1, "0 is no weight"),
        ("(weight 1.5 (hot (entity sun)))", 1, r"1\.5 is no weight"),
        ("(weight nan (hot (entity sun)))", 1, "nan is no weight"),
        ("(weight 1_0e-2 (hot (entity sun)))", 1, "1_0e-2 is no weight"),
        ("(weight 1e-999 (hot (entity sun)))", 1, "1e-999 is no weight"),
        ('(weight "0.5" (hot (entity sun)))', 1, "0.5 is no weight"),
        ("(hot (entity sun))\n(case late)", 2, "a header stands behind other things"),
        ("(case a)\n(case b)\n(hot (entity sun))", 2, "a header stands behind other things"),
        ("(case)", 1, "the header is more or less than a key"),
        ("(case a b c)", 1, "the header is more or less than a key"),
        ("(hot\n(case a))", 2, "case stands inside a statement"),
        ("(hot (excluded a))", 1, "excluded stands inside a statement"),
        ("(excluded)", 1, "excluded holds something else than ids"),
        ("(excluded (entity a))", 1, "excluded holds something else than ids"),
        ('(p)\n("" (entity sun))', 2, "a predicate has an empty name"),
        ('(p)\n(hot (entity ""))', 2, "an entity has an empty name"),
        ('(p)\n(hot (entity sun ""))', 2, "the type of an entity has an empty name"),
        ('(p)\n(excluded a "")', 2, "an excluded term has an empty name"),
        ('(hot\n"\x1b[2J")', 2, r"^[^\x1b]*\\u001b\[2J stands bare[^\x1b]*$"),
        ('(hot (entity "sun))\n', 1, "a quote has no end on its line"),
        ('(hot (entity "su\nn"))', 1, "a quote has no end on its line"),
        ('(hot (entity a"b"))', 1, "no blank stands before"),
        ('(hot (entity "a"b))', 1, "no blank stands before b"),
        (r'(hot (entity "\x"))', 1, r"\\x is no escape"),
        (r'(hot (entity "\u00"))', 1, r"\\u is no escape"),
        (r'(hot (entity "\ud83d\ude00"))', 1, r"\\ud83d is half a character"),
    ],
)
def test_what_is_no_case_is_refused_with_its_line(text: str, line: int, found: str) -> None:
    with pytest.raises(ParseError, match=found) as caught:
        parse_case(text, PLAIN, path="x.case")
    assert (caught.value.path, caught.value.line) == ("x.case", line)
    assert f"x.case, line {line}" in str(caught.value)


@pytest.mark.parametrize("text", ["", " \n", "; nothing\n", "(case a)", "(excluded a)"])
def test_a_case_without_a_statement_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match="it holds no statement"):
        parse_case(text, PLAIN)


def test_arguments_are_checked_where_they_stand() -> None:
    with pytest.raises(ArityMismatch, match=r"x\.case, line 2.*causes takes 2 arguments"):
        parse_case("(hot (entity sun))\n(causes (hot (entity sun)))", DECLARED, path="x.case")
    with pytest.raises(CaseError, match=r"x\.case, line 3.*argument 2 of mass\(sun, planet\).*of type number"):
        parse_case("(big\n(entity sun))\n(mass (entity sun) (entity planet))", DECLARED, path="x.case")
    with pytest.raises(ArityMismatch, match=r"line 2.*hot is used with 2 arguments here, and with 1 on line 1"):
        parse_case("(hot (entity sun))\n(hot (entity sun) (entity sun))", PLAIN, path="x.case")


def test_printed_form() -> None:
    odd = Statement(Predicate("is hot"), (Entity("5", "number"), Entity("the sun")), negated=True, weight=0.1)
    case = Case("k 1", (Statement(Predicate("causes"), (odd, HOT)), HOT), 'so "called"', ("a", "b c"))
    assert print_case(case) == (
        '(case "k 1" "so \\"called\\"")\n'
        '(causes (weight 0.1 (not ("is hot" (entity 5 number) (entity "the sun")))) (hot (entity sun)))\n'
        "(hot (entity sun))\n"
        '(excluded a "b c")\n'
    )
    assert print_case(Case("", (HOT,))) == '(case "")\n(hot (entity sun))\n'


def test_short_form() -> None:
    odd = Statement(Predicate("is hot"), (Entity("5", "number"), Entity("the sun")), negated=True, weight=0.1)
    whole = Statement(Predicate("causes"), (odd, HOT), weight=0.5)
    assert short_text(whole) == "0.5 * causes(0.1 * not is hot(5, the sun), hot(sun))"
    assert short_text(whole, limit=12) == "0.5 * cau..."
    assert short_text(HOT, limit=8) == "hot(sun)"
    assert short_text(SUN) == "sun"
    assert short_text(Statement(Predicate("raining"), ())) == "raining()"


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("sun", "sun"),
        ("the sun", "the sun"),
        ("HP:0001166", "HP:0001166"),
        ("notable", "notable"),
        ("\u75c7 \u72b6", "\u75c7 \u72b6"),
        ("\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645", "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"),
        ("sun, moon", '"sun, moon"'),
        ("f(x", '"f(x"'),
        ("x)", '"x)"'),
        ('the "sun"', r'"the \"sun\""'),
        ("not hot", '"not hot"'),
        ("0.5 * hot", '"0.5 * hot"'),
        (" sun", '" sun"'),
        ("", '""'),
        ("\x1b[31mred\x1b[0m", r'"\u001b[31mred\u001b[0m"'),
        ("a\nb\tc", r'"a\nb\tc"'),
        ("\u202eevil", r'"\u202eevil"'),
        ("\x9b2J", r'"\u009b2J"'),
        ("a\u2066b", r'"a\u2066b"'),
    ],
)
def test_a_name_that_could_be_taken_for_something_else_is_quoted(name: str, shown: str) -> None:
    assert short_text(Entity(name)) == shown
    said = short_text(Statement(Predicate(name), (Entity(name), SUN), negated=True))
    assert said == f"not {shown}({shown}, sun)"
    printed = statement_text(Entity(name)) if name else ""
    assert not any(ord(c) < 32 or c in "\x9b\u202e\u2066" for c in printed)


def test_one_argument_does_not_read_like_two() -> None:
    one, two = (Statement(Predicate("p"), tuple(map(Entity, names))) for names in (["a, b"], ["a", "b"]))
    assert short_text(one) != short_text(two)


def doubled(times: int) -> Statement:
    statement = Statement(Predicate("q"), (SUN,))
    for _ in range(times):
        statement = Statement(Predicate("p"), (statement, statement), negated=True, weight=0.5)
    return statement


def test_the_length_of_a_text_is_known_before_it_is_written() -> None:
    statements = [doubled(6), HOT, Statement(Predicate("not"), (Entity("a b", "t"),))]
    assert statement_lengths(statements) == [len(statement_text(s)) for s in statements]


def test_a_case_whose_text_would_fill_the_memory_is_not_printed() -> None:
    began = time.perf_counter()
    with pytest.raises(CaseError, match=r"print case 'k': .* \d\d,\d{3},\d{3},\d{3} characters, more than 50,000,000"):
        print_case(Case("k", (doubled(30),)))
    with pytest.raises(CaseError, match=r"about 10\^1507 characters"):
        print_case(Case("k", (doubled(5000),)))
    assert short_text(doubled(5000), limit=30) == "0.5 * not p(0.5 * not p(0.5..."
    assert time.perf_counter() - began < 10
    assert parse_case(print_case(Case("k", (doubled(10),))), PLAIN).statements == (doubled(10),)


def test_names_that_no_reader_takes_are_not_printed() -> None:
    for statement, found in (
        (Statement(Predicate(""), (SUN,)), "a predicate"),
        (Statement(Predicate("p"), (Entity(""),)), "an entity"),
        (Statement(Predicate("p"), (Entity("a", ""),)), "the type of an entity"),
    ):
        with pytest.raises(CaseError, match=f"{found} has an empty name"):
            print_case(Case("k", (statement,)))
    with pytest.raises(CaseError, match="an excluded term has an empty name"):
        print_case(Case("k", (HOT,), excluded=("",)))


def test_what_could_not_be_told_apart_is_not_printed() -> None:
    for other in (Entity("sun", "star"), Entity("sun", constant=True)):
        with pytest.raises(CaseError, match="two of its entities have the name 'sun'"):
            print_case(Case("k", (HOT, Statement(Predicate("big"), (other,)))))
    with pytest.raises(CaseError, match=r"half a character, U\+D800"):
        print_case(Case("k", (Statement(Predicate("hot"), (Entity("a\ud800"),)),)))


def test_no_nesting_is_too_deep() -> None:
    depth = 50_000
    assert depth > 10 * sys.getrecursionlimit()
    text = "(not (p " * depth + "(entity x)" + "))" * depth
    began = time.perf_counter()
    case = parse_case(text, PLAIN)
    printed = print_case(case)
    assert case.statements[0].order == depth
    assert printed == f'(case "")\n{text}\n'
    assert len(short_text(case.statements[0])) == depth * len("not p()") + 1
    assert time.perf_counter() - began < 30  # a second or two; quadratic, it would be hours
    with pytest.raises(ParseError, match="never closed"):
        parse_case("(p " * depth, PLAIN)


def test_reading_files(tmp_path: Path) -> None:
    text = "(hot (entity sun))\n"
    path = tmp_path / "solar.v2.case"
    path.write_text(text)
    assert read_case(path, PLAIN) == Case("solar.v2", (HOT,))
    assert read_case(path, PLAIN, key="mine").key == "mine"
    packed = tmp_path / "solar.case.gz"
    packed.write_bytes(gzip.compress(b"(case own)" + text.encode()))
    assert read_case(packed, PLAIN).key == "own"
    packed.write_bytes(gzip.compress(text.encode()))
    assert read_case(packed, PLAIN).key == "solar"
    as_json = tmp_path / "j.json"
    as_json.write_text(
        '\n {"schema": "sma-gpu/case/1", "statements": [{"functor": "hot", "args": [{"entity": "sun"}]}]}'
    )
    assert read_case(as_json, PLAIN) == Case("j", (HOT,))
    assert read_case(text.encode(), PLAIN) == Case("", (HOT,))
    assert read_case(io.BytesIO(b"\xef\xbb\xbf" + text.encode()), PLAIN).statements == (HOT,)
    assert read_case(text.encode("utf-16"), PLAIN).statements == (HOT,)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "as a case: it is empty"),
        (b"(hot (entity s\xffn))", "line 1 holds bytes that are not UTF-8"),
        (b"(hot (entity sun))\0", "NUL"),
        (b"<html>", "web page"),
        (b"(hot (entity sun)\n", "<bytes>, line 1"),
    ],
)
def test_unreadable_files_are_refused_in_words(content: bytes, found: str) -> None:
    with pytest.raises(ParseError, match=found) as caught:
        read_case(content, PLAIN)
    assert caught.value.path == "<bytes>"


def test_missing_files(tmp_path: Path) -> None:
    with pytest.raises(DataMissing, match="no such file"):
        read_case(tmp_path / "x.case", PLAIN)
    with pytest.raises(DataMissing, match="folder"):
        read_case(tmp_path, PLAIN)
