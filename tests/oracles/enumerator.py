"""The definition of DESIGN section 3 by exhaustion: every closed one-to-one set of hypotheses of two small cases.

Written from the definition alone, over dictionaries and sets; it imports nothing of the library but the symbolic model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sma_gpu.cases.model import Case, Entity, Statement

Item = Entity | Statement
Hypothesis = tuple[Item, Item]  # (query item, stored item)


@dataclass(frozen=True)
class Settings:
    scorer: str
    credit: str
    gamma: float
    rho: float
    delta: int


class Oracle:
    """Scores pairs of cases over a lattice given as parents by id, with counts from the stored cases."""

    def __init__(self, parents: Mapping[str, list[str]], stored: list[Case], settings: Settings) -> None:
        self.parents = parents
        self.settings = settings
        self.stored = stored
        self.costs = {f: self._cost(f) for f in parents}

    def hops(self, functor: str) -> dict[str, int]:
        found, layer, step = {functor: 0}, {functor}, 0
        while layer:
            step += 1
            layer = {p for f in layer for p in self.parents[f]} - found.keys()
            found.update(dict.fromkeys(layer, step))
        return found

    def near(self, functor: str) -> dict[str, int]:
        return {a: h for a, h in self.hops(functor).items() if h <= self.settings.delta}

    def _cost(self, functor: str) -> float:
        scorer = self.settings.scorer
        statements = [[s.functor.id for s in c.statements if not s.negated] for c in self.stored]
        if scorer == "unit":
            return 1.0
        if not self.stored:
            return 0.0
        if scorer == "ic":
            n = sum(any(functor in self.hops(f) for f in case) for case in statements)
            return max(-math.log2(max(n, 0.5) / len(self.stored)), 0.0)
        counts = {f: sum(f in self.near(e) for case in statements for e in case) for f in self.parents}
        total, vocabulary = sum(counts.values()), sum(n > 0 for n in counts.values())
        return -math.log2((counts[functor] + 0.5) / (total + 0.5 * vocabulary))

    def worth(self, query: str, stored: str) -> tuple[float, str, int] | None:
        """Returns (worth, ancestor that pays, distance), or None where the functors are not compatible."""
        ups_q, ups_c = self.hops(query), self.hops(stored)
        best = None
        for ancestor in ups_q.keys() & ups_c.keys():
            distance = ups_q[ancestor] + ups_c[ancestor]
            if distance > self.settings.delta:
                continue
            pays = self.costs[stored]
            if self.settings.credit == "ancestor":
                pays = min(self.costs[ancestor], self.costs[query], self.costs[stored])
            option = (-pays * self.settings.rho**distance, distance, ancestor)
            best = option if best is None or option < best else best
        return (-best[0], best[2], best[1]) if best else None

    def shape(self, item: Item) -> float:
        if isinstance(item, Entity):
            return 1.0
        return 1.0 + self.settings.gamma * sum(self.shape(a) for a in item.args)

    def value(self, hypothesis: Hypothesis) -> int:
        query, stored = hypothesis
        if isinstance(query, Entity) and isinstance(stored, Entity):
            return 1 << 16
        assert isinstance(query, Statement)
        assert isinstance(stored, Statement)
        found = self.worth(query.functor.id, stored.functor.id)
        return round((1 << 16) * found[0] * self.shape(stored)) if found else 0

    def hypotheses(self, query: Case, stored: Case) -> list[Hypothesis]:
        found: list[Hypothesis] = []
        sides = [sorted(items(c), key=str) for c in (query, stored)]
        for q in sides[0]:
            for c in sides[1]:
                if isinstance(q, Entity) or isinstance(c, Entity):
                    possible = isinstance(q, Entity) and isinstance(c, Entity)
                else:
                    possible = len(q.args) == len(c.args) and q.negated == c.negated and self.value((q, c)) > 0
                if possible:
                    found.append((q, c))
        return found

    def mappings(self, query: Case, stored: Case) -> Iterator[frozenset[Hypothesis]]:
        """Yields every support-closed one-to-one set of hypotheses."""
        every = self.hypotheses(query, stored)

        def grow(start: int, chosen: tuple[Hypothesis, ...]) -> Iterator[frozenset[Hypothesis]]:
            if all(supported(h, chosen) for h in chosen):
                yield frozenset(chosen)
            for i in range(start, len(every)):
                q, c = every[i]
                if all(q != a and c != b for a, b in chosen):
                    yield from grow(i + 1, (*chosen, every[i]))

        yield from grow(0, ())

    def best(self, query: Case, stored: Case) -> tuple[int, list[frozenset[Hypothesis]]]:
        """Returns the structural evaluation score and all mappings that attain it.

        A mapping of entities alone says nothing: the score is then 0.
        """
        top, found = 0, []
        for mapping in self.mappings(query, stored):
            if not any(isinstance(q, Statement) for q, _ in mapping):
                continue
            total = sum(self.value(h) for h in mapping)
            if total > top:
                top, found = total, []
            if total == top:
                found.append(mapping)
        return top, found

    def self_score(self, case: Case) -> int:
        values = [self.value((i, i)) for i in items(case) if isinstance(i, Statement) and not i.negated]
        return (1 << 16) * len({i for i in items(case) if isinstance(i, Entity)}) + sum(values) if sum(values) else 0

    def trickle_down(self, mapping: frozenset[Hypothesis]) -> float:
        """Returns the score of a mapping by simulated trickle-down, in bits: parents lend to their arguments."""

        def own(h: Hypothesis) -> float:
            q, c = h
            if isinstance(q, Entity):
                return 1.0
            found = self.worth(q.functor.id, c.functor.id)
            return found[0] if found else 0.0

        def score(h: Hypothesis) -> float:
            lent = sum(
                score(p) for p in mapping if isinstance(p[0], Statement) and h in zip(p[0].args, p[1].args, strict=True)
            )
            return own(h) + self.settings.gamma * lent

        return sum(score(h) for h in mapping)


def items(case: Case) -> set[Item]:
    found: set[Item] = set()
    for root in case.statements:
        for statement in root.walk():
            found.add(statement)
            found.update(a for a in statement.args if isinstance(a, Entity))
    return found


def supported(hypothesis: Hypothesis, chosen: tuple[Hypothesis, ...]) -> bool:
    query, stored = hypothesis
    if isinstance(query, Entity):
        return True
    return all(pair in chosen for pair in zip(query.args, stored.args, strict=True))
