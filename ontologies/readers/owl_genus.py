"""What the genus of a definition gives: a parent where the asserted is-a edges do not lead there already.

A class that is defined as "a G with ..." is a G. Where G is above it anyway, an edge to it would be a short cut past
the classes between them; where it is not, the definition is all that the file says of the place of the class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["genus_edges"]


def genus_edges(parents: Mapping[str, Iterable[str]], genera: Mapping[str, Iterable[str]]) -> list[tuple[str, str]]:
    """Returns the pairs (term, genus) that become edges, by code point; the order of names decides nothing else.

    A genus that anything else above the term leads up to is left out, and so is one that would close a circle.

    >>> genus_edges({"cat": ["felid"], "felid": ["animal"]}, {"cat": ["animal"], "pup": ["dog"]})
    [('pup', 'dog')]
    """
    above = {term: set(direct) for term, direct in parents.items()}
    found: list[tuple[str, str]] = []
    for term in sorted(genera):
        known = _ancestors(above, above.get(term, ()))
        for genus in sorted(set(genera[term]) - known - {term}):
            if term not in _ancestors(above, [genus]):
                found.append((term, genus))
                above.setdefault(term, set()).add(genus)
    grown = dict.fromkeys(term for term, _ in found)
    beyond = {term: _ancestors(above, (a for p in above[term] for a in above.get(p, ()))) for term in grown}
    return [(term, genus) for term, genus in found if genus not in beyond[term]]


def _ancestors(above: Mapping[str, Iterable[str]], start: Iterable[str]) -> set[str]:
    """Returns the terms of ``start`` and all above them."""
    found: set[str] = set()
    waiting = list(start)
    while waiting:
        term = waiting.pop()
        if term not in found:
            found.add(term)
            waiting.extend(above.get(term, ()))
    return found
