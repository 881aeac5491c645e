"""Mounting: an Ontology becomes a predicate lattice. No counts here; those belong to an index."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from ..lattice import Lattice
from .ontology import Ontology

__all__ = ["Mounted", "mount"]


@dataclass(frozen=True)
class Mounted:
    """An ontology with its is-a lattice; functor i of the lattice is term i of the ontology."""

    ontology: Ontology

    @cached_property
    def lattice(self) -> Lattice:
        """The is-a edges alone; typed relations are never lattice edges."""
        return Lattice(self.ontology.parent_ptr, self.ontology.parents)


def mount(ontology: Ontology) -> Mounted:
    """Returns ``ontology`` mounted as a predicate lattice."""
    return Mounted(ontology)
