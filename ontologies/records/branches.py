"""Which kind of annotation a term of the Human Phenotype Ontology can stand in, by the branch that it lies in."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt

from ..ontology import Ontology
from .model import ASPECTS

__all__ = ["aspects_by_branch"]

_ALL = "HP:0000001"
_ABNORMALITY = "HP:0000118"
_BRANCHES = {"HP:0000005": "inheritance", "HP:0031797": "course", "HP:0012823": "modifier", "HP:0032443": "history"}


def aspects_by_branch(ontology: Ontology) -> npt.NDArray[np.int8] | None:
    """Returns the number in ``ASPECTS`` that each term belongs to, int8 ``[T]``, -1 where none or several fit.

    Whatever lies below "Phenotypic abnormality" (HP:0000118) is a phenotype, and so is the root, which says nothing.
    Returns None where the ontology has no such branch.
    """
    if _ABNORMALITY not in ontology.number:
        return None
    children: dict[int, list[int]] = defaultdict(list)
    owners = np.repeat(np.arange(len(ontology)), np.diff(ontology.parent_ptr))
    for child, parent in zip(owners.tolist(), ontology.parents.tolist(), strict=True):
        children[parent].append(child)

    found = np.full(len(ontology), -1, np.int8)
    fitting = np.zeros(len(ontology), np.int8)
    for root, aspect in _BRANCHES.items():
        below = _below(ontology.number.get(root), children)
        found[below] = ASPECTS.index(aspect)
        fitting[below] += 1
    found[fitting > 1] = -1
    found[_below(ontology.number[_ABNORMALITY], children)] = 0
    if _ALL in ontology.number:
        found[ontology.number[_ALL]] = 0
    return found


def _below(root: int | None, children: dict[int, list[int]]) -> list[int]:
    """The term itself and all its descendants, each once."""
    seen = set() if root is None else {root}
    waiting = list(seen)
    while waiting:
        fresh = [child for child in children.get(waiting.pop(), ()) if child not in seen]
        seen.update(fresh)
        waiting.extend(fresh)
    return sorted(seen)
