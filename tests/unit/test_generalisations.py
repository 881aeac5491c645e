"""Generalisations by hand: what is taken in, what terms become, how probable they are, and what is refused."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from sma_gpu import CaseBatch, Dials, Index, flat_case, mount, ontology_from_parents
from sma_gpu.cases.model import Case, Entity, Predicate, Statement
from sma_gpu.errors import CaseError, DialError, QueryError, ShapeError, SmaError, UnknownKey
from sma_gpu.trust.assimilation import Members
from sma_gpu.trust.generalisations import Generalisations

PARENTS = {
    "EX:root": [],
    "EX:limb": ["EX:root"],
    "EX:eye": ["EX:root"],
    "EX:heart": ["EX:root"],
    "EX:finger": ["EX:limb"],
    "EX:long": ["EX:finger"],
    "EX:short": ["EX:finger"],
    "EX:lens": ["EX:eye"],
    "EX:loose": ["EX:lens"],
    "EX:cloudy": ["EX:lens"],
    "EX:aorta": ["EX:heart"],
    "EX:rash": ["EX:root"],
    "EX:cough": ["EX:root"],
}
MOUNTED = mount(ontology_from_parents(PARENTS))
FILLERS = {f"z{i}": "rash" for i in range(6)}  # so that what the others state is rare


def batch(cases: dict[str, str]) -> CaseBatch:
    number = MOUNTED.number
    return CaseBatch.from_functors(
        list(cases), [[number[f"EX:{t}"] for t in terms.split()] for terms in cases.values()]
    )


def index(cases: dict[str, str]) -> Index:
    return Index.build(batch(cases), MOUNTED)


def told(found: Generalisations) -> dict[str, dict[str, float]]:
    """Returns by the members, in one text, the probability of each term."""
    return {
        " ".join(one.members): dict(zip((t.removeprefix("EX:") for t in one.terms), one.probabilities, strict=True))
        for one in found
    }


def unexplained(found: Generalisations, query: str, without: Sequence[int] = ()) -> float:
    return float(found.unexplained(batch({"": query}), [list(without)])[0])


def test_a_term_holds_for_the_share_of_the_members_that_state_it() -> None:
    found = Generalisations.build(
        index({"a": "long loose", "b": "long loose", "c": "long aorta", **FILLERS}), threshold=0.3
    )
    assert told(found)["a b c"] == {"long": 1.0, "loose": 2 / 3, "aorta": 1 / 3}
    assert told(found)["z0 z1 z2 z3 z4 z5"] == {"rash": 1.0}
    assert found.outliers == ()


def test_siblings_become_their_parent_where_that_keeps_more() -> None:
    found = Generalisations.build(index({"a": "long loose", "b": "short loose", **FILLERS}), threshold=0.3)
    assert told(found)["a b"] == {"finger": 1.0, "loose": 1.0}


def test_a_term_stays_where_its_ancestor_would_keep_less() -> None:
    """Four members with 1.46 bits each tell more than five with the 1.14 of the parent."""
    cases = {f"a{i}": "long loose" for i in range(4)} | {"b": "short loose", **FILLERS}
    found = Generalisations.build(index(cases), threshold=0.3)
    assert told(found)["a0 a1 a2 a3 b"] == {"long": 0.8, "short": 0.2, "loose": 1.0}


def test_a_broader_term_takes_the_narrower_in() -> None:
    found = Generalisations.build(index({"a": "finger loose", "b": "long loose", **FILLERS}), threshold=0.3)
    assert told(found)["a b"] == {"finger": 1.0, "loose": 1.0}


def test_a_member_counts_once_for_a_term_that_stands_for_two_of_its_statements() -> None:
    cases = batch({"a": "long short", "b": "long loose", "c": "rash"})
    finger, loose = MOUNTED.number["EX:finger"], MOUNTED.number["EX:loose"]
    terms = np.where(cases.functors == loose, loose, finger).astype(np.int32)
    entries = Members(cases, np.zeros(3, np.int32), terms).entries()
    assert dict(zip(entries.terms.tolist(), entries.counts.tolist(), strict=True)) == {finger: 3, loose: 1}
    assert entries.sizes.tolist() == [3]
    assert entries.probabilities.max() == 1.0


def test_who_found_nothing_asks_no_more() -> None:
    """All ten ask; ``c`` and four fillers, whose wish went elsewhere, ask again; the outlier does not."""
    cases = {"a": "long loose", "b": "long loose", "c": "long loose aorta", "o": "cough", **FILLERS}
    found = Generalisations.build(index(cases), threshold=0.3)
    assert (found.effort.rounds, found.effort.asked) == (2, 10 + 5)
    assert found.outliers == ("o",)


def test_at_threshold_one_only_equals_come_together() -> None:
    found = Generalisations.build(
        index({"a": "long loose", "b": "long", "c": "long loose", "d": "short loose"}), threshold=1.0
    )
    assert told(found) == {"a c": {"long": 1.0, "loose": 1.0}}
    assert found.outliers == ("b", "d")


def test_a_sibling_is_not_unknown() -> None:
    """The published pool matches a term with itself alone, and finds a sibling wholly new."""
    found = Generalisations.build(index({"a": "long loose", "b": "long loose", **FILLERS}), threshold=0.3)
    assert unexplained(found, "long loose") == 0.0
    assert 0.0 < unexplained(found, "short loose") < 0.6
    assert unexplained(found, "aorta") > 0.3


def test_what_is_unexplained_goes_by_the_probability() -> None:
    found = Generalisations.build(index({"a": "long loose", "b": "long aorta", **FILLERS}), threshold=0.1)
    assert told(found)["a b"] == {"long": 1.0, "loose": 0.5, "aorta": 0.5}
    assert unexplained(found, "loose") == pytest.approx(0.5, abs=1e-4)
    assert unexplained(found, "loose aorta") == pytest.approx(0.5, abs=1e-4)
    assert unexplained(found, "long loose") == pytest.approx(0.5 * 3.0 / (3.0 + 2.0), abs=1e-4)  # in 1 of 8, in 2 of 8


def test_outliers_explain_nothing() -> None:
    found = Generalisations.build(index({"a": "long", "b": "loose", "c": "aorta"}), threshold=0.9)
    assert len(found) == 0
    assert unexplained(found, "long") == 1.0


def test_a_query_without_bits_leaves_nothing_unexplained() -> None:
    found = Generalisations.build(index({"a": "long loose", "b": "long loose"}))
    assert unexplained(found, "root") == 0.0
    assert found.unexplained(batch({})).tolist() == []


def test_who_does_not_count_is_taken_out_of_the_shares() -> None:
    cases = {"a": "long loose", "b": "long loose", "c": "long aorta", **FILLERS}
    found = Generalisations.build(index(cases), threshold=0.3)
    assert "a b c" in told(found)
    assert unexplained(found, "loose") == pytest.approx(1 / 3, abs=1e-4)
    assert unexplained(found, "loose", [0]) == pytest.approx(1 / 2, abs=1e-4)
    assert unexplained(found, "loose", [2]) == 0.0
    assert unexplained(found, "long aorta", [0, 1]) == 1.0  # one is left, which is no generalisation
    queries = batch({"x": "loose", "y": "loose"})
    assert found.unexplained(queries, [[2], []]).tolist() == [0.0, unexplained(found, "loose")]


def test_an_outlier_founds_a_generalisation_with_the_most_similar_newcomer() -> None:
    before = index({"m": "long loose aorta", **FILLERS})
    found = Generalisations.build(before, threshold=0.5)
    assert found.outliers == ("m",)
    later = found.add(before.add(batch({"a": "long loose", "b": "long loose aorta", "c": "cloudy"})))
    assert told(later)["a b m"] == {"long": 1.0, "loose": 1.0, "aorta": 2 / 3}
    assert later.outliers == ("c",)
    assert found.outliers == ("m",)  # the one before stays as it was


def test_the_most_similar_newcomer_comes_first_and_may_shut_out_another() -> None:
    """Both lack one term of the outlier; what ``b`` lacks is the less rare, and together they would be too unlike."""
    before = index({"m": "long loose aorta rash", "y": "long", **{f"z{i}": "cough" for i in range(6)}})
    found = Generalisations.build(before, threshold=0.7)
    assert found.outliers == ("m", "y")
    later = found.add(before.add(batch({"a": "long loose aorta", "b": "loose aorta rash"})))
    assert "b m" in told(later)
    assert later.outliers == ("a", "y")


def test_added_to_nothing_is_built() -> None:
    whole = index({"a": "long loose", "b": "short loose", "c": "aorta cloudy", **FILLERS})
    built = Generalisations.build(whole)
    added = Generalisations.build(index({})).add(whole)
    assert told(added) == told(built) != {}
    assert added.outliers == built.outliers
    again = added.add(whole)
    assert told(again) == told(added)
    assert again.effort == added.effort


def test_what_cannot_be_done_is_refused() -> None:
    cases = index({"a": "long loose", "b": "long"})
    found = Generalisations.build(cases)
    for threshold in (0.0, 1.1, -1.0, float("nan")):
        with pytest.raises(QueryError, match="no share"):
            Generalisations.build(cases, threshold=threshold)
    for dials in (Dials.evidence(), Dials.adapter_v1()):
        with pytest.raises(DialError, match="both ways round"):
            Generalisations.build(cases, dials=dials)
    with pytest.raises(UnknownKey, match="lacks a"):
        found.add(cases.remove(["a"]))
    with pytest.raises(CaseError, match="other terms"):
        found.add(cases.update(batch({"a": "short"})))
    queries = batch({"": "long"})
    with pytest.raises(ShapeError, match="for 2"):
        found.unexplained(queries, [[0], [1]])
    with pytest.raises(ShapeError, match="there are 2 cases"):
        found.unexplained(queries, [[2]])
    with pytest.raises(CaseError, match="functor"):
        found.unexplained(CaseBatch.from_functors([""], [[10_000]]))


def test_cases_with_structure_are_refused() -> None:
    one, other = Entity("one", "thing"), Entity("other", "thing")
    nested = Case("n", (Statement(Predicate("EX:long", 2), (one, other)),))
    packed = CaseBatch.from_cases([nested, flat_case("f", ["EX:loose"])], MOUNTED)
    with pytest.raises(SmaError, match="structure"):
        Generalisations.build(Index.build(packed, MOUNTED))
    with pytest.raises(CaseError, match="structure"):
        Generalisations.build(index({"a": "long"})).unexplained(packed)
