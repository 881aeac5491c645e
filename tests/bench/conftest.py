"""The toy suite, as a fixture."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import toy_suite as toy

from sma_gpu.bench import suites
from sma_gpu.bench.arms import registry as arms
from sma_gpu.bench.tasks import registry as tasks
from sma_gpu.bench.tasks.entry import Entry


@pytest.fixture
def toy_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[suites.Suite]:
    """The suite ``toy``, found by its name as those of the package are; one of its arms needs weights that are nowhere.

    The suites of the package are not found meanwhile.
    """
    folder = tmp_path / "prereg"
    folder.mkdir()
    (folder / "toy.toml").write_text(toy.SUITE, encoding="utf-8")
    lacking = arms.Entry("no-such-weights", "toy_suite:Near", "lacks", ("no-such-package",), "pip install weights")
    monkeypatch.setattr(suites, "_FOLDER", folder)
    monkeypatch.setattr(arms, "ARMS", (*arms.ARMS, lacking))
    monkeypatch.setitem(tasks.ENTRIES, "toy/plain", Entry("toy/plain", "A toy task.", (), toy.toy_task, seeds=(1, 2)))
    suites.suite.cache_clear()
    toy.asked.clear()
    yield suites.suite("toy")
    suites.suite.cache_clear()
