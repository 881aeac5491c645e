"""An analogy: one stored case (the base) and one query case (the target), aligned and explained symbolically."""

from __future__ import annotations

from dataclasses import dataclass

from ..cases.model import Case, Entity, Statement
from ..scoring import Dials

__all__ = ["Analogy", "CandidateInference", "Correspondence", "Difference"]


@dataclass(frozen=True)
class Correspondence:
    """A pair of the mapping.

    Attributes:
        base: item of the base.
        target: item of the target, of the same kind.
        value: what the pair adds to the score, units of 2^-16 bit.
        via: id of the common ancestor that pays, for two statements; empty for two entities.
        distance: is-a hops over it, both legs together.
        grounded: some matched statement pair has the two as arguments. Always true of statements; a pair of entities
            that no matched statement speaks of is free: any other pairing of the free ones would score the same.
    """

    base: Entity | Statement
    target: Entity | Statement
    value: int
    via: str
    distance: int
    grounded: bool


@dataclass(frozen=True)
class CandidateInference:
    """A statement of the base, put in the words of the target, which lacks it.

    Attributes:
        statement: the projected statement. An entity without a counterpart stands as an entity of type ``skolem``.
        source: the statement of the base.
        skolems: the entities that were made up, by name: each is named after the entity of the base, with a number
            where another entity of the target has that name.
        support: value of the matched pairs inside ``source``, units of 2^-16 bit.
        value: what the unmatched statements inside ``source`` would be worth, units of 2^-16 bit.
        denied_by: what the target states or excludes against a part of ``statement``; a bare denial without arguments
            stands for an excluded term.
    """

    statement: Statement
    source: Statement
    skolems: tuple[Entity, ...]
    support: int
    value: int
    denied_by: tuple[Statement, ...] = ()


@dataclass(frozen=True)
class Difference:
    """Two statements in the same place that say different things; ``via`` names an ancestor that they share, or ""."""

    base: Statement
    target: Statement
    via: str


@dataclass(frozen=True)
class Analogy:
    """The best mapping between two cases and what follows from it.

    Attributes:
        base: the stored case.
        target: the query case.
        dials: what scores depend on.
        score: structural evaluation score of the mapping, units of 2^-16 bit: the values of ``mapping`` added up.
        bound: no mapping scores more than this, units of 2^-16 bit.
        optimal: ``score`` equals ``bound``: the mapping is proved best.
        canonical: the mapping is proved the first of the best, by the order of the target's statements.
        nodes: search nodes it took.
        self_base: score of the base against itself, units of 2^-16 bit.
        self_target: score of the target against itself, units of 2^-16 bit.
        normalised: the score under the dial ``normalisation``, 1.0 for the target's own copy.
        explained: share of the target's own value that the mapping covers, 0 to 1.
        mapping: statements in the order of their text in the target, then entities likewise.
        inferences: those that rest on most of the mapping first, those that the target partly denies last.
        alignable: differences in corresponding places, in the order of the target.
        base_only: statements of the base that neither match nor differ alignably, roots only.
        target_only: likewise of the target.
        contradicted: pairs (base, target) of statements in the same place of which one denies the other; a bare denial
            without arguments stands for a term that its case excludes.
    """

    base: Case
    target: Case
    dials: Dials
    score: int
    bound: int
    optimal: bool
    canonical: bool
    nodes: int
    self_base: int
    self_target: int
    normalised: float
    explained: float
    mapping: tuple[Correspondence, ...]
    inferences: tuple[CandidateInference, ...]
    alignable: tuple[Difference, ...]
    base_only: tuple[Statement, ...]
    target_only: tuple[Statement, ...]
    contradicted: tuple[tuple[Statement, Statement], ...]
