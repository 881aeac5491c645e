"""Analogies put together by hand, for tests of how an analogy is told."""

from __future__ import annotations

import random

from sma_gpu.cases.model import Case, Entity, Predicate, Statement
from sma_gpu.retrieval.analogy import Analogy, CandidateInference, Correspondence, Difference
from sma_gpu.scoring import GRID, Dials

DIALS = Dials("unit")


def say(functor: str, *args: Entity | Statement, negated: bool = False, weight: float = 1.0) -> Statement:
    """Returns a statement."""
    return Statement(Predicate(functor), args, negated, weight)


def entity_pair(base: Entity, target: Entity, *, grounded: bool = True) -> Correspondence:
    """Returns a pair of entities of the mapping."""
    return Correspondence(base, target, GRID, "", 0, grounded)


def pair(base: Statement, target: Statement, bits: float, via: str = "", distance: int = 0) -> Correspondence:
    """Returns a pair of statements of the mapping."""
    return Correspondence(base, target, int(bits * GRID), via or base.functor.id, distance, True)


def analogy_of(
    base: Case,
    target: Case,
    mapping: tuple[Correspondence, ...] = (),
    inferences: tuple[CandidateInference, ...] = (),
    *,
    alignable: tuple[Difference, ...] = (),
    base_only: tuple[Statement, ...] = (),
    target_only: tuple[Statement, ...] = (),
    contradicted: tuple[tuple[Statement, Statement], ...] = (),
    gap: int = 0,
    canonical: bool = True,
) -> Analogy:
    """Returns an analogy; what scores depend on is made up."""
    score = sum(c.value for c in mapping)
    return Analogy(
        base, target, DIALS, score, score + gap, gap == 0, canonical and gap == 0, 31, 40 * GRID, 20 * GRID,
        score / (20 * GRID), min(1.0, score / (20 * GRID)), mapping, inferences, alignable, base_only, target_only,
        contradicted,
    )  # fmt: skip


def flow() -> Analogy:
    """Returns water flow and heat flow, with a skolem and a contradiction that the classic pair has not."""
    water, beaker, vial, pipe = map(Entity, ("water", "beaker", "vial", "pipe"))
    heat, coffee, ice, bar = map(Entity, ("heat", "coffee", "ice-cube", "bar"))
    at_beaker, at_vial = say("pressure", beaker), say("pressure", vial)
    higher, runs = say("greater", at_beaker, at_vial), say("flow", beaker, vial, water, pipe)
    wider = say("greater", say("diameter", beaker), say("diameter", vial))
    wet, still, glass = say("liquid", water), say("still", vial, negated=True), say("made-of", beaker, Entity("glass"))
    hot, cold = say("temperature", coffee), say("temperature", ice)
    hotter, moves = say("greater", hot, cold), say("flow", coffee, ice, heat, bar)
    calm, brown = say("still", ice), say("brown", coffee, weight=0.5)
    base = Case("water", (say("cause", higher, runs), wider, wet, still, glass), "Water flow")
    target = Case("heat", (hotter, moves, calm, brown))
    mapping = (
        pair(runs, moves, 2.0),
        pair(higher, hotter, 1.625),
        pair(at_beaker, hot, 1.125, "quantity", 2),
        pair(at_vial, cold, 1.125, "quantity", 2),
        entity_pair(pipe, bar),
        entity_pair(beaker, coffee),
        entity_pair(water, heat, grounded=False),
        entity_pair(vial, ice),
    )
    made_up = Entity("glass", "skolem")
    inferences = (
        CandidateInference(say("cause", hotter, moves), say("cause", higher, runs), (), 4 * GRID, 2 * GRID),
        CandidateInference(say("made-of", coffee, made_up), glass, (made_up,), GRID, GRID),
    )
    return analogy_of(
        base, target, mapping, inferences,
        alignable=(Difference(wet, brown, "look"), Difference(at_vial, cold, "quantity")),
        base_only=(wider,), target_only=(brown,), contradicted=((still, calm),),
    )  # fmt: skip


def crowd(size: int = 150, seed: int = 3) -> Analogy:
    """Returns a large analogy: nested statements that share arguments, half of them matched in shuffled order."""
    rng = random.Random(seed)
    here, there = ([Entity(f"{side} {i}") for i in range(20)] for side in ("base <&> entity", "\u75c7\u72b6"))
    base: list[Statement] = []
    target: list[Statement] = []
    for i in range(size):
        if i > 6 and rng.random() < 0.5:
            below = [rng.randrange(i) for _ in range(2)]
            base.append(say(f"joins {i}", *(base[j] for j in below)))
            target.append(say(f"links {i}", *(target[j] for j in below)))
        else:
            below = [rng.randrange(20) for _ in range(3)]
            name = f"a functor with an uncommonly long name, number {i}"
            base.append(say(name, *(here[j] for j in below)))
            target.append(say(name, *(there[j] for j in below)))
    mapping = tuple(pair(b, t, rng.random() * 3) for b, t in zip(base, target, strict=True) if b.order < 2)
    mapping += tuple(entity_pair(b, t) for b, t in zip(here, there, strict=True))
    inferences = tuple(
        CandidateInference(t, b, (), GRID, i) for i, (b, t) in enumerate(zip(base, target, strict=True)) if b.order == 2
    )
    stated = [t for t in target if t.order < 2] + [say("odd", e) for e in there]
    rng.shuffle(stated)
    rest = tuple(b for b in base if b.order > 2)
    return analogy_of(
        Case("crowd", tuple(base)), Case("others", tuple(stated)), mapping, inferences, base_only=rest,
        target_only=tuple(s for s in stated if s.functor.id == "odd"), gap=1,
    )  # fmt: skip
