"""Which rows an analogy has on each side, which lines join them, and which rows stand level.

Both sides are trees of rows, arguments below their statement. Candidate inferences stand among the statements of the
target that they speak of.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from ..cases.model import Entity, Statement
from ..cases.spelling import short_name
from ..retrieval.analogy import Analogy, Correspondence
from ..retrieval.projection import SKOLEM
from ..scoring import to_bits
from .analogy_forest import Forest, exclusions, item_text, one_line, projected_pairs, shared_words

__all__ = ["KINDS", "Block", "Link", "Side", "blocks", "links_of"]

KINDS = ("entity", "statement", "inference", "difference", "contradiction")

_PULL = {"entity": 4, "statement": 4, "inference": 3, "difference": 1, "contradiction": 1}  # towards standing level

Item = Entity | Statement


@dataclass(frozen=True)
class Link:
    """A line between a row of the base and a row of the target.

    Attributes:
        kind: one of ``KINDS``.
        base: item of the base.
        target: item of the target, or what an inference adds to it.
        value: what the pair adds to the score, or would add; units of 2^-16 bit.
        way: what the two share, where they differ, in a few words.
        words: what the line says.
        free: a pair of entities that no matched statement speaks of.
    """

    kind: str
    base: Item
    target: Item
    value: int
    way: str
    words: str
    free: bool = False


@dataclass
class Side:
    """The rows of one side.

    Attributes:
        rows: items with their depth.
        excluded: those that stand for a term which the case excludes.
        places: the place of each item, counted from 0 at the top.
    """

    rows: list[tuple[Item, int]]
    excluded: frozenset[Statement] = frozenset()
    places: dict[Item, int] = field(default_factory=dict)

    @property
    def index(self) -> dict[Item, int]:
        """Number of each item in reading order."""
        return {item: i for i, (item, _) in enumerate(self.rows)}


@dataclass(frozen=True)
class Block:
    """Rows under one heading; ``shared``: a statement that is an argument of several stands below the first alone."""

    title: str
    base: Side
    target: Side
    links: tuple[Link, ...]
    shared: bool = False

    @property
    def height(self) -> int:
        """Number of places."""
        return 1 + max((p for side in (self.base, self.target) for p in side.places.values()), default=-1)


def links_of(analogy: Analogy) -> list[Link]:
    """Returns all lines of the drawing, by kind in the order of ``KINDS`` save that the mapping keeps its own order."""
    links = []
    for c in analogy.mapping:
        words = f"{item_text(c.base)} -> {item_text(c.target)}: {to_bits(c.value):.2f} bits"
        if isinstance(c.base, Entity):
            words += "" if c.grounded else "; any other pairing of the free entities would score the same"
            links.append(Link("entity", c.base, c.target, c.value, "", words, not c.grounded))
        else:
            way = _way(c) if c.distance else ""
            words += f", {way}, is-a steps: {c.distance}" if way else ""
            links.append(Link("statement", c.base, c.target, c.value, way, words))
    matched = {c.base for c in analogy.mapping}
    seen: set[tuple[Item, Item]] = set()
    for inference in analogy.inferences:
        for source, projected in projected_pairs(inference):
            made_up = isinstance(projected, Statement) or projected.type == SKOLEM
            if source in matched or (source, projected) in seen or not made_up:
                continue
            seen.add((source, projected))
            words = f"the target may also have {item_text(projected)}, as the base has {item_text(source)}"
            value = inference.value if source == inference.source else 0
            links.append(Link("inference", source, projected, value, "", words))
    pairs = {(k.base, k.target) for k in links}
    for d in analogy.alignable:
        if (d.base, d.target) in pairs:  # matched through an ancestor: that line is there, and says through which
            continue
        way = shared_words(d.base, d.via) if d.via else ""
        words = f"{item_text(d.base)} there, {item_text(d.target)} here" + (f", {way}" if way else "")
        links.append(Link("difference", d.base, d.target, 0, way, words))
    excluded = exclusions(analogy)
    for base, target in analogy.contradicted:
        there = f"{item_text(base)} {'excluded ' if base in excluded[0] else ''}there"
        here = f"{item_text(target)} {'excluded ' if target in excluded[1] else ''}here"
        words = f"{there} against {here}"
        links.append(Link("contradiction", base, target, 0, "", words))
    return links


def blocks(analogy: Analogy) -> list[Block]:
    """Returns the block of the entities and that of the statements; one without rows is left out."""
    links = links_of(analogy)
    found = [
        _entity_block(analogy, [k for k in links if isinstance(k.base, Entity)]),
        _statement_block(analogy, [k for k in links if isinstance(k.base, Statement)]),
    ]
    for block in found:
        _level(block)
    return [b for b in found if b.base.rows or b.target.rows]


def _entity_block(analogy: Analogy, links: list[Link]) -> Block:
    base = dict.fromkeys([*(k.base for k in links), *analogy.base.entities()])
    target = dict.fromkeys([*(k.target for k in links), *analogy.target.entities()])
    return Block("Entities", Side([(e, 0) for e in base]), Side([(e, 0) for e in target]), tuple(links))


def _statement_block(analogy: Analogy, links: list[Link]) -> Block:
    """Returns the base with its most telling trees first, and the target with its trees in the order of theirs."""
    value = {k.base: k.value for k in links if k.kind == "statement"}
    stated = [*analogy.base.walk(), *_statements(k.base for k in links)]
    base_forest = Forest(stated)
    worth = {root: max(value.get(s, 0) for s, _ in base_forest.tree(root)) for root in base_forest.roots}
    excluded = exclusions(analogy)
    base = Side([*base_forest.rows(lambda root: -worth[root])], excluded[0])
    index = base.index
    partner: dict[Item, Item] = {}
    counterpart: dict[Item, Item] = {}
    for link in links:
        partner.setdefault(link.target, link.base)
        counterpart.setdefault(link.base, link.target)
    # In the order of the base, so that an argument of several statements stands below corresponding ones.
    mirrored = _statements(counterpart[s] for s in dict.fromkeys(stated) if s in counterpart)
    forest = Forest([*mirrored, *analogy.target.walk(), *_statements(k.target for k in links)])

    def first(root: Statement) -> int:
        return min(index[partner[s]] if s in partner else len(index) for s, _ in forest.tree(root))

    shared = base_forest.shared or forest.shared
    return Block("Statements", base, Side([*forest.rows(first)], excluded[1]), tuple(links), shared)


def _way(pair: Correspondence) -> str:
    """Returns what two matched statements of different functors share."""
    if isinstance(pair.base, Statement) and pair.base.negated:
        return shared_words(pair.base, pair.via)
    return f"via {one_line(short_name(pair.via))}"


def _statements(items: Iterable[Item]) -> list[Statement]:
    return [item for item in items if isinstance(item, Statement)]


def _level(block: Block) -> None:
    """Gives every row its place, so that as much as possible of what corresponds stands level."""
    sides = (block.base, block.target)
    counts = (len(block.base.rows), len(block.target.rows))
    base, target = block.base.index, block.target.index
    chain = _heaviest_chain(sorted({(base[k.base], target[k.target], _PULL[k.kind]) for k in block.links}))
    top, done = 0, (0, 0)
    for ends in [*chain, counts]:
        height = max(ends[0] - done[0], ends[1] - done[1])
        for side, start, end in zip(sides, done, ends, strict=True):
            # What belongs to the tree above stands below it, a tree that begins here stands close above what follows.
            begins = next((i for i in range(start, end) if side.rows[i][1] == 0), end)
            for i in range(start, end):
                above = i < begins or ends == counts
                side.places[side.rows[i][0]] = top + (i - start if above else height - (end - i))
            if end < len(side.rows):
                side.places[side.rows[end][0]] = top + height
        top += height + 1
        done = (ends[0] + 1, ends[1] + 1)


def _heaviest_chain(pairs: list[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """Returns those (base row, target row) that rise on both sides together, of the greatest weight in sum.

    Args:
        pairs: (base row, target row, weight), sorted.
    """
    totals: list[int] = []
    before: list[int] = []
    for i, (base, target, weight) in enumerate(pairs):
        best, link = 0, -1
        for j in range(i):
            if totals[j] > best and pairs[j][0] < base and pairs[j][1] < target:
                best, link = totals[j], j
        totals.append(best + weight)
        before.append(link)
    at = max(range(len(pairs)), key=totals.__getitem__, default=-1)
    chain: list[tuple[int, int]] = []
    while at >= 0:
        chain.append(pairs[at][:2])
        at = before[at]
    return chain[::-1]
