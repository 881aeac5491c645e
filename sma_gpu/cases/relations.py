"""Cases of present terms together with the typed relations that their ontology states between them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ..errors import CaseError
from ..ontologies.mount import Mounted
from ..ontologies.search import nearest_ids
from .model import SUBJECT, Case, Predicate, Statement

__all__ = ["related_case"]


def related_case(
    key: str, present: Iterable[str], mounted: Mounted, excluded: Iterable[str] = (), name: str = ""
) -> Case:
    r"""Returns the case that says which terms its one subject has, and how the ontology relates these to each other.

    A typed relation (x, r, y) with both ends present becomes ``r(x(subject), y(subject))``. The terms come first, by
    id; then the relations, by relation, subject and object. To index such cases, mount the relations beside the terms
    (``Vocabulary.of``).

    Args:
        key: the caller's key.
        present: ids of the terms that are present; any order, doubles count once. Ids are taken as given: none is
            replaced by today's id.
        mounted: the ontology.
        excluded: ids of the terms that were looked for and are absent.
        name: a name for people.

    Raises:
        CaseError: an id has no place in the lattice.

    Example:
        >>> from sma_gpu import load_ontology, mount
        >>> cell = b"[Term]\nid: EX:1\nname: cell\n[Term]\nid: EX:2\nname: nucleus\nrelationship: part_of EX:1\n"
        >>> [s.functor.id for s in related_case("k", ["EX:2", "EX:1"], mount(load_ontology(cell))).statements]
        ['EX:1', 'EX:2', 'part_of']
    """
    asked = f"case {key!r}"
    holds = {term: Statement(Predicate(term), (SUBJECT,)) for term in _usable(present, mounted, asked)}
    ontology = mounted.ontology
    numbers = np.array(sorted(ontology.number[term] for term in holds if term in ontology.number), dtype=np.int32)
    triples = ontology.relations
    inside = np.isin(triples[:, 0], numbers) & np.isin(triples[:, 2], numbers)
    related = sorted((ontology.relation_ids[r], ontology.ids[x], ontology.ids[y]) for x, r, y in triples[inside])
    statements = [*holds.values(), *(Statement(Predicate(r), (holds[x], holds[y])) for r, x, y in related)]
    return Case(key, tuple(statements), name, tuple(_usable(excluded, mounted, asked)))


def _usable(ids: Iterable[str], mounted: Mounted, asked: str) -> list[str]:
    """Returns ``ids`` ascending, each once."""
    if isinstance(ids, str):
        raise CaseError(asked, f"one string, {ids!r:.80}", "Give a collection of ids, such as ['EX:1'].")
    distinct = sorted(set(ids))
    label = _label(mounted)
    for term in distinct:
        resolution = mounted.ontology.resolve(term)
        if resolution.status == "placeholder":
            raise CaseError(asked, f"{term} is named in {label} but not defined there", "Leave it out.")
        if term in mounted.number:
            continue
        if resolution.status in ("replaced", "retired"):
            today = resolution.used
            do = f"Give {today}, which stands for it today." if today else "Leave it out."
            raise CaseError(asked, f"{term} is no longer live in {label}", do)
        near = nearest_ids(mounted.ontology, term)
        hint = f" Did you mean {' or '.join(near)}?" if near else ""
        raise CaseError(asked, f"{term} is not in {label}", f"Give ids of {label}.{hint}")
    return distinct


def _label(mounted: Mounted) -> str:
    """Returns what to call the ontology; one that was made in memory has perhaps no name of its own."""
    label = mounted.ontology.label
    return "the ontology made in memory" if label == "in-memory" else label
