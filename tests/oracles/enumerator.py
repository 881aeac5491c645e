"""The definition of DESIGN section 3 by exhaustion: every closed one-to-one set of hypotheses of two small cases.

Written from the definition alone, over dictionaries and sets; it imports nothing of the library but the symbolic model.
No mapping is passed over because another promises more: the only sets left out are those that break a constraint.
Up to about six statements and four entities a side are a matter of milliseconds.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sma_gpu.cases.model import Case, Entity, Statement

Item = Entity | Statement
Hypothesis = tuple[Item, Item]  # (query item, stored item)
Signed = tuple[str, bool]  # (functor, negated)

ONE = 1 << 16


@dataclass(frozen=True)
class Settings:
    scorer: str
    credit: str
    gamma: float
    rho: float
    delta: int


class Oracle:
    """Scores pairs of cases over a lattice given as parents by id, with counts from the stored cases.

    A functor that the lattice lacks stands alone in it. Denials live in the lattice turned over: what is above not(x)
    is not(d) for every d below x.
    """

    def __init__(self, parents: Mapping[str, list[str]], stored: list[Case], settings: Settings) -> None:
        stated = [s.functor.id for case in stored for s in case.walk()]
        self.parents = {**{f: [] for f in sorted(stated)}, **parents}
        self.children: dict[str, list[str]] = {f: [] for f in self.parents}
        for child in sorted(self.parents):
            for parent in self.parents[child]:
                self.children[parent].append(child)
        self.settings = settings
        self.stored = stored
        self._hops: dict[Signed, dict[str, int]] = {}
        self._worth: dict[tuple[str, str, bool], tuple[float, str, int] | None] = {}
        self._costs: dict[Signed, float] = {}
        self._said = [[(s.functor.id, s.negated) for s in case.walk()] for case in stored]
        self._covered = Counter((a, no) for case in self._said for f, no in case for a in self.near(f, no))

    def hops(self, functor: str, negated: bool = False) -> dict[str, int]:
        """Returns the fewest steps from a functor to each one above it, in the lattice of its sign."""
        if (functor, negated) not in self._hops:
            edges = self.children if negated else self.parents
            found, layer, step = {functor: 0}, {functor}, 0
            while layer:
                step += 1
                layer = {p for f in layer for p in edges.get(f, [])} - found.keys()
                found.update(dict.fromkeys(layer, step))
            self._hops[functor, negated] = found
        return self._hops[functor, negated]

    def near(self, functor: str, negated: bool = False) -> dict[str, int]:
        return {a: h for a, h in self.hops(functor, negated).items() if h <= self.settings.delta}

    def cost(self, functor: str, negated: bool = False) -> float:
        if (functor, negated) not in self._costs:
            self._costs[functor, negated] = self._cost(functor, negated)
        return self._costs[functor, negated]

    def _cost(self, functor: str, negated: bool) -> float:
        if self.settings.scorer == "unit":
            return 1.0
        if self.settings.scorer == "ic":
            if not self.stored:
                return 0.0
            n = sum(any(no == negated and functor in self.hops(f, no) for f, no in case) for case in self._said)
            return max(-math.log2(max(n, 0.5) / len(self.stored)), 0.0)
        total, vocabulary = sum(self._covered.values()), sum(n > 0 for n in self._covered.values())
        if not total:
            return 0.0
        return max(-math.log2((self._covered[functor, negated] + 0.5) / (total + 0.5 * vocabulary)), 0.0)

    def worth(self, query: str, stored: str, negated: bool = False) -> tuple[float, str, int] | None:
        """Returns (worth, ancestor that pays, distance), or None where the functors are not compatible."""
        if (query, stored, negated) not in self._worth:
            self._worth[query, stored, negated] = self._find_worth(query, stored, negated)
        return self._worth[query, stored, negated]

    def _find_worth(self, query: str, stored: str, negated: bool) -> tuple[float, str, int] | None:
        ups_q, ups_c = self.hops(query, negated), self.hops(stored, negated)
        best = None
        for ancestor in ups_q.keys() & ups_c.keys():
            distance = ups_q[ancestor] + ups_c[ancestor]
            if distance > self.settings.delta:
                continue
            pays = self.cost(stored, negated)
            if self.settings.credit == "ancestor":
                pays = min(self.cost(ancestor, negated), self.cost(query, negated), pays)
            option = (-pays * self.settings.rho**distance, distance, ancestor)
            best = option if best is None or option < best else best
        return (-best[0], best[2], best[1]) if best else None

    def shape(self, item: Item) -> float:
        """Returns T: gamma to the length, added up over every downward path from the item, each walked by itself."""
        lengths: Counter[int] = Counter()
        ends = [(item, 0)]
        while ends:
            end, length = ends.pop()
            lengths[length] += 1
            ends.extend((a, length + 1) for a in (end.args if isinstance(end, Statement) else ()))
        return sum(n * self.settings.gamma**length for length, n in sorted(lengths.items()))

    def own(self, hypothesis: Hypothesis) -> float:
        """Returns the worth of a pair with its weight, in bits, before any parent lends to it."""
        query, stored = hypothesis
        if not (isinstance(query, Statement) and isinstance(stored, Statement)):
            return 1.0
        found = self.worth(query.functor.id, stored.functor.id, query.negated)
        return found[0] * min(query.weight, stored.weight) if found else 0.0

    def value(self, hypothesis: Hypothesis) -> int:
        return round(ONE * (self.own(hypothesis) * self.shape(hypothesis[1])))

    def pairs(self, hypothesis: Hypothesis) -> bool:
        """Tells whether there is such a hypothesis."""
        q, c = hypothesis
        if isinstance(q, Entity) and isinstance(c, Entity):
            return q == c if q.constant or c.constant else True
        if isinstance(q, Entity) or isinstance(c, Entity):
            return False
        return len(q.args) == len(c.args) and q.negated == c.negated and self.value((q, c)) > 0

    def hypotheses(self, query: Case, stored: Case) -> list[Hypothesis]:
        return [h for h in itertools.product(in_order(query), in_order(stored)) if self.pairs(h)]

    def mappings(self, query: Case, stored: Case) -> Iterator[frozenset[Hypothesis]]:
        """Yields every support-closed one-to-one set of hypotheses, each once."""
        for image in self._images(query, stored):
            for free in self._free(query, stored, image):
                yield frozenset([*image.items(), *free])

    def _images(self, query: Case, stored: Case) -> Iterator[dict[Item, Item]]:
        """Yields every choice of statement pairs with the entity pairs that it demands, as query item: stored item."""
        order = [i for i in in_order(query) if isinstance(i, Statement)]  # arguments before what is said of them
        partners: dict[Item, list[Item]] = {}
        for q, c in self.hypotheses(query, stored):
            partners.setdefault(q, []).append(c)
        image: dict[Item, Item] = {}
        used: set[Item] = set()

        def grow(at: int) -> Iterator[dict[Item, Item]]:
            if at == len(order):
                yield dict(image)
                return
            yield from grow(at + 1)
            for partner in partners.get(order[at], []):
                if partner not in used:
                    for demanded in self._demands((order[at], partner), image, used):
                        added = {order[at]: partner, **dict(demanded)}
                        image.update(added)
                        used.update(added.values())
                        yield from grow(at + 1)
                        for q, c in added.items():
                            del image[q]
                            used.remove(c)

        yield from grow(0)

    def _demands(
        self, hypothesis: Hypothesis, image: dict[Item, Item], used: set[Item]
    ) -> list[tuple[Hypothesis, ...]]:
        """Returns the sets of new entity pairs of which each supports a pair whose argument statements are settled."""
        found: dict[frozenset[Hypothesis], tuple[Hypothesis, ...]] = {}
        for matching in matchings(hypothesis):
            new: dict[Item, Item] = {}
            for q, c in matching:
                known = image.get(q, new.get(q))
                if known == c:
                    continue
                free = isinstance(q, Entity) and known is None and c not in used and c not in new.values()
                if not (free and self.pairs((q, c))):
                    break
                new[q] = c
            else:
                found.setdefault(frozenset(new.items()), tuple(new.items()))
        return list(found.values())

    def _free(self, query: Case, stored: Case, image: dict[Item, Item]) -> Iterator[list[Hypothesis]]:
        """Yields every one-to-one set of pairs of the entities that no statement pair demands."""
        left = [e for e in query.entities() if e not in image]
        right = [e for e in stored.entities() if e not in image.values()]

        def grow(at: int, chosen: list[Hypothesis]) -> Iterator[list[Hypothesis]]:
            if at == len(left):
                yield chosen
                return
            yield from grow(at + 1, chosen)
            for c in right:
                if self.pairs((left[at], c)) and all(c != b for _, b in chosen):
                    yield from grow(at + 1, [*chosen, (left[at], c)])

        return grow(0, [])

    def best(self, query: Case, stored: Case) -> tuple[int, list[frozenset[Hypothesis]]]:
        """Returns the structural evaluation score and all mappings that attain it.

        A mapping of entities alone says nothing: the score is then 0.
        """
        top = 0
        found: list[tuple[dict[Item, Item], int]] = []
        values = {h: self.value(h) for h in self.hypotheses(query, stored)}
        for image in self._images(query, stored):
            if not any(isinstance(q, Statement) for q in image):
                continue
            # Free entities pair in any order, so that only how many are left on either side counts.
            left = [e for e in query.entities() if e not in image]
            right = [e for e in stored.entities() if e not in image.values()]
            loose = min(sum(not e.constant for e in left), sum(not e.constant for e in right))
            loose += sum(e.constant and e in right for e in left)
            total = sum(values[h] for h in image.items()) + ONE * loose
            if total > top:
                top, found = total, []
            if total == top:
                found.append((image, loose))
        return top, [
            frozenset([*image.items(), *free])
            for image, loose in found
            for free in self._free(query, stored, image)
            if len(free) == loose
        ]

    def self_score(self, case: Case) -> int:
        return self.best(case, case)[0]

    def explained(self, query: Case, mapping: frozenset[Hypothesis]) -> float:
        """Returns the share of the query's own value that a mapping covers, statements alone."""
        own = {s: self.value((s, s)) for s in query.walk()}
        covered = sum(min(self.value((q, c)), own[q]) for q, c in mapping if isinstance(q, Statement))
        return covered / sum(own.values()) if sum(own.values()) else 0.0

    def bound(self, query: Case, stored: Case) -> int:
        """Returns U: the best value of each query statement among stored ones of its shape, and all entity pairs."""
        total = 0
        for q in query.walk():
            alike = [c for c in stored.walk() if unordered(c) == unordered(q) and self.pairs((q, c))]
            total += max((self.value((q, c)) for c in alike), default=0)
        return total + ONE * min(len(query.entities()), len(stored.entities())) if total else 0

    def trickle_down(self, mapping: frozenset[Hypothesis]) -> float:
        """Returns the score of a mapping by simulated trickle-down, in bits: parents lend to their argument pairs."""
        scores = {h: self.own(h) for h in mapping}
        for pair in sorted(mapping, key=lambda h: (-h[0].order, h[0].digest)):  # all who lend to a pair come before it
            matching = next((m for m in matchings(pair) if scores.keys() >= set(m)), None)
            assert matching is not None, "a pair that its arguments do not support"
            for argument in matching:
                scores[argument] += self.settings.gamma * scores[pair]
        return sum(scores.values())


def in_order(case: Case) -> list[Item]:
    """Returns the distinct items of a case, entities first, each statement after its arguments."""
    return [*case.entities(), *sorted(case.walk(), key=lambda s: (s.order, s.digest))]


def matchings(hypothesis: Hypothesis) -> Iterator[tuple[Hypothesis, ...]]:
    """Yields the ways to lay the arguments of a pair side by side: as they stand, or any if both sides commute."""
    q, c = hypothesis
    if isinstance(q, Statement) and isinstance(c, Statement):
        commute = q.functor.commutative and c.functor.commutative
        orders = itertools.permutations(c.args) if commute else [c.args]
        for order in orders:
            yield tuple(zip(q.args, order, strict=True))
    else:
        yield ()


def supported(hypothesis: Hypothesis, chosen: frozenset[Hypothesis]) -> bool:
    return any(set(matching) <= chosen for matching in matchings(hypothesis))


def unordered(item: Item) -> str:
    """Returns the shape of an argument tree, whatever the order of arguments."""
    if isinstance(item, Entity):
        return "."
    return f"({''.join(sorted(unordered(a) for a in item.args))})"
