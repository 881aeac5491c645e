"""How far an answer rests on single terms: its fields on stability and separability, and their words.

Ranks are those of records among all that could be hits, as ``rank`` is, also where groups of records or genes are
ranked: a group stands where its best record stands, so its reruns are those of that record. Which hits one term can
reorder is looked at between each hit and the best ten records, so that it does not depend on how many hits are shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..cases import CaseBatch, EncodedQuery
from ..retrieval.block import QueryBlock
from ..trust.stability import KINDS, Stability, stability_of
from .indexed import IndexedDomain
from .restriction import Restriction

__all__ = ["BEST", "Steady", "look", "of_answer", "of_hit", "steadiness_lines"]

BEST = 10  # best records that each hit is held against
_SHOWN = 3  # keys in a line of text; --json has them all


class Steady(NamedTuple):
    """How the hits of ``B`` queries fare when one term is changed.

    Attributes:
        found: of the hits shown, and behind them of the best records that are not shown.
        cases: int32 ``[B, K]``, numbers of all these, -1 where there is none.
        best: int32 ``[B, 10]``, numbers of the best records, likewise.
    """

    found: Stability
    cases: npt.NDArray[np.int32]
    best: npt.NDArray[np.int32]


def look(
    source: IndexedDomain,
    queries: Sequence[EncodedQuery],
    block: QueryBlock,
    shown: npt.NDArray[np.int32],
    runs: int,
    seed: int,
    restriction: Restriction | None,
) -> Steady | None:
    """Returns how the hits of queries fare when one term is changed; None where no reruns are asked.

    Args:
        source: the domain asked.
        queries: ``B`` of them.
        block: the same, opened.
        shown: int32 ``[B, K]``, numbers of their hits, -1 where there is none.
        runs: reruns of each, 0 for none.
        seed: what they are drawn from.
        restriction: the only cases that can be hits; all where it is None.
    """
    if not runs:
        return None
    best = block.top(min(BEST, len(source.index))).cases.astype(np.int32)
    beyond = [[c for c in row if c not in held] for row, held in zip(best.tolist(), shown.tolist(), strict=True)]
    width = max(map(len, beyond), default=0)
    padded = np.array([row + [-1] * (width - len(row)) for row in beyond], np.int32).reshape(len(shown), width)
    cases = np.concatenate([shown, padded], axis=1)
    present, excluded = [query.present for query in queries], [query.excluded for query in queries]
    found = stability_of(
        source.index,
        CaseBatch.from_functors([""] * len(queries), present, excluded),
        cases,
        runs=runs,
        seed=seed,
        among=None if restriction is None else restriction.wanted,
        backend=source.backend_asked,
        device=source.device,
    )
    return Steady(found, cases, best)


def of_answer(steady: Steady | None, query: int, runs: int, seed: int) -> dict[str, Any]:
    """Returns the field of an answer on its reruns; no field where none were asked.

    Args:
        steady: made by ``look``; None where there are no hits to look at.
        query: row of the query in it.
        runs: reruns asked, 0 for none.
        seed: what they are drawn from.
    """
    if not runs:
        return {}
    made = [0] * len(KINDS) if steady is None else steady.found.kinds[query].tolist()
    kinds = dict(zip(KINDS, made, strict=True))
    return {"stability": {"asked": runs, "runs": sum(made), "seed": seed, "kinds": kinds}}


def of_hit(source: IndexedDomain, steady: Steady | None, query: int, place: int) -> dict[str, Any]:
    """Returns the fields of the hit shown at a place; none where no reruns were asked."""
    if steady is None:
        return {}
    found = steady.found
    runs, ranked = int(found.runs[query]), int(found.ranked[query, place])
    alike = set(steady.cases[query, found.separability.reorders[query, place]].tolist())
    return {
        "stability": {
            "runs": runs,
            "top1": float(found.first_share[query, place]) if runs else None,
            "top5": float(found.first_five_share[query, place]) if runs else None,
            "best": int(found.best[query, place]) if ranked else None,
            "worst": int(found.worst[query, place]) if ranked else None,
            "unranked": runs - ranked,
        },
        "not_separable": [source.index.keys[case] for case in steady.best[query].tolist() if case in alike],
    }


def steadiness_lines(hit: Mapping[str, Any]) -> list[str]:
    """Returns what the fields of a hit say, in words; nothing where it has none."""
    if "stability" not in hit:
        return []
    told = hit["stability"]
    runs, best, worst = told["runs"], told["best"], told["worst"]
    lines = []
    if not runs:
        lines.append("no rerun with one term changed is possible")
    elif best is None:
        lines.append(f"without a rank in all of {runs} reruns with one term changed")
    else:
        first, five = (round(told[share] * runs) for share in ("top1", "top5"))
        place = f"first in {first}" if best == 1 else f"among the first 5 in {five}"
        ranks = f"rank {best}" if best == worst else f"ranks {best} to {worst}"
        lost = f", and in {told['unranked']} without one" if told["unranked"] else ""
        lines.append(f"{place} of {runs} reruns with one term changed; {ranks}{lost}")
    if hit["not_separable"]:
        keys = hit["not_separable"]
        more = f" and {len(keys) - _SHOWN} more" if len(keys) > _SHOWN else ""
        lines.append(f"one term at most tells it from {', '.join(keys[:_SHOWN])}{more}")
    return lines
