"""Every example in a docstring is true."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import sma_gpu

# The peer-exact arm needs the bench extra, and Triton's device code needs Triton; __main__ modules run on import.
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(sma_gpu.__path__, "sma_gpu.")
    if not module.name.endswith(("__main__", ".arms.adapter_v1", ".triton.select"))
)


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_there_are_examples_to_run() -> None:
    finder = doctest.DocTestFinder()
    examples = sum(len(t.examples) for name in MODULES for t in finder.find(importlib.import_module(name)))
    assert examples > 30
