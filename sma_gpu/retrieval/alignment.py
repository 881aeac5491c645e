"""From a query and one stored case to the analogy between them: the canonical mapping and what follows from it."""

from __future__ import annotations

from ..cases import Case, CaseBatch, Vocabulary
from ..ops.structure import NODE_BUDGET, Hypotheses, PairedUp, bitsets, first_of_best
from ..scoring import Dials
from ..scoring.grid import ENTITY_VALUE
from .analogy import Analogy, Correspondence
from .corpus import Corpus
from .pairing import pair_up
from .projection import Projection, roots
from .search import OpenQuery, open_query

__all__ = ["ALIGN_DIALS", "align", "analogy_between"]

ALIGN_DIALS = Dials(scorer="unit")  # two cases are no corpus to count in


def align(
    base: Case,
    target: Case,
    vocabulary: Vocabulary | None = None,
    dials: Dials | None = None,
    *,
    node_budget: int = NODE_BUDGET,
) -> Analogy:
    """Returns the analogy from ``base`` to ``target``: the best mapping, and what it lets one expect of the target.

    Args:
        base: the case that is known.
        target: the case that is asked about.
        vocabulary: the lattice both are written in. A predicate that it lacks matches only itself; without a
            vocabulary all do.
        dials: scorer settings; worths of 1 bit a statement by default, since one case is no corpus to count in.
        node_budget: greatest number of nodes in the search for the best mapping, and again for the canonical one.

    Raises:
        CapacityError: a case whose self-score reaches 2^31 units.

    Example:
        >>> from sma_gpu import Case, Entity, Predicate, Statement
        >>> def says(word, *names):
        ...     return Statement(Predicate(word), tuple(Entity(n) for n in names))
        >>> solar = Case("solar", (says("attracts", "sun", "planet"), says("revolves", "planet", "sun")))
        >>> atom = Case("atom", (says("revolves", "electron", "nucleus"),))
        >>> found = align(solar, atom)
        >>> [(c.base.name, c.target.name) for c in found.mapping if c.grounded and isinstance(c.base, Entity)]
        [('planet', 'electron'), ('sun', 'nucleus')]
        >>> [[a.name for a in i.statement.args] for i in found.inferences]
        [['nucleus', 'electron']]
    """
    vocabulary = vocabulary or Vocabulary.plain()
    mounted = vocabulary.with_predicates(vocabulary.missing([base, target])).mounted
    corpus = Corpus.build(CaseBatch.from_cases([base], mounted).spelled_out(), mounted, dials or ALIGN_DIALS)
    batch = CaseBatch.from_cases([target], mounted)
    if not len(corpus):
        return _nothing(base, target, corpus.dials)
    return analogy_between(open_query(corpus, batch, node_budget=node_budget), 0, base=base, target=target)


def analogy_between(opened: OpenQuery, case: int, *, base: Case | None = None, target: Case | None = None) -> Analogy:
    """Returns the analogy from the stored case number ``case`` to an opened query.

    Args:
        opened: the query; it and the stored cases must have structure.
        case: number of the case.
        base: the stored case in symbolic form, where it is at hand.
        target: the query likewise.
    """
    corpus, mounted = opened.corpus, opened.corpus.mounted
    pair = pair_up(corpus, opened.table, opened.rows, opened.batch.items(opened.number), case)
    found = pair.best(opened.block.node_budget)
    mapping, canonical = first_of_best(pair.made, found, opened.block.node_budget)
    sides = _Sides(opened, case)
    correspondences = _correspondences(sides, pair, mapping)
    base = base or corpus.cases.case(case, mounted)
    target = target or opened.batch.case(opened.number, mounted)
    projection = Projection(
        mounted, base, target, correspondences, dict(zip(sides.base, sides.worth_base, strict=True))
    )
    score = pair.score(found.total)
    return Analogy(
        base=base,
        target=target,
        dials=corpus.dials,
        score=score,
        bound=pair.score(found.bound),
        optimal=found.total == found.bound,
        canonical=canonical,
        nodes=found.nodes,
        self_base=int(corpus.normaliser.self_scores[case]),
        self_target=opened.self_score,
        normalised=corpus.normaliser.normalised(score, opened.self_score, case),
        explained=_explained(sides, pair.made, mapping),
        mapping=correspondences,
        inferences=projection.inferences,
        alignable=projection.alignable,
        base_only=projection.base_only,
        target_only=projection.target_only,
        contradicted=projection.contradicted,
    )


def _nothing(base: Case, target: Case, dials: Dials) -> Analogy:
    """Returns the analogy from a base that states nothing."""
    return Analogy(
        base=base, target=target, dials=dials, score=0, bound=0, optimal=True, canonical=True, nodes=0, self_base=0,
        self_target=0, normalised=0.0, explained=0.0, mapping=(), inferences=(), alignable=(), base_only=(),
        target_only=roots(target), contradicted=(),
    )  # fmt: skip


class _Sides:
    """Both cases in symbolic form, item by item."""

    def __init__(self, opened: OpenQuery, case: int) -> None:
        corpus = opened.corpus
        self.table, self.ids = opened.table, corpus.mounted.ids
        self.target = opened.batch.statements(opened.number, corpus.mounted)
        self.base = corpus.cases.statements(case, corpus.mounted)
        self.target_entities = opened.batch.items(opened.number).entities
        self.base_entities = corpus.cases.items(case).entities
        self.worth_base: list[int] = corpus.stored_values(case).tolist()
        self.worth_target: list[int] = opened.own_values.tolist()


def _correspondences(sides: _Sides, pair: PairedUp, mapping: int) -> tuple[Correspondence, ...]:
    """Returns the pairs of a mapping, statements first, and the free pairs of entities that complete it."""
    made, table = pair.made, sides.table
    found: list[Correspondence] = []
    chosen = list(bitsets.bits(mapping))
    for h in sorted((h for h in chosen if pair.entry[h] >= 0), key=lambda h: int(made.query[h])):
        entry = int(pair.entry[h])
        via = sides.ids[int(table.via[entry]) % len(sides.ids)]
        base, target = sides.base[int(made.stored[h])], sides.target[int(made.query[h])]
        found.append(Correspondence(base, target, int(made.value[h]), via, int(table.distance[entry]), grounded=True))
    if not found:
        return ()
    # Entities are numbered behind the statements of their case.
    shift, base_shift = len(sides.target), len(sides.base)
    partner = {int(made.query[h]) - shift: int(made.stored[h]) - base_shift for h in chosen if pair.entry[h] < 0}
    taken = set(partner.values())
    free = [i for i in range(len(sides.base_entities)) if i not in taken]
    for number, entity in enumerate(sides.target_entities):
        grounded = number in partner
        place = partner.get(number)
        if place is None:
            place = next((i for i in free if sides.base_entities[i].may_pair(entity)), None)
            if place is None:
                continue
            free.remove(place)
        found.append(Correspondence(sides.base_entities[place], entity, ENTITY_VALUE, "", 0, grounded=grounded))
    return tuple(found)


def _explained(sides: _Sides, made: Hypotheses, mapping: int) -> float:
    whole = sum(sides.worth_target)
    covered = sum(
        min(int(made.value[h]), sides.worth_target[int(made.query[h])]) for h in bitsets.bits(mapping & ~made.entity)
    )
    return covered / whole if whole else 0.0
