"""What every arm must do, as checks on a small made-up world; each failure is a finding in plain words."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...memory import IndexItem, Memory, Query
from ...ontologies.builder import ontology_from_parents
from ...ontologies.mount import mount
from .arm import Arm, OneByOne, Ranking, Setting
from .registry import find

__all__ = ["CHECKS", "Finding", "check_arm", "contract_record", "contract_text", "made_up_world"]

_PARENTS = {
    "EX:01": [], "EX:02": ["EX:01"], "EX:03": ["EX:01"], "EX:04": ["EX:01"], "EX:05": ["EX:02"], "EX:06": ["EX:02"],
    "EX:07": ["EX:03"], "EX:08": ["EX:03", "EX:02"], "EX:09": ["EX:04"], "EX:10": ["EX:04"], "EX:11": ["EX:05"],
    "EX:12": ["EX:05", "EX:07"], "EX:13": ["EX:06"], "EX:14": ["EX:08"], "EX:15": ["EX:08"], "EX:16": ["EX:09"],
    "EX:17": ["EX:10"], "EX:18": ["EX:12"], "EX:19": ["EX:14"], "EX:20": ["EX:16", "EX:17"],
}  # fmt: skip
_NAMES = (
    "finding", "finding of bone", "finding of heart", "finding of eye", "long bone", "short bone", "heart murmur",
    "bone near the heart", "opaque lens", "dry eye", "long thigh bone", "heart murmur with long bone", "short finger",
    "broken rib", "curved breastbone", "opaque lens from birth", "dry eye in the morning", "loud heart murmur",
    "broken lower rib", "dry opaque lens",
)  # fmt: skip


@dataclass(frozen=True)
class Finding:
    """A failure: which of ``CHECKS``, and what was seen."""

    check: str
    words: str


def made_up_world() -> tuple[Setting, list[IndexItem], list[Query]]:
    """Returns an ontology of 20 terms, 14 items in no order of keys, two of equal content, and 12 queries."""
    setting = Setting(
        mount(ontology_from_parents(_PARENTS, names=dict(zip(_PARENTS, _NAMES, strict=True)))), "made-up", 7
    )
    content = {
        "m": ["EX:11", "EX:07"], "c": ["EX:12"], "k": ["EX:13", "EX:16", "EX:09"], "a": ["EX:19"],
        "z": ["EX:20", "EX:11"], "t": ["EX:18", "EX:15"], "b": ["EX:05", "EX:03"], "twin-2": ["EX:14", "EX:17"],
        "f": ["EX:10"], "q": ["EX:06"], "twin-1": ["EX:14", "EX:17"], "e": ["EX:02", "EX:16"],
        "j": ["EX:07", "EX:13", "EX:15", "EX:20"], "h": ["EX:09"],
    }  # fmt: skip
    items = [IndexItem(key, terms) for key, terms in content.items()]
    items[2] = replace(items[2], frequencies={"EX:13": 0.2, "EX:16": 0.9}, excluded=["EX:07"])
    queries = [
        Query(["EX:11", "EX:07"]), Query(["EX:18"]), Query(["EX:14", "EX:17"]), Query(["EX:13", "EX:20", "EX:19"]),
        Query(["EX:08"]), Query(["EX:10", "EX:05"], excluded=["EX:13"]), Query(["EX:01"]), Query(["EX:16"]),
        Query(["EX:15", "EX:99"]), Query(["EX:06", "EX:07", "EX:09"]), Query([]), Query(["EX:98", "EX:99"]),
    ]  # fmt: skip
    return setting, items, queries


def check_arm(make: Callable[[Setting], Memory]) -> list[Finding]:
    """Returns what an arm does wrong, in the order of ``CHECKS``; an empty list for one that keeps the contract.

    Args:
        make: gives the arm with nothing in it. One that has the Memory protocol alone is asked query by query.
    """
    found = []
    for check, look in CHECKS.items():
        setting, items, queries = made_up_world()
        try:
            found += [Finding(check, words) for words in look(_Made(make, setting), items, queries)]
        except Exception as fault:  # noqa: BLE001, whatever an arm raises is a finding
            found.append(Finding(check, f"{type(fault).__name__}: {fault}"))
    return found


def contract_record(name: str) -> dict[str, Any]:
    """Returns what checking the arm ``name`` gave.

    Returns:
        ``{"arm", "checks", "findings", "kept"}``; each finding ``{"check", "words", "known"}``, where ``known`` is why
        the arm is declared to fail this check, or null; ``kept`` is whether all findings are known.

    Raises:
        QueryError: there is no such arm.
        DataMissing: a package or a model that it needs is not here.
    """
    entry = find(name)
    entry.build(made_up_world()[0])  # what cannot be built at all is no finding
    findings = [
        {"check": found.check, "words": found.words, "known": entry.deviates.get(found.check)}
        for found in check_arm(entry.build)
    ]
    kept = all(found["known"] for found in findings)
    return {"arm": entry.name, "checks": list(CHECKS), "findings": findings, "kept": kept}


def contract_text(record: Mapping[str, Any]) -> str:
    """Returns a ``contract_record`` for a person."""
    lines = [f"{record['arm']}: {len(record['checks'])} checks, {len(record['findings'])} findings"]
    for found in record["findings"]:
        known = f" (known: {found['known']})" if found["known"] else ""
        lines.append(f"  {found['check']}: {found['words']}{known}")
    lines.append("The contract is kept." if record["kept"] else "The contract is broken.")
    return "\n".join(lines) + "\n"


class _Made:
    """Makes arms and fills them."""

    def __init__(self, make: Callable[[Setting], Memory], setting: Setting) -> None:
        self._make, self._setting = make, setting

    def filled(self, items: Sequence[IndexItem]) -> Arm:
        memory = self._make(self._setting)
        arm: Arm = memory if isinstance(memory, Arm) else OneByOne(memory)
        arm.index(items)
        return arm


_Look = Callable[[_Made, list[IndexItem], list[Query]], Iterator[str]]
_MANY = 20  # places: more than items


def _keys(made: _Made, items: list[IndexItem], queries: list[Query]) -> Iterator[str]:
    for row, places in enumerate(made.filled(items).rank(queries, _MANY).items):
        held = places[places >= 0].tolist()
        if len(set(held)) < len(held):
            yield f"query {row} has an item twice"
        if any(place >= len(items) for place in held):
            yield f"query {row} has a place beyond the {len(items)} items"
        if (places < -1).any() or (places[len(held) :] != -1).any():
            yield f"query {row} has a place left over before a hit, or a place below -1"


def _scores(made: _Made, items: list[IndexItem], queries: list[Query]) -> Iterator[str]:
    found = made.filled(items).rank(queries, _MANY)
    for row, (places, scores) in enumerate(zip(found.items, found.scores, strict=True)):
        held = scores[places >= 0]
        if np.isnan(held).any():
            yield f"query {row} has a hit without a score"
        if (held[1:] > held[:-1]).any():
            yield f"query {row} has a score above that of the hit before"
        if not np.isnan(scores[places < 0]).all():
            yield f"query {row} has a score in a place left over"


def _tie_order(made: _Made, items: list[IndexItem], queries: list[Query]) -> Iterator[str]:
    found = made.filled(items).rank(queries, _MANY)
    for row, (places, scores) in enumerate(zip(found.items, found.scores, strict=True)):
        held = [(-score, items[place].key) for place, score in zip(places, scores, strict=True) if place >= 0]
        if held != sorted(held):
            yield f"query {row} has equal scores that are not in the order of their keys"


def _tail(made: _Made, items: list[IndexItem], queries: list[Query]) -> Iterator[str]:
    arm = made.filled(items)
    everything = arm.rank(queries, _MANY)
    for k in (1, 2, 3):
        found = arm.rank(queries, k)
        for row in np.flatnonzero((found.tail >= 0) & (found.items[:, -1] >= 0)).tolist():
            level = int((everything.scores[row, k:] == found.scores[row, k - 1]).sum())
            if level != found.tail[row]:
                yield f"query {row} says that {found.tail[row]} items beyond place {k} tie with it; {level} do"


def _k(made: _Made, items: list[IndexItem], queries: list[Query]) -> Iterator[str]:
    arm = made.filled(items)
    everything = arm.rank(queries, _MANY)
    for k in (1, 3, _MANY):
        found = arm.rank(queries, k)
        if found.items.shape != (len(queries), k) or found.scores.shape != (len(queries), k):
            yield f"k = {k} gives {found.items.shape[1]} places"
        elif not np.array_equal(found.items, everything.items[:, :k]):
            yield f"the first {k} are not the head of the first {_MANY}"
        if any(len(arm.retrieve(query, k)) > k for query in queries):
            yield f"retrieve gives more than {k} hits"


def _retrieve(made: _Made, items: list[IndexItem], queries: list[Query]) -> Iterator[str]:
    arm = made.filled(items)
    found = arm.rank(queries, 5)
    for row, query in enumerate(queries):
        hits = arm.retrieve(query, 5)
        places = found.items[row][found.items[row] >= 0].tolist()
        if [hit.key for hit in hits] != [items[place].key for place in places]:
            yield f"query {row}: retrieve and rank give different hits"
        elif [hit.score for hit in hits] != found.scores[row][: len(hits)].tolist():
            yield f"query {row}: retrieve and rank give different scores"
        elif [hit.rank for hit in hits] != list(range(1, len(hits) + 1)):
            yield f"query {row}: ranks are not 1, 2, 3 and so on"
        elif hits and not _same(hits[0].confidence, found.confidence[row]):
            yield f"query {row}: retrieve and rank give the first hit another confidence"
        if not _same(arm.novelty(query), found.novelty[row]):
            yield f"query {row}: novelty is not what rank says"


def _batches(made: _Made, items: list[IndexItem], queries: list[Query]) -> Iterator[str]:
    arm = made.filled(items)
    found = arm.rank(queries, 5)
    for cut in (1, 5):
        parts = [arm.rank(queries[start : start + cut], 5) for start in range(0, len(queries), cut)]
        if not _equal(found, _joined(parts)):
            yield f"cut into batches of {cut}, the answer is another one"
    turned = arm.rank(queries[::-1], 5)
    if not _equal(found, Ranking(*(column[::-1] for column in _columns(turned)))):
        yield "asked in another order, the answer is another one"
    if len(arm.rank([], 5)) != 0:
        yield "no query gives an answer"


def _again(made: _Made, items: list[IndexItem], queries: list[Query]) -> Iterator[str]:
    arm = made.filled(items)
    found = arm.rank(queries, 5)
    if not _equal(found, arm.rank(queries, 5)):
        yield "asked twice, the same arm gives two answers"
    if not _equal(found, made.filled(items).rank(queries, 5)):
        yield "made twice, the arm gives two answers"


def _nothing(made: _Made, items: list[IndexItem], queries: list[Query]) -> Iterator[str]:
    found = made.filled(items).rank(queries, 5)
    for row in (len(queries) - 2, len(queries) - 1):
        if (found.scores[row][found.items[row] >= 0] > 0).any():
            yield f"query {row} has nothing usable, and a hit with a score above 0"
        if found.novelty[row] < 1:
            yield f"query {row} has nothing usable, and a novelty below 1"
    empty = made.filled([]).rank(queries, 5)
    if (empty.items >= 0).any():
        yield "nothing is remembered, and there are hits"


def _equal_content(made: _Made, items: list[IndexItem], queries: list[Query]) -> Iterator[str]:
    found = made.filled(items).rank([queries[2]], _MANY)
    place = {item.key: number for number, item in enumerate(items)}
    score = dict(zip(found.items[0].tolist(), found.scores[0].tolist(), strict=True))
    one, other = score.get(place["twin-1"]), score.get(place["twin-2"])
    if one is None or other is None:
        yield "of two items with equal content one is never found"


def _certainty(made: _Made, items: list[IndexItem], queries: list[Query]) -> Iterator[str]:
    found = made.filled(items).rank(queries, 5)
    for words, column in (("confidence", found.confidence), ("novelty", found.novelty)):
        stated = column[~np.isnan(column)]
        if ((stated < 0) | (stated > 1)).any():
            yield f"a {words} is not in [0, 1]"
    if not np.isnan(found.confidence[found.items[:, 0] < 0]).all():
        yield "a query without a hit has a confidence"


def _unseen(made: _Made, items: list[IndexItem], queries: list[Query]) -> Iterator[str]:
    found = made.filled(items).rank(queries, 5)
    number = {key: place for place, key in enumerate(sorted(item.key for item in items))}
    renamed = [replace(i, key=f"{number[i.key]:03}", meta={"answer": "other"}) for i in items]
    if not _equal(found, made.filled(renamed).rank(queries, 5)):
        yield "with other keys in the same order, and other notes, the answer is another one: it looks at them"


def _item_order(made: _Made, items: list[IndexItem], queries: list[Query]) -> Iterator[str]:
    found = made.filled(items).rank(queries, 5)
    turned = made.filled(items[::-1]).rank(queries, 5)
    back = np.where(turned.items >= 0, len(items) - 1 - turned.items, -1)
    if not np.array_equal(found.items, back) or not np.array_equal(found.scores, turned.scores, equal_nan=True):
        yield "with the items in another order, the answer is another one"


def _replaces(made: _Made, items: list[IndexItem], queries: list[Query]) -> Iterator[str]:
    arm = made.filled(items)
    arm.index(items[:4])
    if not _equal(arm.rank(queries, 5), made.filled(items[:4]).rank(queries, 5)):
        yield "indexed again, it does not answer as one that was filled with these items alone"


CHECKS: dict[str, _Look] = {
    "keys": _keys,
    "scores": _scores,
    "tie-order": _tie_order,
    "tail": _tail,
    "k": _k,
    "retrieve": _retrieve,
    "batches": _batches,
    "again": _again,
    "nothing-usable": _nothing,
    "equal-content": _equal_content,
    "certainty": _certainty,
    "unseen": _unseen,
    "item-order": _item_order,
    "replaces": _replaces,
}
"""The checks by name."""


def _columns(ranking: Ranking) -> tuple[np.ndarray, ...]:
    return ranking.items, ranking.scores, ranking.tail, ranking.confidence, ranking.novelty


def _joined(parts: list[Ranking]) -> Ranking:
    return Ranking(*(np.concatenate(columns) for columns in zip(*map(_columns, parts), strict=True)))


def _equal(one: Ranking, other: Ranking) -> bool:
    return all(np.array_equal(a, b, equal_nan=True) for a, b in zip(_columns(one), _columns(other), strict=True))


def _same(one: float, other: float) -> bool:
    return one == other or (np.isnan(one) and np.isnan(other))
