"""Mounting: an Ontology becomes a predicate lattice. No counts here; those belong to an index."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..lattice import Lattice
from .ontology import Ontology

__all__ = ["Mounted", "mount"]


@dataclass(frozen=True)
class Mounted:
    """An ontology with its is-a lattice; functor i of the lattice is term i of the ontology.

    Attributes:
        ontology: the terms and their is-a edges.
        predicates: ids of further functors, numbered behind the terms: typed relations, and words that the ontology
            lacks. They have no place in the is-a order and match only themselves.
    """

    ontology: Ontology
    predicates: tuple[str, ...] = ()

    @cached_property
    def ids(self) -> tuple[str, ...]:
        """Ids of all functors by number."""
        return (*self.ontology.ids, *self.predicates)

    @cached_property
    def number(self) -> Mapping[str, int]:
        """Number of each functor by id."""
        return {functor: i for i, functor in enumerate(self.ids)} if self.predicates else self.ontology.number

    @cached_property
    def lattice(self) -> Lattice:
        """The is-a edges alone; typed relations are never lattice edges."""
        ptr = self.ontology.parent_ptr
        if self.predicates:
            ptr = np.concatenate([ptr, np.full(len(self.predicates), ptr[-1], ptr.dtype)])
        return Lattice(ptr, self.ontology.parents)


def mount(ontology: Ontology, predicates: Iterable[str] = ()) -> Mounted:
    """Returns ``ontology`` mounted as a predicate lattice, with ``predicates`` that it lacks beside its terms."""
    return Mounted(ontology, tuple(sorted(set(predicates) - ontology.number.keys())))
