"""The best mapping of two cases as an integer programme, for cases that are too large to enumerate.

One worker and no time limit: what it answers is proved, and the same on every machine.
"""

from __future__ import annotations

from collections.abc import Collection

from ortools.sat.python import cp_model

from sma_gpu.cases.model import Case, Statement

from .enumerator import Hypothesis, Oracle


def solve(
    oracle: Oracle, query: Case, stored: Case, without: Collection[Hypothesis] = ()
) -> tuple[int, frozenset[Hypothesis]]:
    """Returns the structural evaluation score and one mapping that attains it; 0 and no pair where nothing matches.

    Args:
        oracle: gives hypotheses and their values.
        query: the query case.
        stored: the stored case.
        without: pairs that the mapping must do without.
    """
    model = cp_model.CpModel()
    every = oracle.hypotheses(query, stored)
    if not any(isinstance(q, Statement) for q, _ in every):
        return 0, frozenset()
    chosen = {h: model.new_bool_var(str(i)) for i, h in enumerate(every)}
    for side in (0, 1):
        sharing: dict[object, list[cp_model.IntVar]] = {}
        for h in every:
            sharing.setdefault(h[side], []).append(chosen[h])
        for variables in sharing.values():
            model.add_at_most_one(variables)
    for h in without:
        if h in chosen:
            model.add(chosen[h] == 0)
    for h in every:
        _support(model, h, chosen)
    model.add(sum(chosen[h] for h in every if isinstance(h[0], Statement)) >= 1)  # entities alone say nothing
    model.maximize(sum(oracle.value(h) * chosen[h] for h in every))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    status = solver.solve(model)
    if status == cp_model.INFEASIBLE:
        return 0, frozenset()
    assert status == cp_model.OPTIMAL, solver.status_name(status)
    mapping = frozenset(h for h in every if solver.boolean_value(chosen[h]))
    return sum(oracle.value(h) for h in mapping), mapping


def best_by_cpsat(oracle: Oracle, query: Case, stored: Case) -> int:
    """Returns the structural evaluation score."""
    return solve(oracle, query, stored)[0]


def _support(model: cp_model.CpModel, pair: Hypothesis, chosen: dict[Hypothesis, cp_model.IntVar]) -> None:
    """A chosen pair needs its argument pairs: as they stand, or laid side by side in some order if both commute."""
    q, c = pair
    if not (isinstance(q, Statement) and isinstance(c, Statement)):
        return
    if not (q.functor.commutative and c.functor.commutative):
        for argument in zip(q.args, c.args, strict=True):
            if argument in chosen:
                model.add_implication(chosen[pair], chosen[argument])
            else:
                model.add(chosen[pair] == 0)
        return
    places = range(len(q.args))
    beside = {}
    for i in places:
        for j in places:
            argument = (q.args[i], c.args[j])
            if argument in chosen:
                beside[i, j] = model.new_bool_var("")
                model.add_implication(beside[i, j], chosen[argument])
    for at in places:
        model.add(sum(beside[at, j] for j in places if (at, j) in beside) == chosen[pair])
        model.add(sum(beside[i, at] for i in places if (i, at) in beside) == chosen[pair])
