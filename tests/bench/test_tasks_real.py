"""All tasks on the real files: as many as their sources say, and nothing that gives an answer away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from sma_gpu.bench.tasks.registry import ENTRIES, QUICK, available, load
from sma_gpu.bench.tasks.task import Task
from sma_gpu.ontologies.domains import open_domain

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def real(shared_data: Path) -> Iterator[Callable[[str], Task]]:
    """Loads a task of the shared files, once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SMA_GPU_DATA", str(shared_data))
        yield cache(load)


@dataclass(frozen=True)
class Counts:
    """What the sources say of a task; ``items`` None where they do not."""

    items: int | None
    questions: int
    clusters: int | None = None


COUNTS = {
    "patients/leak-free": Counts(12679, 2619, 205),
    "patients/leaked": Counts(12679, 6462 - 2619),
    "patients/all": Counts(12679, 8077, 679),
    "pheval/lirical-leak-free": Counts(12679, 184),
    "pheval/lirical-leaked": Counts(12679, 201),
    "pheval/structural-variants": Counts(12679, 186),
    "attack/campaigns": Counts(168, 21),  # 24 lines on 23 campaigns, two of groups without techniques of their own
    "attack/emulation-plans": Counts(168, 10),
    "attack/reports": Counts(168, 21),
    "attack/reports-anyone": Counts(None, 55),
    "attack/flows": Counts(168, 15),
    "attack/flows-anyone": Counts(None, 21),
    "attack/flow-to-flow": Counts(38, 9, 4),
    "attack/flow-to-flow-ordered": Counts(38, 9, 4),
    "attack/gained-long": Counts(None, 18),
    "attack/gained-short": Counts(None, 10),
    "genomics/orthologs": Counts(7465, 4776),
    "genomics/gained": Counts(None, 1810),
    "patents/continuations": Counts(15965, 188),
    "filings/a-year-later": Counts(1308, 317),
}


@pytest.mark.parametrize("name", COUNTS)
def test_a_task_has_what_its_sources_say(name: str, real: Callable[[str], Task]) -> None:
    assert available(name) == ""
    task, counts = real(name), COUNTS[name]
    assert len(task.questions) == counts.questions
    assert counts.items in (None, len(task.items))
    assert counts.clusters in (None, len({one.cluster for one in task.questions}))
    assert all(one.gold for one in task.questions) or name == "patients/all"
    assert all(one.query.term_ids and one.query.text for one in task.questions)
    assert all(item.term_ids and item.text for item in task.items)
    known = set(task.setting.mounted.ids)
    assert known >= {term for one in task.questions for term in (*one.query.term_ids, *one.query.excluded)}
    assert known >= {term for item in task.items for term in item.term_ids}


def test_a_real_curation_is_told_from_its_inheritance(real: Callable[[str], Task]) -> None:
    task = real("patients/ddg2p")
    assert (len(task.questions), len({one.cluster for one in task.questions})) == (1190, 1096)
    assert task.counts["queries whose disease has no annotations here"] == 34
    terms = {term for one in task.questions for term in one.query.term_ids}
    assert "HP:0000007" not in terms and task.counts["observed terms of a kind that no record has"] > 1000


def test_who_leaks_is_whom_the_file_calls_so(real: Callable[[str], Task]) -> None:
    # The file says so of its own lines; the task asks the annotations.
    slices = Counter(part for one in real("patients/all").questions for part in one.slices)
    assert slices == {"leaked": 6462 - 2619, "leak-free": 2619}
    assert sum(not one.gold for one in real("patients/all").questions) == 8077 - 6462


def test_terms_gained_are_asked_of_the_old_release(real: Callable[[str], Task]) -> None:
    for name, day in (("attack/gained-long", "2023-11-10"), ("attack/gained-short", "2024-11-11")):
        task = real(name)
        assert task.setting.mounted.ontology.version == day
        old = {item.key: set(item.term_ids) for item in task.items}
        shared = [len(set(one.query.term_ids) & old[one.gold[0]]) for one in task.questions]
        assert not any(shared) and all("nothing-shared" in one.slices for one in task.questions)
    task = real("genomics/gained")
    assert task.setting.mounted.ontology.version == "2019-01-27"
    old = {item.key: set(item.term_ids) for item in task.items}
    assert not any(set(one.query.term_ids) & old[one.gold[0]] for one in task.questions)


def test_no_question_finds_its_own_record(real: Callable[[str], Task]) -> None:
    for one in real("patents/continuations").questions:
        assert one.without == (one.id,) and one.id not in one.gold
    for name in ("attack/flow-to-flow", "attack/flow-to-flow-ordered"):
        assert all(one.without == (one.id,) for one in real(name).questions)
    filings = real("filings/a-year-later")
    assert not {item.key for item in filings.items} & {one.id for one in filings.questions}
    campaigns = {item.key for item in real("attack/campaigns").items}
    assert all(key.startswith("G") for key in campaigns)


def test_what_names_the_answer_is_not_asked(real: Callable[[str], Task], shared_data: Path) -> None:
    titles = {item.key: item.meta["name"] for item in real("patents/continuations").items}
    for one in real("patents/continuations").questions:
        assert titles[one.id] not in one.query.text
    for one in real("attack/flow-to-flow").questions:
        assert one.id.casefold() not in one.query.text.casefold()
    assert not any(item.text.startswith(item.key) for item in real("attack/flow-to-flow").items)


def test_an_industry_is_sought_without_the_company(real: Callable[[str], Task]) -> None:
    task = real("filings/industry")
    assert len(task.items) == 1308 and len(task.questions) == 291
    sic = {item.key: item for item in task.items}
    assert all(
        one.without and not set(one.without) & set(one.gold) and set(one.gold) <= sic.keys() for one in task.questions
    )


def test_order_is_all_that_the_ordered_flows_add(real: Callable[[str], Task]) -> None:
    flat, ordered = real("attack/flow-to-flow"), real("attack/flow-to-flow-ordered")
    assert [(one.id, one.gold) for one in flat.questions] == [(one.id, one.gold) for one in ordered.questions]
    for plain, told in zip(flat.items, ordered.items, strict=True):
        assert set(told.term_ids) - set(plain.term_ids) <= {"precedes"}
        assert set(plain.term_ids) <= set(told.term_ids)


def test_a_published_domain_that_was_not_published_on_these_files_is_there_all_the_same(
    real: Callable[[str], Task],
) -> None:
    sizes = {
        name: len(real(f"published/{name}").items) for name in ("medicine", "cyber", "genomics", "legal", "finance")
    }
    assert sizes == {"medicine": 1800, "cyber": 75, "genomics": 1800, "legal": 1800, "finance": 26}
    every = real("published/medicine-all")
    assert (len(every.items), len(every.questions), len(set(every.rules["equal"].values()))) == (12680, 200, 12308)


def test_a_quick_load_asks_less_of_as_much(real: Callable[[str], Task]) -> None:
    whole, quick = real("patients/leak-free"), load("patients/leak-free", quick=True)
    assert quick.items == whole.items and len(quick.questions) == QUICK
    order = {one.id: at for at, one in enumerate(whole.questions)}
    places = [order[one.id] for one in quick.questions]
    assert places == sorted(places) and quick.questions == load("patients/leak-free", quick=True).questions
    assert quick.counts["questions not asked quickly"] == 2619 - QUICK


def test_every_task_is_available_with_the_shared_files(real: Callable[[str], Task]) -> None:
    open_domain("medicine")
    absent = {name: why for name in ENTRIES if (why := available(name))}
    assert not {name for name in absent if not name.startswith("ssb/published")}, absent
