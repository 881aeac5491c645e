"""What kept rows rest on: an arm's answers are asked again once the sources that make them, or its models, changed."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from sma_gpu.bench import sources
from sma_gpu.bench.arms.registry import find
from sma_gpu.bench.sources import made_by

ARMS = ("structural", "ladder-ic-2", "adapter-v1-all-cases", "jaccard", "phrase-graph", "random")


@pytest.fixture
def copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The sources of the package as a copy that may be changed, which the sums are made of."""
    package = tmp_path / "sma_gpu"
    leave = shutil.ignore_patterns("__pycache__", "samples", "expected", "*.xz")
    shutil.copytree(sources._PACKAGE, package, ignore=leave)
    monkeypatch.setattr(sources, "_PACKAGE", package)
    clear()
    yield package
    clear()


def clear() -> None:
    sources._of_parts.cache_clear()
    sources._imported.cache_clear()


def changed(package: Path, file: str) -> set[str]:
    """Returns the arms that are asked again once a file has another line."""
    before = {name: made_by(find(name), {}) for name in ARMS}
    with (package / file).open("a", encoding="utf-8") as held:
        held.write("# changed\n")
    clear()
    return {name for name in ARMS if made_by(find(name), {}) != before[name]}


@pytest.mark.parametrize(
    ("file", "arms"),
    [
        ("ops/cpu_top.py", {"structural", "ladder-ic-2", "adapter-v1-all-cases"}),
        ("retrieval/search.py", {"structural", "ladder-ic-2", "adapter-v1-all-cases"}),
        ("kernels/triton/launch.py", {"structural", "ladder-ic-2", "adapter-v1-all-cases"}),
        ("lattice/lattice.py", set(ARMS)),
        ("scoring/scorers.py", set(ARMS)),
        ("ontologies/manifests/attack.toml", set(ARMS)),  # a domain's own dials
        ("bench/arms/held.py", set(ARMS)),
        ("bench/arms/similarity.py", {"jaccard"}),
        ("bench/arms/structural.py", {"structural", "ladder-ic-2", "adapter-v1-all-cases"}),
        ("bench/text_vectors.py", {"phrase-graph"}),
        ("bench/report.py", set()),
        ("answers/text.py", set()),
    ],
)
def test_what_is_changed_asks_those_again_that_stand_on_it(copied: Path, file: str, arms: set[str]) -> None:
    assert (copied / file).is_file()
    assert changed(copied, file) == arms


def test_the_sum_is_the_same_for_the_same_sources(copied: Path) -> None:
    first = [made_by(find(name), {}) for name in ARMS]
    clear()
    assert [made_by(find(name), {}) for name in ARMS] == first


def test_a_model_takes_part(tmp_path: Path) -> None:
    marks = []
    for place, content in (("one", "{}"), ("another", "{}"), ("changed", "{ }")):
        (tmp_path / place).mkdir()
        (tmp_path / place / "config.json").write_text(content, encoding="utf-8")
        told = made_by(find("dense-text"), {"embedding": str(tmp_path / place)})
        assert str(tmp_path) not in str(told)
        marks.append(told["model, embedding"])
    assert marks[0] == marks[1] != marks[2]  # what a model holds, not where
    assert not any(name.startswith("model") for name in made_by(find("structural"), {}))
