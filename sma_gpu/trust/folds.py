"""Folds that no group is cut by, the same for everybody who has the same groups."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch
from ..errors import CalibrationError, ShapeError

__all__ = ["grouped_folds", "join_alike"]


def grouped_folds(groups: Sequence[str], folds: int, seed: int) -> npt.NDArray[np.int64]:
    """Returns the fold of each question, int64 ``[Q]``, 0 to ``folds - 1``; questions of one group share one.

    The largest group comes first and each goes where fewest questions are. Groups of one size come in the order of the
    SHA-256 of seed and name, so that neither the order of the questions nor that of the names matters.

    Args:
        groups: ``Q`` names, such as the publication that a question was taken from.
        folds: two or more.
        seed: draws the order among groups of one size.

    Raises:
        CalibrationError: there are fewer groups than folds, or fewer than two folds are wanted.
    """
    sizes = Counter(groups)
    if folds < 2 or len(sizes) < folds:
        raise CalibrationError(
            f"cut {len(groups)} questions into {folds} folds",
            f"they are of {len(sizes)} groups, and a group is never cut" if folds > 1 else "one fold holds nothing out",
            "Give questions of more groups, or ask for fewer folds, two at least.",
        )
    filled = [0] * folds
    fold_of: dict[str, int] = {}
    for group in sorted(sizes, key=lambda name: (-sizes[name], _drawn(name, seed))):
        fold_of[group] = filled.index(min(filled))
        filled[fold_of[group]] += sizes[group]
    return np.array([fold_of[group] for group in groups], np.int64)


def join_alike(groups: Sequence[str], queries: CaseBatch) -> tuple[str, ...]:
    """Returns the group of each query, groups joined that hold queries which state the very same.

    Twins on both sides of a cut would let a fold be predicted from what it was to be kept from. A joined group is
    called by the first of its names by code point.

    Args:
        groups: ``Q`` names.
        queries: ``Q`` flat queries; what they exclude does not make them differ.

    Raises:
        ShapeError: there are not as many groups as queries, or the queries have structure.
    """
    if len(groups) != len(queries) or queries.structure is not None:
        raise ShapeError(
            f"join the groups of {len(queries)} queries",
            f"{len(groups)} groups" if len(groups) != len(queries) else "the queries have structure",
            "Give a group for each of some flat queries.",
        )
    above = {group: group for group in groups}

    def first_of(group: str) -> str:
        while above[group] != group:
            above[group] = group = above[above[group]]
        return group

    first_with: dict[bytes, str] = {}
    for number, group in enumerate(groups):
        content = queries.functors_of(number).tobytes()
        ends = first_of(group), first_of(first_with.setdefault(content, group))
        above[max(ends)] = min(ends)
    return tuple(first_of(group) for group in groups)


def _drawn(name: str, seed: int) -> tuple[bytes, str]:
    return hashlib.sha256(f"{seed}\0{name}".encode("utf-8", "surrogatepass")).digest(), name
