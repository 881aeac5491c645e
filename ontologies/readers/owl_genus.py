"""What the genus of a definition gives: a parent where the asserted is-a edges do not lead there already.

A class that is defined as "a G with ..." is a G. Where G is above it anyway, an edge to it would be a short cut past
the classes between them; where it is not, the definition is all that the file says of the place of the class.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["genus_edges"]


def genus_edges(parents: Mapping[str, Iterable[str]], genera: Mapping[str, Iterable[str]]) -> list[tuple[str, str]]:
    """Returns the pairs (term, genus) that become edges, by code point.

    A genus that another genus of the term leads up to is left out, and so is one that would close a circle.

    >>> genus_edges({"cat": ["felid"], "felid": ["animal"]}, {"cat": ["animal"], "pup": ["dog"]})
    [('pup', 'dog')]
    """
    above = {term: set(direct) for term, direct in parents.items()}
    found: list[tuple[str, str]] = []
    for term in sorted(genera):
        mine = sorted(set(genera[term]) - {term})
        known = _ancestors(above, above.get(term, ()))
        fresh = [genus for genus in mine if genus not in known]
        beyond = {genus: _ancestors(above, above.get(genus, ())) for genus in fresh}
        for genus in fresh:
            shadowed = any(genus in beyond[other] for other in fresh if other != genus and other not in beyond[genus])
            if not shadowed and term not in beyond[genus]:
                found.append((term, genus))
                above.setdefault(term, set()).add(genus)
    return found


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
