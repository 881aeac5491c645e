"""The scorer ``evidence`` by exhaustion, out of its definition: dictionaries, fractions and recursion over small cases.

Written from the docstring of ``sma_gpu.scoring.evidence`` alone; it imports nothing of the library.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

Stated = Mapping[str, float | None]  # terms of a case, each with its frequency, or None where that is not known

UNITS = 1 << 16  # of a bit
SHARE = 1 << 20  # of a frequency
LEVELS = 16  # of strengths within a factor of 2, and of weights within 1


@dataclass(frozen=True)
class Pair:
    """What a query term over a stored one is worth, in units, over which ancestor and how far."""

    value: int
    via: str
    distance: int


@dataclass(frozen=True)
class Account:
    """The best one-to-one mapping of a query and a case, the first of the best, and what follows from it."""

    score: int
    mapping: tuple[tuple[str, str, str, int, int], ...]  # query, stored, via, distance, value
    unexplained: tuple[str, ...]
    explained: float
    contradicted: tuple[tuple[str, str, str], ...]  # query, stored, ruled out by
    inferences: tuple[tuple[str, int], ...]


class EvidenceOracle:
    """Scores queries against flat cases over a lattice given as parents by id."""

    def __init__(
        self,
        parents: Mapping[str, Sequence[str]],
        stored: Mapping[str, Stated],
        excluded: Mapping[str, Iterable[str]],
        gamma: float,
        rho: float,
        delta: int,
        scale: float = 4.0,
        power: float = 0.6,
    ) -> None:
        self.parents, self.excluded = parents, excluded
        self.gamma, self.rho, self.delta = gamma, rho, delta
        self.scale, self.power = scale, power
        self.taken = {key: _taken(stated) for key, stated in stored.items() if stated}
        self.above = {term: self._hops(term) for term in parents}
        self.expected, self.held = dict.fromkeys(parents, 0), dict.fromkeys(parents, 0)
        for key in self.taken:
            for term in parents:
                share = self.share(key, term)
                self.expected[term] += share
                self.held[term] += share > 0

    def _hops(self, term: str) -> dict[str, int]:
        found, layer = {term: 0}, [term]
        while layer:
            layer = [p for t in layer for p in self.parents[t] if p not in found]
            found |= {p: 1 + min(found[t] for t in found if p in self.parents[t]) for p in layer}
        return found

    def share(self, key: str, term: str) -> int:
        """Returns how often ``term`` holds in a case: as the most frequent statement at or below it; 0 if none is."""
        return max((share for t, share in self.taken[key].items() if term in self.above[t]), default=0)

    def strength(self, key: str, term: str) -> float:
        return self._strength(self.share(key, term), sum(self.taken[key].values()))

    def _strength(self, share: int, size: int) -> float:
        exact = self.scale * (share / SHARE) / (size / SHARE) ** self.power
        return 2 ** (round(LEVELS * math.log2(exact)) / LEVELS)

    def rarity(self, term: str) -> Fraction:
        """Returns one over the background of a term."""
        return Fraction(max(len(self.taken), 1) * SHARE, max(self.expected[term], SHARE // 2))

    def information(self, term: str) -> float:
        return math.log2(len(self.taken) / max(self.held[term], 0.5)) if self.taken else 0.0

    def weight(self, query: Iterable[str], term: str) -> float:
        own = self.information(term)
        if not own:
            return 1.0
        others = [self.above[t] for t in query if t != term]
        shared = [self.information(a) for other in others for a in other if a in self.above[term]]
        return round(LEVELS * (1 - max(shared, default=0.0) / own / 2)) / LEVELS

    def pair(self, query: Iterable[str], term: str, key: str, stored: str) -> Pair | None:
        """Returns what ``term`` over ``stored`` is worth; None for nothing."""
        if term in self.above[stored]:
            via, distance, decay = term, self.above[stored][term], 1.0
        elif stored in self.above[term]:
            if any(stored in self.above[t] for t in self.taken[key] if t != stored):
                return None
            via, distance = stored, self.above[term][stored]
            decay = self.rho**distance
        else:
            return None
        if distance > self.delta:
            return None
        bits = math.log2(1 + self.strength(key, stored) * float(self.rarity(via)) * decay)
        value = round(UNITS * bits * self.weight(query, term) * (1 + self.gamma))
        return Pair(value, via, distance) if value else None

    def self_values(self, query: Sequence[str]) -> dict[str, int]:
        """Returns what each term of a query is worth over a copy of it that states all of it for certain."""
        strength = self._strength(SHARE, len(query) * SHARE)
        return {t: self._own(t, strength, self.weight(query, t)) for t in query}

    def stored_values(self, key: str) -> dict[str, int]:
        return {t: self._own(t, self.strength(key, t), 1.0) for t in self.taken[key]}

    def _own(self, term: str, strength: float, weight: float) -> int:
        return round(UNITS * math.log2(1 + strength * float(self.rarity(term))) * weight * (1 + self.gamma))

    def bound(self, query: Sequence[str], key: str) -> int:
        pairs = [[p.value for b in self.taken[key] if (p := self.pair(query, t, key, b))] for t in query]
        total = sum(max(values, default=0) for values in pairs)
        return total + UNITS if total else 0

    def account(self, query: Sequence[str], excluded: Iterable[str], key: str) -> Account:
        """Returns the account of a query, terms distinct, and a case."""
        asked = sorted(query)
        pairs = {(t, b): p for t in asked for b in sorted(self.taken[key]) if (p := self.pair(asked, t, key, b))}
        best: dict[tuple[int, frozenset[str]], int] = {}

        def rest(place: int, used: frozenset[str]) -> int:
            """Returns the greatest sum of the terms from ``place`` on without the stored ones in ``used``."""
            if place == len(asked):
                return 0
            if (place, used) not in best:
                options = [rest(place + 1, used)]
                for (t, b), pair in pairs.items():
                    if t == asked[place] and b not in used:
                        options.append(pair.value + rest(place + 1, used | {b}))
                best[place, used] = max(options)
            return best[place, used]

        mapping, used = [], frozenset[str]()
        for place, term in enumerate(asked):
            for (t, b), pair in pairs.items():  # ascending, so that the first of the best is met first
                after = rest(place + 1, used | {b})
                if t == term and b not in used and pair.value + after == rest(place, used):
                    mapping.append((t, b, pair.via, pair.distance, pair.value))
                    used |= {b}
                    break
        total, own = rest(0, frozenset()), self.self_values(asked)
        ruled_out = [(a, b, "query") for b in self.taken[key] for a in set(excluded) if a in self.above[b]]
        case_excluded = set(self.excluded.get(key, ()))
        broken = [(t, a, "case") for t in asked for a in case_excluded if a in self.above[t]]
        known = {b for _, b, *_ in mapping} | {b for _, b, _ in ruled_out} | {a for t in asked for a in self.above[t]}
        lacking = [(b, value) for b, value in self.stored_values(key).items() if b not in known]
        matched = {t: value for t, *_, value in mapping}
        whole = sum(own.values())
        return Account(
            total + UNITS if mapping else 0,
            tuple(mapping),
            tuple(t for t in asked if t not in matched),
            sum(min(value, own[t]) for t, value in matched.items()) / whole if whole else 0.0,
            (*sorted(ruled_out), *sorted(broken)),
            tuple(sorted(lacking, key=lambda pair: (-pair[1], pair[0]))) if mapping else (),
        )


def _taken(stated: Stated) -> dict[str, int]:
    told = any(f is not None for f in stated.values())
    unknown = 0.5 if told else 1.0
    return {t: round(SHARE * max(unknown if f is None else f, 0.01)) for t, f in stated.items()}
