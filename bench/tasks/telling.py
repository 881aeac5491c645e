"""Cases with structure as items and queries: their functors as terms, and their statements in words."""

from __future__ import annotations

from collections.abc import Callable

from ...cases import Case, Entity, Statement
from .task import CaseItem, CaseQuery

__all__ = ["item_of", "query_of", "told"]

Names = Callable[[str], str]


def item_of(case: Case, name: Names = str) -> CaseItem:
    """Returns a case as an item under its key; ``name`` gives the name of a functor by its id."""
    return CaseItem(case.key, _functors(case), told(case, name), case=case)


def query_of(case: Case, name: Names = str) -> CaseQuery:
    """Returns a case as a query; ``name`` gives the name of a functor by its id."""
    return CaseQuery(_functors(case), told(case, name), case=case)


def told(case: Case, name: Names = str) -> str:
    """Returns the statements of a case in their order, as text that holds every word of them."""
    return "; ".join(_told(statement, name) for statement in case.statements)


def _told(said: Statement | Entity, name: Names) -> str:
    if isinstance(said, Entity):
        return said.name
    return f"{name(said.functor.id)}({', '.join(_told(argument, name) for argument in said.args)})"


def _functors(case: Case) -> tuple[str, ...]:
    return tuple(sorted({statement.functor.id for statement in case.walk()}))
