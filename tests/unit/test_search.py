"""Search by name, exact look-up, and suggestions for ids that are not there."""

from __future__ import annotations

import pytest

from sma_gpu.errors import QueryError
from sma_gpu.ontologies.builder import ontology_from_parents
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.readers.obo import read_obo
from sma_gpu.ontologies.search import Match, by_exact_name, nearest_ids, search

TEXT = """ontology: hp

[Term]
id: HP:0000001
name: All

[Term]
id: HP:0001250
name: Seizure
synonym: "Seizures" EXACT []
synonym: "Fit" RELATED []
alt_id: HP:0001275
is_a: HP:0000001

[Term]
id: HP:0001251
name: Seizure cluster
is_a: HP:0001250

[Term]
id: HP:0001252
name: Febrile seizure
synonym: "Seizure with fever" EXACT []
synonym: "febrile seizure disorder" BROAD []
is_a: HP:0001250

[Term]
id: HP:0002000
name: Preseizure state
synonym: "fit" EXACT []
is_a: HP:0000001

[Term]
id: HP:0002001
name: Stra\u00dfe
synonym: "Post-seizure" NARROW []
synonym: "Seizure" RELATED []
is_a: QQ:1

[Term]
id: HP:0002002
name: stra\u00dfe
is_a: HP:0000001

[Term]
id: HP:0009000
name: old seizure
is_obsolete: true
"""


@pytest.fixture(scope="module")
def hp() -> Ontology:
    return read_obo(TEXT.encode())


def ids(found: tuple[Match, ...]) -> list[str]:
    return [m.id for m in found]


def test_order_of_matches(hp: Ontology) -> None:
    found = search(hp, "seizure", 10)
    assert [(m.id, m.matched, m.scope) for m in found.matches] == [
        ("HP:0001250", "Seizure", "NAME"),
        ("HP:0002001", "Seizure", "RELATED"),
        ("HP:0001251", "Seizure cluster", "NAME"),
        ("HP:0001252", "Febrile seizure", "NAME"),
        ("HP:0002000", "Preseizure state", "NAME"),
    ]
    assert found.total == 5
    assert found.matches[1].name == "Stra\u00dfe"


def test_the_limit_cuts_but_the_total_stays(hp: Ontology) -> None:
    found = search(hp, "seizure", 2)
    assert ids(found.matches) == ["HP:0001250", "HP:0002001"]
    assert found.total == 5


def test_shorter_names_and_smaller_ids_come_first() -> None:
    names = {"E:1": "cat and dog", "E:2": "cat toy", "E:3": "cat fur", "E:4": "wild cat"}
    found = search(ontology_from_parents(dict.fromkeys(names, ()), names=names), " CAT ", 9)
    assert ids(found.matches) == ["E:2", "E:3", "E:1", "E:4"]


def test_a_word_may_begin_behind_any_mark(hp: Ontology) -> None:
    found = search(hp, "sei", 10).matches
    assert ids(found) == ["HP:0001250", "HP:0001251", "HP:0002001", "HP:0001252", "HP:0002000"]


@pytest.mark.parametrize("text", ["", "   ", "no such thing"])
def test_nothing_found(hp: Ontology, text: str) -> None:
    assert search(hp, text, 5).matches == ()
    assert search(hp, text, 5).total == 0


def test_a_limit_below_one_is_refused(hp: Ontology) -> None:
    with pytest.raises(QueryError):
        search(hp, "x", 0)


def test_folding_is_that_of_the_script(hp: Ontology) -> None:
    assert search(hp, "STRASSE", 5).total == 2
    assert search(ontology_from_parents({"A": []}, names={"A": "caf\u00e9"}), "cafe\u0301", 5).total == 1


@pytest.mark.parametrize("name", ["two  blanks", "two\tblanks", " two blanks ", "two\nblanks", "Two\u00a0Blanks"])
def test_blanks_of_all_kinds_are_one_blank(name: str) -> None:
    found = ontology_from_parents({"A": [], "B": []}, names={"A": name, "B": "Other Name"})
    assert ids(by_exact_name(found, "two blanks")) == ["A"]
    assert ids(by_exact_name(found, "TWO \n BLANKS")) == ["A"]
    assert ids(by_exact_name(found, "other name")) == ["B"]


def test_exact_names_win_over_synonyms(hp: Ontology) -> None:
    assert by_exact_name(hp, " seizure ") == (Match("HP:0001250", "Seizure", "Seizure", "NAME"),)


def test_synonyms_serve_where_no_name_does(hp: Ontology) -> None:
    assert by_exact_name(hp, "SEIZURES") == (Match("HP:0001250", "Seizure", "Seizures", "EXACT"),)


def test_ambiguous_names_come_back_whole(hp: Ontology) -> None:
    assert ids(by_exact_name(hp, "strasse")) == ["HP:0002001", "HP:0002002"]
    assert ids(by_exact_name(hp, "fit")) == ["HP:0001250", "HP:0002000"]


@pytest.mark.parametrize("name", ["seiz", "old seizure", "", "QQ:1"])
def test_no_exact_name(hp: Ontology, name: str) -> None:
    assert by_exact_name(hp, name) == ()


@pytest.mark.parametrize(
    "asked",
    [
        "hp:0001250",
        " HP:0001250\t",
        "HP: 0001250",
        "HP_0001250",
        "HP0001250",
        "hp1250",
        "HP:1250",
        "HP:01250",
        "HP:000001250",
        "1250",
        "0001250",
        "http://purl.obolibrary.org/obo/HP_0001250",
        "Seizure",
    ],
)
def test_other_spellings_lead_to_the_one_id(hp: Ontology, asked: str) -> None:
    assert nearest_ids(hp, asked) == ("HP:0001250",)


def test_an_old_id_is_suggested_in_its_right_spelling(hp: Ontology) -> None:
    assert nearest_ids(hp, "hp:1275") == ("HP:0001275",)
    assert nearest_ids(hp, "hp_9000") == ("HP:0009000",)


def test_digits_swapped_come_before_digits_changed(hp: Ontology) -> None:
    assert nearest_ids(hp, "HP:0001520") == ("HP:0001250",)
    assert nearest_ids(hp, "HP:0000200") == ("HP:0002000",)
    assert nearest_ids(hp, "HP:0001253") == ("HP:0001250", "HP:0001251", "HP:0001252")
    assert nearest_ids(hp, "HP:0001253", limit=2) == ("HP:0001250", "HP:0001251")
    assert nearest_ids(hp, "HP:0001205", limit=2) == ("HP:0001250",)


def test_only_live_ids_are_a_digit_away(hp: Ontology) -> None:
    assert nearest_ids(hp, "HP:0009001") == ("HP:0000001", "HP:0002001")  # HP:0009000 is retired
    assert nearest_ids(hp, "QQ:2") == nearest_ids(hp, "qq:1") == ()  # a placeholder helps nobody


@pytest.mark.parametrize(
    "asked", ["", " ", "nonsense", "GO:0001250", ":", "HP:", "HP:abc", "\u0661", "x" * 5000, "1" * 50000]
)
def test_nothing_near(hp: Ontology, asked: str) -> None:
    assert nearest_ids(hp, asked) == ()


def test_ids_of_other_shapes() -> None:
    attack = ontology_from_parents({"T1059": [], "T1059.001": ["T1059"], "G0016": []})
    assert nearest_ids(attack, "t1059.001") == ("T1059.001",)
    assert nearest_ids(attack, "T1059.002") == ("T1059.001",)
    assert nearest_ids(attack, "G0061") == ("G0016",)
    assert nearest_ids(attack, "T1509") == ("T1059",)
    assert nearest_ids(attack, "g16") == ()


def test_an_empty_ontology() -> None:
    empty = ontology_from_parents({})
    assert search(empty, "a", 5).total == 0
    assert nearest_ids(empty, "HP:1") == ()
    assert by_exact_name(empty, "a") == ()
