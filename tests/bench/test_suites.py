"""Suites name arms, tasks and measures that exist, and say before a run what a run may not choose."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from sma_gpu.bench import suites
from sma_gpu.bench.arms.registry import find
from sma_gpu.bench.figures import MEASURES
from sma_gpu.bench.suites import Suite, suite, suite_names
from sma_gpu.bench.tasks import registry as tasks
from sma_gpu.errors import QueryError

NAMES = suite_names()


def test_there_is_a_suite_for_each_part() -> None:
    assert set(NAMES) >= {"published", "ladder", "patients", "attack", "genomics", "patents", "filings", "ssb"}


@pytest.mark.parametrize("name", NAMES)
def test_a_suite_names_what_exists_and_each_thing_once(name: str) -> None:
    of = suite(name)
    assert of.words and of.tables
    assert len(set(of.arms)) == len(of.arms)
    assert len({table.task for table in of.tables}) == len(of.tables)
    # A quick run confirms nothing by itself against arms that encode sentences: it says that it left them out.
    encoders = {"dense-text", "dense-terms", "hybrid-rrf", "hybrid-reranked", "phrase-graph-synonyms"}
    assert set(of.slow) <= {*of.others, *encoders}
    for arm in of.arms:
        assert find(arm).name == arm
        assert ":" not in arm
    for table in of.tables:
        assert tasks.entry(table.task).name == table.task
        for family in table.families:
            assert family.measures and set(family.measures) <= set(MEASURES)
            assert family.rule in table.rules
            assert family.slice in ("", *table.slices)


@pytest.mark.parametrize("name", NAMES)
def test_no_two_suites_draw_alike(name: str) -> None:
    assert [other for other in NAMES if suite(other).seed == suite(name).seed] == [name]


def test_every_control_but_those_of_a_ladder_is_an_arm_of_someone_else() -> None:
    kinds = {"ladder": {"ladder"}}
    for name in NAMES:
        found = {find(arm).kind for arm in suite(name).controls}
        assert found <= kinds.get(name, {"text", "ontology"}), name


def test_what_is_in_a_file_is_in_the_suite(toy_suite: Suite) -> None:
    assert suite_names() == ("toy",)
    assert toy_suite.arms == ("toy_suite:Near", "toy_suite:Far", "no-such-weights")
    (table,) = toy_suite.tables
    assert (table.task, table.rules, table.slices, table.seeds) == (
        "toy/plain", ("strict", "pairs", "not-there"), ("tail",), (),
    )  # fmt: skip
    assert [(f.rule, f.slice, f.measures) for f in table.families] == [("strict", "", ("top1", "top5"))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('words = "x"\nseed = 1\nours = "a"\n', "its file lacks 'controls'"),
        ('words = "x"\nseed = 1\nours = "a"\ncontrols = []\n', "its file lacks 'table'"),
        ('words = "x"\nseed = 1\nours = "a"\ncontrols = []\n[[table]]\n', "its file lacks 'task'"),
        (
            'words = "x"\nseed = 1\nours = "a"\ncontrols = []\n[[table]]\ntask = "t"\n[[table.family]]\n'
            'measures = ["top3000"]\n',
            "no measure is called top3000",
        ),
    ],
)
def test_a_suite_that_leaves_something_open_is_refused(toy_suite: Suite, tmp_path: Path, text: str, found: str) -> None:
    (tmp_path / "prereg" / "open.toml").write_text(text, encoding="utf-8")
    with pytest.raises(QueryError, match=found):
        suite("open")


def test_a_suite_that_there_is_not_is_refused_with_those_that_there_are(toy_suite: Suite) -> None:
    with pytest.raises(QueryError, match=r"suite tyo: there is none.*The suites are toy\."):
        suite("tyo")


def test_every_file_in_the_folder_is_toml() -> None:
    folder = files(suites.__package__).joinpath("prereg")
    for place in folder.iterdir():
        tomllib.loads(place.read_text(encoding="utf-8"))
