"""What an arm of this engine says of one item: the statements that it matched, over what, and those that it did not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from ...cases import Case, CaseBatch, EncodedQuery, Statement
from ...cases.spelling import short_text
from ...memory import Query
from ...retrieval import Index
from ...retrieval.alignment import analogy_between
from ...retrieval.explain import explain
from ...retrieval.search import open_query
from ...scoring import PairTable
from .arm import Arm

__all__ = ["Account", "Explaining", "Match", "Unmatched", "account_of_case", "account_of_terms"]

IntArray = npt.NDArray[np.int32]
LongArray = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Match:
    """A statement of the query with its partner.

    Attributes:
        place: of the query's statement among all of the query.
        asked: its text.
        stored: text of the item's.
        things: how many arguments it has; with two or more it is a relation.
        via: the common ancestor that pays.
        hops: is-a steps over it, both legs together; with none both say the same word.
        value: units of 2^-16 bit.
    """

    place: int
    asked: str
    stored: str
    things: int
    via: str
    hops: int
    value: int


@dataclass(frozen=True)
class Unmatched:
    """A statement of the query without a partner.

    Attributes:
        asked: its text.
        things: how many arguments it has.
        like: text of a statement of the item that could be its partner by its word alone: said of other things, or
            matched with another one. Empty where there is none.
    """

    asked: str
    things: int
    like: str


@dataclass(frozen=True)
class Account:
    """How one query and one item were compared.

    Attributes:
        key: of the item.
        score: units of 2^-16 bit; 0 where nothing corresponds.
        normalised: the score under the dial ``normalisation``, which the order is by.
        explained: share of the query's own value that the mapping covers, in [0, 1].
        proved: the mapping is the best one.
        entities: how many pairs of things the score holds, 2^16 units each.
        matches: in the order of the query's statements.
        unmatched: likewise.
    """

    key: str
    score: int
    normalised: float
    explained: float
    proved: bool
    entities: int
    matches: tuple[Match, ...]
    unmatched: tuple[Unmatched, ...]


@runtime_checkable
class Explaining(Arm, Protocol):
    """An arm that tells why an item scores as it does."""

    def account(self, query: Query, key: str) -> Account:
        """Returns how ``query`` and the item ``key``, a hit or not, were compared.

        Raises:
            UnknownKey: no item has this key.
        """
        ...


def account_of_case(index: Index, query: Case, key: str) -> Account:
    """Returns how a query with structure and a stored case were compared: out of the analogy between the two."""
    batch = CaseBatch.from_cases([query], index.mounted).spelled_out()
    if key in index.set_aside:
        return _nothing(key, [(short_text(said), len(said.args)) for said in batch.statements(0, index.mounted)])
    opened, number = open_query(index, batch), index.number_of(key)
    corpus = opened.corpus
    found = analogy_between(opened, number, target=query)
    asked = opened.batch.statements(opened.number, corpus.mounted)
    stored = corpus.cases.statements(number, corpus.mounted)
    like = _likes(opened.table, opened.rows, corpus.kinds_in(number))
    of = {pair.target: pair for pair in found.mapping if isinstance(pair.target, Statement)}
    matches, unmatched = [], []
    for place, said in enumerate(asked):
        text, things = short_text(said), len(said.args)
        if said in of:
            pair = of[said]
            matches.append(Match(place, text, short_text(pair.base), things, pair.via, pair.distance, pair.value))
        else:
            unmatched.append(Unmatched(text, things, short_text(stored[like[place]]) if place in like else ""))
    entities = len(found.mapping) - len(of)
    return Account(
        key, found.score, found.normalised, found.explained, found.optimal, entities, tuple(matches), tuple(unmatched)
    )


def account_of_terms(index: Index, query: EncodedQuery, key: str) -> Account:
    """Returns how the terms of a query and of a flat stored case were compared: out of their explanation."""
    display = index.mounted.ontology.display
    names = {functor: display(functor) for functor in query.present.tolist()}
    if key in index.set_aside:
        return _nothing(key, [(name, 1) for name in names.values()])
    number = index.number_of(key)
    table = index.pairs_of_query(query.present)
    found = explain(index, query.present, query.excluded, number, table)
    stored = index.cases.functors_of(number).tolist()
    like = _likes(table, table.rows_of(query.present), index.kinds_in(number))
    place = {functor: at for at, functor in enumerate(query.present.tolist())}
    matches = tuple(
        Match(
            place[pair.query], names[pair.query], display(pair.stored), 1, display(pair.via), pair.distance, pair.value
        )
        for pair in found.mapping
    )
    unmatched = tuple(
        Unmatched(names[functor], 1, display(stored[like[place[functor]]]) if place[functor] in like else "")
        for functor in found.unexplained
    )
    whole = index.self_score(query.present)
    normalised = index.normaliser.normalised(found.score, whole, number) if whole else 0.0
    entities = int(found.score > 0)
    explained, proved = found.explained, True
    return Account(key, found.score, normalised, explained, proved, entities, matches, unmatched)


def _nothing(key: str, asked: Sequence[tuple[str, int]]) -> Account:
    """Returns the account of an item that holds nothing to match on."""
    unmatched = tuple(Unmatched(text, things, "") for text, things in asked)
    return Account(key, 0, 0.0, 0.0, proved=True, entities=0, matches=(), unmatched=unmatched)


def _likes(table: PairTable, rows: LongArray, kinds: IntArray) -> dict[int, int]:
    """Returns for each place of the query's statements the place of the stored one that would pay most, if any pays."""
    held, where = np.unique(kinds, return_index=True)
    mine, theirs, entry = table.between(rows, held)
    order = np.lexsort((where[theirs], -table.value[entry], mine))
    found: dict[int, int] = {}
    for place, at in zip(mine[order].tolist(), where[theirs[order]].tolist(), strict=True):
        found.setdefault(place, at)
    return found
