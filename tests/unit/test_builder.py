"""The shared rules of every reader: what the builder makes of missing, doubled, retired and circular ids."""

from __future__ import annotations

import subprocess
import sys
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sma_gpu.errors import CycleFound, OntologyError, ParseError
from sma_gpu.ontologies.builder import OntologyBuilder, ontology_from_parents
from sma_gpu.ontologies.compiled import ontology_to_arrays
from sma_gpu.ontologies.graph import circle, components, is_circular
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.report import LoadReport


def builder(*terms: str) -> OntologyBuilder:
    made = OntologyBuilder(LoadReport("made by hand"))
    for line, term in enumerate(terms, 1):
        made.define(term, line)
    return made


def frozen(made: OntologyBuilder) -> Ontology:
    return made.freeze(name="ex", version="1", sha256="0" * 64)


def kinds(ontology: Ontology) -> list[tuple[str, str, tuple[int, ...], tuple[str, ...]]]:
    return [(e.severity, e.kind, e.lines, e.ids) for e in ontology.report]


def retire(made: OntologyBuilder, term: str, *successors: str, consider: tuple[str, ...] = ()) -> None:
    made.define(term, 50)
    made.retire(term, 51)
    for line, successor in enumerate(successors, 52):
        made.add_replacement(term, successor, line)
    for other in consider:
        made.add_suggestion(term, other, 60)


def test_ids_are_in_code_point_order() -> None:
    found = frozen(builder("b:1", "B:1", "a:10", "a:2", "\u00e4:1", "a:1"))
    assert found.ids == ("B:1", "a:1", "a:10", "a:2", "b:1", "\u00e4:1")


def test_placeholders_come_once_with_all_their_lines() -> None:
    made = builder("A", "B")
    made.add_parent("A", "Y", 7)
    made.add_parent("B", "Y", 5)
    made.add_relation("B", "part_of", "Y", 9)
    made.add_relation("B", "part_of", "X", 9)
    made.declare_relation("part_of", "part of")
    found = frozen(made)
    assert found.ids == ("A", "B", "X", "Y")
    assert found.placeholder.tolist() == [False, False, True, True]
    assert found.live_count == 2
    assert kinds(found) == [
        ("warning", "undefined-term", (9,), ("X",)),
        ("warning", "undefined-term", (5, 7, 9), ("Y",)),
    ]
    assert found.roots == ()


def test_parents_are_a_sorted_set_and_a_self_loop_is_cut() -> None:
    made = builder("A", "B", "C")
    for line, parent in enumerate(["B", "A", "B", "C"], 10):
        made.add_parent("C", parent, line)
    found = frozen(made)
    assert found.term("C").parents == ("A", "B")
    assert found.parents.dtype == found.parent_ptr.dtype == np.int32
    assert kinds(found) == [("warning", "self-loop", (13,), ("C",))]


def test_a_cycle_is_refused_with_its_path() -> None:
    made = builder("A", "B", "C", "D", "E")
    for line, (child, parent) in enumerate([("E", "D"), ("D", "C"), ("C", "B"), ("B", "D"), ("B", "A")], 11):
        made.add_parent(child, parent, line)
    with pytest.raises(CycleFound) as refused:
        frozen(made)
    assert refused.value.cycle == ("B", "D", "C", "B")
    assert "B -> D -> C -> B" in str(refused.value)
    assert "(lines 12, 13, 14)" in str(refused.value)


def test_very_long_chains_and_cycles_need_no_recursion() -> None:
    size = 30000
    chain = {f"T{n:06}": [f"T{n + 1:06}"] for n in range(size)}
    assert len(ontology_from_parents({**chain, f"T{size:06}": []}).parents) == size
    with pytest.raises(CycleFound) as refused:
        ontology_from_parents({**chain, f"T{size:06}": ["T000000"]})
    assert len(refused.value.cycle) == size + 2
    assert len(str(refused.value)) < 500
    made = builder("A")
    for n in range(500):
        retire(made, f"R{n:04}", f"R{n + 1:04}" if n < 499 else "A")
    assert len(frozen(made).resolve("R0000").path) == 501


def test_doubled_stanzas_are_merged_with_one_note() -> None:
    made = builder("A", "B", "A", "A")
    made.set_name("A", "first", 1)
    made.set_name("A", "first", 3)
    made.set_name("A", "other", 4)
    made.set_definition("A", "one", ["x"], 1)
    made.set_definition("A", "one", ["x", "y"], 3)
    made.set_definition("A", "two", ["z"], 4)
    made.add_parent("A", "B", 5)
    made.add_parent("A", "B", 6)
    found = frozen(made)
    assert found.term("A").parents == ("B",)
    assert found.term("A").name == "first"
    assert (found.term("A").definition, found.term("A").references) == ("one", ("x", "y"))
    assert kinds(found) == [
        ("warning", "second-name", (4,), ("A",)),
        ("warning", "second-definition", (4,), ("A",)),
        ("note", "merged-stanzas", (1, 3, 4), ("A",)),
    ]


def test_a_stanza_retired_once_is_retired_with_a_warning() -> None:
    made = builder("A", "B", "B")
    made.retire("B", 4)
    found = frozen(made)
    assert found.resolve("B").status == "retired"
    assert [e[1] for e in kinds(found)] == ["merged-stanzas", "half-retired"]


def test_replacement_chains_of_all_kinds() -> None:
    made = builder("A", "B")
    made.add_alt_id("A", "OLD", 20)  # without a stanza
    retire(made, "R1", "R2")
    retire(made, "R2", "OLD")
    retire(made, "R3", "NOWHERE")
    retire(made, "R4", "R3")
    retire(made, "R5", "NOWHERE")
    made.add_alt_id("B", "R5", 21)  # the alternative id alone is enough
    found = frozen(made)
    assert found.resolve("OLD").path == ("OLD", "A")
    assert found.resolve("R1").path == ("R1", "R2", "OLD", "A")
    assert found.resolve("R1").index == found.number["A"]
    assert found.resolve("R3").path == ("R3",)
    assert found.resolve("R4").status == "retired"
    assert found.resolve("R5").path == ("R5", "B")
    assert found.retired["OLD"].is_alternative and not found.retired["OLD"].has_stanza
    assert found.retired["R5"].is_alternative and found.retired["R5"].has_stanza
    assert not found.retired["R1"].is_alternative
    assert (found.retired_count, len(found.retired)) == (5, 6)
    assert kinds(found) == [
        ("warning", "undefined-replacement", (52,), ("R3", "NOWHERE")),
        ("warning", "undefined-replacement", (52,), ("R5", "NOWHERE")),
    ]


def test_forks_are_not_resolved_but_listed() -> None:
    made = builder("A", "B", "C")
    retire(made, "R1", "B", "A")
    retire(made, "R2", "R1", consider=("C", "A"))
    made.add_alt_id("C", "SHARED", 20)
    made.add_alt_id("A", "SHARED", 21)
    retire(made, "R3", "SHARED")
    found = frozen(made)
    assert found.resolve("R1").status == "retired"
    assert found.resolve("R1").candidates == ("B", "A")
    assert found.resolve("R2").candidates == ("B", "A", "C")
    assert found.resolve("SHARED").candidates == ("A", "C")
    assert found.resolve("R3").candidates == ("A", "C")
    assert kinds(found) == [("warning", "shared-alternative", (20, 21), ("SHARED", "A", "C"))]


def test_replacements_that_lead_to_one_term_agree() -> None:
    made = builder("A")
    retire(made, "R1", "R2", "A")
    retire(made, "R2", "A")
    retire(made, "R3", "A", "NOWHERE")
    retire(made, "R4", "R4", "A")
    found = frozen(made)
    assert found.resolve("R1").path == ("R1", "R2", "A")
    assert found.resolve("R3").status == found.resolve("R4").status == "retired"
    assert found.resolve("R3").candidates == found.resolve("R4").candidates == ("A",)
    assert kinds(found) == [
        ("warning", "undefined-replacement", (53,), ("R3", "NOWHERE")),
        ("warning", "replacement-cycle", (52, 53), ("R4",)),
        ("note", "same-replacement", (52, 53), ("R1", "A")),
    ]


def test_circles_that_share_ids_are_one_fault() -> None:
    made = builder("A")
    retire(made, "R1", "R2")
    retire(made, "R2", "R3", "R1")
    retire(made, "R3", "R2", "A")
    found = frozen(made)
    assert [found.resolve(old).status for old in ("R1", "R2", "R3")] == ["retired"] * 3
    assert found.resolve("R3").candidates == ("A",)
    (warning,) = found.report
    assert (warning.kind, warning.ids) == ("replacement-cycle", ("R1", "R2", "R3"))
    assert "R1 -> R2 -> R1" in warning.message


def test_candidates_taken_over_along_a_chain_are_all_listed() -> None:
    made = builder(*(f"L{n:04}" for n in range(300)))
    for n in range(300):
        retire(made, f"R{n:04}", f"R{n + 1:04}", consider=(f"L{n:04}",))
    found = frozen(made)
    assert found.resolve("R0000").candidates == tuple(f"L{n:04}" for n in range(300))


def test_two_marks_that_disagree_are_not_resolved() -> None:
    made = builder("A", "B")
    retire(made, "R", "A")
    made.add_alt_id("B", "R", 20)
    found = frozen(made)
    assert found.resolve("R").status == "retired"
    assert found.resolve("R").candidates == ("A", "B")
    assert kinds(found) == [("warning", "replacement-conflict", (20, 52), ("R", "A", "B"))]


def test_two_marks_that_agree_by_a_chain_are_resolved() -> None:
    made = builder("A")
    retire(made, "R1", "R2")
    retire(made, "R2", "A")
    made.add_alt_id("A", "R1", 20)
    found = frozen(made)
    assert found.resolve("R1").path == ("R1", "R2", "A")
    assert len(found.report) == 0


def test_a_live_id_wins_over_being_an_alternative_id() -> None:
    made = builder("A", "B")
    made.add_alt_id("A", "B", 20)
    made.add_alt_id("A", "A", 21)
    found = frozen(made)
    assert found.resolve("B").status == "live"
    assert len(found.retired) == 0
    assert kinds(found) == [
        ("warning", "live-alternative", (20,), ("B", "A")),
        ("warning", "live-alternative", (21,), ("A", "A")),
    ]


def test_an_alternative_id_of_a_retired_term_goes_on_to_its_replacement() -> None:
    made = builder("A")
    retire(made, "R", "A")
    retire(made, "S", consider=("A",))
    made.add_alt_id("R", "OLD", 20)
    made.add_alt_id("S", "OLDER", 20)
    found = frozen(made)
    assert found.resolve("OLD").path == ("OLD", "R", "A")
    assert found.resolve("OLDER").status == "retired"
    assert found.resolve("OLDER").candidates == ("A",)


def test_replacement_cycles_are_cut_and_reported() -> None:
    made = builder("A", "B")
    retire(made, "R1", "R2")
    retire(made, "R2", "R1", consider=("B",))
    retire(made, "R3", "R3")
    retire(made, "R4", "R1")
    retire(made, "R5", "R6")
    retire(made, "R6", "R5")
    made.add_alt_id("A", "R6", 20)
    found = frozen(made)
    for old in ("R1", "R2", "R3", "R4"):
        assert found.resolve(old).status == "retired"
    assert found.resolve("R2").candidates == ("B",)
    assert found.resolve("R6").path == ("R6", "A")
    warned = [(e.kind, e.ids) for e in found.report]
    assert warned == [
        ("replacement-cycle", ("R1", "R2")),
        ("replacement-cycle", ("R3",)),
        ("replacement-cycle", ("R5", "R6")),
    ]


def test_suggestions_are_brought_to_today_and_never_followed() -> None:
    made = builder("A", "B", "C")
    retire(made, "R1", "A")
    retire(made, "FORK", "B", "C")
    retire(made, "OPEN", consider=("C",))
    retire(made, "ASK", consider=("FORK", "R1", "A", "OPEN", "UNKNOWN", "B"))
    retire(made, "DONE", "A", consider=("R1", "B"))
    found = frozen(made)
    assert found.resolve("ASK").candidates == ("B", "C", "A")
    assert found.resolve("ASK").used is None
    assert found.resolve("DONE").used == "A"
    assert found.resolve("DONE").candidates == ("B",)
    assert kinds(found) == [("note", "undefined-suggestion", (60,), ("ASK", "UNKNOWN"))]


def test_edges_to_retired_ids_are_drawn_to_todays_id_or_cut() -> None:
    made = builder("A", "B", "C")
    retire(made, "R1", "A")
    retire(made, "R2")
    made.add_alt_id("B", "OLD", 20)
    made.add_parent("C", "R1", 30)
    made.add_parent("C", "R2", 31)
    made.add_parent("C", "A", 32)
    made.add_parent("B", "OLD", 33)
    made.add_relation("C", "part_of", "OLD", 34)
    made.add_relation("C", "part_of", "R2", 35)
    made.declare_relation("part_of")
    found = frozen(made)
    assert found.ids == ("A", "B", "C")
    assert found.term("C").parents == ("A",)
    assert found.term("B").parents == ()
    assert found.term("C").relations == (("part_of", "B"),)
    assert kinds(found) == [
        ("warning", "retired-target", (33,), ("B", "OLD")),
        ("warning", "self-loop", (33,), ("B",)),
        ("warning", "retired-target", (30,), ("C", "R1", "A")),
        ("warning", "retired-target", (31,), ("C", "R2")),
        ("warning", "retired-target", (34,), ("C", "OLD", "B")),
        ("warning", "retired-target", (35,), ("C", "R2")),
    ]


def test_marks_on_the_wrong_kind_of_stanza() -> None:
    made = builder("A", "B")
    made.add_replacement("B", "A", 10)
    made.add_suggestion("B", "A", 11)
    retire(made, "R")
    made.add_parent("R", "A", 12)
    found = frozen(made)
    assert found.resolve("B").status == "live"
    assert kinds(found) == [
        ("warning", "replacement-of-live", (10,), ("B",)),
        ("note", "suggestion-of-live", (11,), ("B",)),
        ("warning", "edges-of-retired", (12,), ("R",)),
    ]


def test_no_live_term_is_refused() -> None:
    made = OntologyBuilder(LoadReport("f.obo"))
    retire(made, "R")
    with pytest.raises(ParseError) as refused:
        frozen(made)
    assert "1 retired" in refused.value.found
    assert len(ontology_from_parents({})) == 0


def test_everything_is_read_only() -> None:
    found = ontology_from_parents({"A": [], "B": ["A"]})
    with pytest.raises(ValueError):
        found.parents[0] = 1
    with pytest.raises(AttributeError):
        found.name = "x"  # type: ignore[misc]


def test_from_parents() -> None:
    found = ontology_from_parents({"A": [], "B": {"A"}, "C": ("A", "B")}, names={"A": "top"}, name="toy", version="3")
    assert (found.label, found.live_count, found.roots) == ("toy 3", 3, ("A",))
    assert found.term("C").parents == ("A", "B")
    assert (found.display(0), found.display(1)) == ("top", "B")
    assert len(found.report) == 0
    assert ontology_from_parents({"B": ["A"]}).report.warnings[0].ids == ("A",)


def test_from_parents_refuses_what_it_cannot_mean() -> None:
    with pytest.raises(TypeError):
        ontology_from_parents({"A": [], "B": "A"})
    with pytest.raises(OntologyError) as refused:
        ontology_from_parents({"A": []}, names={"Z": "last"})
    assert "Z" in refused.value.found


def test_the_sha_of_an_in_memory_ontology_is_that_of_its_content() -> None:
    one = ontology_from_parents({"A": [], "B": ["A"], "C": ["B", "A"]}, name="x")
    same = ontology_from_parents({"C": ["A", "B", "A"], "B": ["A"], "A": []}, name="y", version="2")
    assert one.sha256 == same.sha256
    others = [
        ontology_from_parents({"A": [], "B": ["A"], "C": ["B"]}),
        ontology_from_parents({"A": [], "B": ["A"], "C": ["B", "A"]}, names={"A": "a"}),
        ontology_from_parents({"A": [], "B": ["A"], "D": ["B", "A"]}),
    ]
    assert len({one.sha256, *(o.sha256 for o in others)}) == 4


def test_the_order_of_definition_changes_nothing() -> None:
    terms = {"A": [], "B": ["A"], "C": ["A", "X"], "D": ["B", "C"]}
    seen = set()
    for order in permutations(terms):
        arrays = ontology_to_arrays(ontology_from_parents({t: terms[t] for t in order}))
        seen.add(tuple((name, arrays[name].tobytes()) for name in sorted(arrays)))
    assert len(seen) == 1


def test_the_hash_seed_changes_nothing() -> None:
    program = """
import hashlib
from sma_gpu.ontologies.readers.obo import read_obo
from sma_gpu.ontologies.compiled import ontology_to_arrays
from sma_gpu.ontologies.search import nearest_ids, search
stanzas = []
for n in range(60):
    lines = ["[Term]", f"id: EX:{n:03}", f"name: name {n % 7}", f'synonym: "s {n % 5}" EXACT []']
    lines.append(f"alt_id: EX:9{n % 50:02}")
    lines += [f"is_a: EX:{m:03}" for m in range(n) if (n * m) % 5 == 1] + [f"relationship: r{n % 4} QQ:{n % 11}"]
    if n % 9 == 4:
        lines += ["is_obsolete: true", f"consider: EX:{n - 1:03}", f"consider: EX:{n - 2:03}"]
    stanzas.append("\\n".join(lines))
found = read_obo(("ontology: ex\\n\\n" + "\\n\\n".join(stanzas)).encode())
arrays = ontology_to_arrays(found)
digest = hashlib.sha256()
for name in sorted(arrays):
    digest.update(arrays[name].tobytes())
digest.update(repr((search(found, "s 1", 9), nearest_ids(found, "EX:0101", 9))).encode())
print(digest.hexdigest(), len(found.report))
"""
    root = str(Path(__file__).resolve().parent.parent.parent)
    outputs = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": root, "PATH": ""},
            capture_output=True,
            check=True,
            text=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(outputs) == 1


@given(st.dictionaries(st.integers(0, 30), st.sets(st.integers(0, 30), max_size=4), min_size=1, max_size=31))
def test_any_acyclic_relation_comes_back_as_it_went_in(edges: dict[int, set[int]]) -> None:
    parents = {f"T{child}": sorted(f"T{p}" for p in above if p < child) for child, above in edges.items()}
    found = ontology_from_parents(parents)
    assert {t: list(found.term(t).parents) for t in parents} == {t: sorted(p) for t, p in parents.items()}
    placeholders = {t for t, bare in zip(found.ids, found.placeholder, strict=True) if bare}
    assert placeholders == {p for above in parents.values() for p in above} - set(parents)


@given(st.dictionaries(st.integers(0, 8), st.sets(st.integers(0, 8), max_size=3), min_size=1, max_size=9))
def test_a_cycle_is_found_exactly_where_there_is_one(edges: dict[int, set[int]]) -> None:
    above = {child: {p for p in parents if p != child} for child, parents in edges.items()}
    reach = {child: set(parents) for child, parents in above.items()}
    for _ in range(10):
        reach = {c: ps.union(*(reach.get(p, set()) for p in ps)) for c, ps in reach.items()}
    circular = any(child in ancestors for child, ancestors in reach.items())
    parents = {f"T{child}": [f"T{p}" for p in sorted(ps)] for child, ps in edges.items()}
    if not circular:
        assert ontology_from_parents(parents).live_count == len(parents)
        return
    with pytest.raises(CycleFound) as refused:
        ontology_from_parents(parents)
    cycle = refused.value.cycle
    assert cycle[0] == cycle[-1]
    assert all(b in parents[a] for a, b in zip(cycle, cycle[1:], strict=False))


@given(st.lists(st.lists(st.integers(0, 7), max_size=3), min_size=8, max_size=8))
def test_components_are_those_of_reachability(steps: list[list[int]]) -> None:
    reach = [{n, *targets} for n, targets in enumerate(steps)]
    for _ in range(8):
        reach = [set().union(*(reach[m] for m in seen)) for seen in reach]
    found = components(steps)
    assert sorted(n for c in found for n in c) == list(range(8))
    place = {n: i for i, c in enumerate(found) for n in c}
    for a in range(8):
        for b in range(8):
            assert (place[a] == place[b]) == (a in reach[b] and b in reach[a])
            assert b not in steps[a] or place[b] <= place[a]
    for component in found:
        assert component == sorted(component)
        assert is_circular(component, steps) == any(set(component) & set(steps[n]) for n in component)
        if is_circular(component, steps):
            path = circle(component, steps)
            assert path[0] == path[-1] == min(path) and len(set(path)) == len(path) - 1
            assert all(b in steps[a] for a, b in zip(path, path[1:], strict=False))


@given(st.dictionaries(st.integers(0, 9), st.lists(st.integers(0, 12), max_size=2), max_size=10))
def test_replacements_agree_with_walking_by_hand(marks: dict[int, list[int]]) -> None:
    made = builder("T10", "T11")
    for old, successors in marks.items():
        made.define(f"T{old}")
        made.retire(f"T{old}")
        for successor in successors:
            made.add_replacement(f"T{old}", f"T{successor}")
    found = frozen(made)
    today = {10: 10, 11: 11}
    for _ in marks:
        for old, successors in marks.items():
            if successors and {today.get(s) for s in successors} in ({10}, {11}):
                today[old] = today[successors[0]]
    for old in marks:
        path = found.resolve(f"T{old}").path
        assert found.resolve(f"T{old}").used == (f"T{today[old]}" if old in today else None)
        assert path[0] == f"T{old}" and len(set(path)) == len(path)
        assert all(int(b[1:]) in marks[int(a[1:])] for a, b in zip(path, path[1:], strict=False))
