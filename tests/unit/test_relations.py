"""Typed relations enter a case when both ends are present."""

from __future__ import annotations

import pytest

from sma_gpu import Mounted, load_ontology, mount, ontology_from_parents
from sma_gpu.cases import Vocabulary, related_case
from sma_gpu.cases.sexpr import short_text
from sma_gpu.errors import CaseError

GO = b"""format-version: 1.2
ontology: go

[Term]
id: GO:0005634
name: nucleus
is_a: GO:0043226
relationship: part_of GO:0005622

[Term]
id: GO:0005730
name: nucleolus
is_a: GO:0043226
relationship: part_of GO:0005634
relationship: adjacent_to GO:0005694

[Term]
id: GO:0043226
name: organelle

[Term]
id: GO:0005622
name: intracellular
alt_id: GO:0000001
relationship: part_of GO:0099999

[Term]
id: GO:0005694
name: chromosome
relationship: part_of GO:0005694

[Term]
id: GO:0000002
name: obsolete thing
is_obsolete: true

[Typedef]
id: part_of
name: part of
"""


@pytest.fixture(scope="module")
def mounted() -> Mounted:
    return mount(load_ontology(GO))


def test_relations_between_present_terms(mounted: Mounted) -> None:
    case = related_case("k", ["GO:0005730", "GO:0005634", "GO:0005694", "GO:0005634"], mounted, ["GO:0043226"], "n")
    assert [short_text(s) for s in case.statements] == [
        "GO:0005634(subject)",
        "GO:0005694(subject)",
        "GO:0005730(subject)",
        "adjacent_to(GO:0005730(subject), GO:0005694(subject))",
        "part_of(GO:0005694(subject), GO:0005694(subject))",
        "part_of(GO:0005730(subject), GO:0005634(subject))",
    ]
    assert (case.key, case.name, case.excluded) == ("k", "n", ("GO:0043226",))


def test_a_relation_needs_both_ends_and_is_a_is_none(mounted: Mounted) -> None:
    case = related_case("k", ["GO:0005634", "GO:0043226"], mounted)
    assert [short_text(s) for s in case.statements] == ["GO:0005634(subject)", "GO:0043226(subject)"]
    assert related_case("k", [], mounted).statements == ()


def test_the_vocabulary_of_the_ontology_knows_all_it_says(mounted: Mounted) -> None:
    words = Vocabulary.of(mounted)
    case = related_case("k", ["GO:0005730", "GO:0005634"], words.mounted)
    assert Vocabulary(mounted).missing([case]) == ("part_of",)
    assert words.missing([case]) == ()
    words.check(case)


@pytest.mark.parametrize(
    ("term", "found"),
    [
        ("GO:0005643", "GO:0005643 is not in go. .* Did you mean GO:0005634"),
        ("go:0005634", "go:0005634 is not in go. .* Did you mean GO:0005634"),
        ("GO:0000001", "no longer live in go. Give GO:0005622"),
        ("GO:0000002", "no longer live in go. Leave it out"),
        ("GO:0099999", "named in go but not defined"),
    ],
)
def test_ids_are_taken_as_given_or_refused(mounted: Mounted, term: str, found: str) -> None:
    with pytest.raises(CaseError, match=f"case 'k': .*{found}"):
        related_case("k", ["GO:0005634", term], mounted)
    with pytest.raises(CaseError, match=found):
        related_case("k", ["GO:0005634"], mounted, [term])


def test_one_string_is_no_collection_of_ids(mounted: Mounted) -> None:
    with pytest.raises(CaseError, match="one string"):
        related_case("k", "GO:0005634", mounted)


def test_an_ontology_without_a_name_is_called_in_words() -> None:
    with pytest.raises(CaseError, match="x is not in the ontology made in memory"):
        related_case("k", ["x"], mount(ontology_from_parents({"y": []})))
