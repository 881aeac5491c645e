"""Records of some modes of inheritance, by id or by name."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from ..errors import QueryError
from ..ontologies.domains import Domain
from ..ontologies.ontology import Ontology
from ..ontologies.records.branches import aspects_by_branch
from ..ontologies.records.model import ASPECTS
from ..ontologies.search import by_exact_name, search

__all__ = ["inherited", "modes_of"]

_ASPECT = ASPECTS.index("inheritance")
_SHOWN = 8  # modes named where one was not found


def modes_of(domain: Domain, asked: Iterable[str]) -> tuple[str, ...]:
    """Returns the ids of the modes of inheritance that ``asked`` names, by id, by old id, by name or by synonym.

    Raises:
        QueryError: records of this domain have none, or a text names no mode of inheritance, or several.
    """
    asked = list(asked)
    if not asked:
        return ()  # the branches of all terms are walked for those who ask alone
    ontology = domain.mounted.ontology
    branch = aspects_by_branch(ontology)
    return tuple(dict.fromkeys(_mode_of(ontology, branch, text) for text in asked))


def inherited(domain: Domain, modes: Iterable[str]) -> npt.NDArray[np.bool_]:
    """Returns which records have one of ``modes``, or a narrower one, bool ``[R]``; modes ruled out do not count."""
    ontology, records, closure = domain.mounted.ontology, domain.records, domain.mounted.lattice.closure
    wanted = np.zeros(len(ontology), np.bool_)
    for mode in modes:
        at = np.flatnonzero(closure.ancestors == ontology.number[mode])
        wanted[np.searchsorted(closure.ptr, at, side="right") - 1] = True
        wanted[ontology.number[mode]] = True
    owner = np.repeat(np.arange(len(records)), np.diff(records.ptr))
    found = np.zeros(len(records), np.bool_)
    found[owner[(records.aspect == _ASPECT) & ~records.excluded & wanted[records.term]]] = True
    return found


def _mode_of(ontology: Ontology, branch: npt.NDArray[np.int8] | None, text: str) -> str:
    asked = f"the mode of inheritance {text!r}"
    if branch is None or not (branch == _ASPECT).any():
        raise QueryError(asked, f"{ontology.label} has no modes of inheritance", "Leave it out.")

    def is_mode(term: str) -> bool:
        return bool(branch[ontology.number[term]] == _ASPECT)

    used = ontology.resolve(text).used
    if used is not None and not is_mode(used):
        name = f"{used} {ontology.names[ontology.number[used]]}".strip()
        raise QueryError(asked, f"{name} is no mode of inheritance", "Give one, such as HP:0000006.")
    found = [used] if used is not None else [m.id for m in by_exact_name(ontology, text) if is_mode(m.id)]
    if len(found) == 1:
        return found[0]
    if found:
        told = ", ".join(f"{term} {ontology.names[ontology.number[term]]}" for term in found)
        raise QueryError(asked, f"several are called so: {told}", "Give the id you mean.")
    near = [m.id for m in search(ontology, text, 50).matches if is_mode(m.id)] if text else []
    shown = (near or [ontology.ids[number] for number in np.flatnonzero(branch == _ASPECT).tolist()])[:_SHOWN]
    names = ", ".join(f"{term} {ontology.names[ontology.number[term]]}" for term in shown)
    raise QueryError(asked, "no mode of inheritance has this id or name", f"Modes are {names}, and so on.")
