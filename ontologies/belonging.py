"""Which ontology a foreign id belongs to, and how a query with ids of several ontologies is split."""

from __future__ import annotations

from collections.abc import Sequence

from .catalog import Owner, owners_of
from .ontology import Ontology

__all__ = ["belonging", "foreign_owners", "namesakes", "split_notes"]


def foreign_owners(ontology: Ontology, term: str) -> list[Owner]:
    """Returns the other ontologies whose ids have the form of ``term``.

    None where it has the form of an id of ``ontology`` itself too, or of no known ontology.
    """
    prefix = term.partition(":")[0].strip() if ":" in term else ""
    if prefix and prefix.casefold() in {own.casefold() for own in ontology.prefixes}:
        return []
    owners = owners_of(term)
    return [] if any(owner.name == ontology.name for owner in owners) else owners


def namesakes(ontology: Ontology, term: str) -> list[Owner]:
    """Returns the other ontologies whose ids have the form of ``term``, where those of ``ontology`` have it too."""
    owners = owners_of(term)
    others = [owner for owner in owners if owner.name != ontology.name]
    return others if len(others) < len(owners) else []


def belonging(owners: Sequence[Owner]) -> str:
    """Returns the owners in words, such as ``Gene Ontology (domain genomics)``."""
    told = [f"{o.title} (domain {o.domain})" if o.domain else f"{o.title} ({o.name})" for o in owners]
    return " or ".join(filter(None, [", ".join(told[:-1]), told[-1]]))


def split_notes(ontology: Ontology, observed: Sequence[str], excluded: Sequence[str], used: int) -> list[str]:
    """Returns what to do with the ids in a query that belong to other ontologies: one note for each of these.

    Args:
        ontology: the one that is asked.
        observed: ids given as present that it does not know.
        excluded: ids given as absent that it does not know.
        used: ids that it knows.
    """
    parts: dict[Owner, tuple[list[str], list[str]]] = {}
    for place, terms in enumerate((observed, excluded)):
        for term in terms:
            for owner in foreign_owners(ontology, term)[:1]:
                parts.setdefault(owner, ([], []))[place].append(term)
    notes = []
    for owner, (present, absent) in parts.items():
        here = f"{used} of {ontology.name} {'is' if used == 1 else 'are'} answered here"
        many = len(present) + len(absent)
        split = f"the query holds ids of several ontologies and is split: {here}, {many} of {owner.title}"
        if owner.domain:
            words = " ".join([*present, *(["--exclude", *absent] if absent else [])])
            notes.append(f"{split} {'is' if many == 1 else 'are'} for: sma-gpu query {owner.domain} {words}")
        else:
            notes.append(f"{split} ({owner.name}), for which no records are known: {', '.join([*present, *absent])}")
    return notes
