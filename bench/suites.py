"""Suites: which arms are asked which tasks, and what is compared by which measure, fixed before a run.

Each is a file in ``prereg/``. What a run may not choose afterwards stands there: families of comparisons, seeds,
measures, correction.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from ..errors import QueryError
from .figures import MEASURES
from .tasks.task import STRICT

__all__ = ["Family", "Suite", "Table", "suite", "suite_names"]


_FOLDER = files(__package__).joinpath("prereg")


@dataclass(frozen=True)
class Family:
    """Comparisons that are corrected together.

    Attributes:
        rule: hit rule.
        slice: name of a slice, or empty for all questions.
        measures: by which our arm is compared with each control.
    """

    rule: str
    slice: str
    measures: tuple[str, ...]


@dataclass(frozen=True)
class Table:
    """One task, its seeds taken together.

    Attributes:
        task: name of the task.
        seeds: of its draws; those of the task itself where empty.
        rules: hit rules that are shown.
        slices: slices that are shown, beside all questions.
        families: what is confirmed.
    """

    task: str
    seeds: tuple[int, ...]
    rules: tuple[str, ...]
    slices: tuple[str, ...]
    families: tuple[Family, ...]


@dataclass(frozen=True)
class Suite:
    """What one run does.

    Attributes:
        name: of the file.
        words: what it asks, in a sentence.
        seed: of the bootstrap.
        ours: the arm that is compared with the controls.
        controls: arms that it is compared with.
        others: arms that are shown without being compared.
        slow: arms that a quick run leaves out, and says so.
        tables: in the order in which they are shown.
    """

    name: str
    words: str
    seed: int
    ours: str
    controls: tuple[str, ...]
    others: tuple[str, ...]
    slow: tuple[str, ...]
    tables: tuple[Table, ...]

    @property
    def arms(self) -> tuple[str, ...]:
        """All arms, ours first."""
        return (self.ours, *self.controls, *self.others)


def suite_names() -> tuple[str, ...]:
    """Returns the names of all suites, in order."""
    found = (entry.name for entry in _FOLDER.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))


@cache
def suite(name: str) -> Suite:
    """Returns a suite.

    Raises:
        QueryError: there is none of this name, or its file does not say what a suite must.
    """
    if name not in suite_names():
        raise QueryError(f"suite {name}", "there is none", f"The suites are {', '.join(suite_names())}.")
    told = tomllib.loads(_FOLDER.joinpath(f"{name}.toml").read_text(encoding="utf-8"))
    try:
        return Suite(
            name, told["words"], told["seed"], told["ours"], tuple(told["controls"]), tuple(told.get("others", ())),
            tuple(told.get("slow", ())), tuple(_table(name, table) for table in told["table"]),
        )  # fmt: skip
    except KeyError as missing:
        raise QueryError(f"suite {name}", f"its file lacks {missing}", "Say it there, before the run.") from missing


def _table(name: str, told: Mapping[str, Any]) -> Table:
    families = tuple(
        Family(family.get("rule", STRICT), family.get("slice", ""), tuple(family["measures"]))
        for family in told.get("family", ())
    )
    for family in families:
        strange = sorted(set(family.measures) - set(MEASURES))
        if strange:
            raise QueryError(f"suite {name}", f"no measure is called {strange[0]}", f"There are {', '.join(MEASURES)}.")
    return Table(
        told["task"], tuple(told.get("seeds", ())), tuple(told.get("rules", (STRICT,))),
        tuple(told.get("slices", ())), families,
    )  # fmt: skip
