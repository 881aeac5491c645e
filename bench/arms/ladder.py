"""The ablation ladder: the engine with one part more on each rung, from equal ids to typed relations.

What each rung can never do is what the next one adds. All rank by the bare score, without a power of the size.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...cases import Case, Vocabulary, related_case
from ...ontologies.mount import Mounted
from ...scoring import Dials
from .structural import Structural
from .structured import StructuralCases

__all__ = ["Exact", "Ic0", "Ic1", "Ic2", "IsA1", "IsA2", "Relations"]


class Exact(Structural):
    """How many term ids are equal; all are worth the same."""

    name = "ladder-exact"
    dials = Dials(scorer="unit", delta=0)


class IsA1(Structural):
    """The same, and terms one is-a hop apart match."""

    name = "ladder-isa-1"
    dials = Dials(scorer="unit", delta=1)


class IsA2(Structural):
    """The same, and terms two hops apart match."""

    name = "ladder-isa-2"
    dials = Dials(scorer="unit", delta=2)


class Ic0(Structural):
    """Equal term ids alone, each worth its information content."""

    name = "ladder-ic-0"
    dials = Dials(delta=0)


class Ic1(Structural):
    """The same, and terms one is-a hop apart match."""

    name = "ladder-ic-1"
    dials = Dials(delta=1)


class Ic2(Structural):
    """The same, and terms two hops apart match: the default dials."""

    name = "ladder-ic-2"
    dials = Dials(delta=2)


class Relations(StructuralCases):
    """The same, and the typed relations that the ontology states between terms of one case are statements too.

    Where ``counts`` says that there are none, it is the rung below.
    """

    name = "ladder-relations"
    dials = Dials(delta=2)

    def mounted(self, mounted: Mounted) -> Mounted:
        """Returns the lattice with the typed relations as predicates."""
        return Vocabulary.of(mounted).mounted

    def case_of(self, key: str, terms: Sequence[str]) -> Case:
        """Returns the terms with the relations between them."""
        return related_case(key, terms, self._flat)
