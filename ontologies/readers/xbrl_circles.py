"""Presentation networks as one lattice: circles in a network are refused, circles of several networks are opened.

By the specification a network of parent-child links under one role may hold no directed circle (XBRL 2.1, 5.2.4.2).
Networks under several roles may contradict one another: a note may show the total below its detail, where the statement
shows the detail below its total. Neither is wrong, but the union of both is no lattice.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ...errors import CycleFound
from ..graph import circle, components, is_circular, spell

__all__ = ["opened", "refuse_circle"]

Edge = tuple[str, str]  # child, parent


def refuse_circle(edges: Iterable[Edge], role: str, path: str) -> None:
    """Refuses a network whose edges (child, parent) run in a circle; an edge of a concept to itself is none.

    Raises:
        CycleFound: they do; of several circles, that with the smallest concept is named.
    """
    ids, rows = _graph(edge for edge in edges if edge[0] != edge[1])
    circular = [component for component in components(rows) if is_circular(component, rows)]
    if circular:
        cycle = tuple(ids[i] for i in circle(min(circular), rows))
        raise CycleFound(
            f"read {path}",
            f"the presentation network of the role {role} runs in a circle: {spell(cycle)}",
            "Take one of these links out; which one is wrong cannot be told from the file.",
            cycle=cycle,
        )


def opened(roles: Mapping[Edge, Iterable[str]]) -> dict[Edge, tuple[str, ...]]:
    """Returns the edges to leave out so that the others run in no circle, each with the circle that it would close.

    Only edges of a circle are looked at. Those shown under most roles stay, then those whose first role, child and
    parent come first by code point; each of the others stays unless it closes a circle with those before it.

    Args:
        roles: the roles under which each edge (child, parent) is shown.

    >>> opened({("a", "b"): ["1", "2"], ("b", "a"): ["3"], ("a", "c"): ["1"]})
    {('b', 'a'): ('b', 'a', 'b')}
    """
    ids, rows = _graph(edge for edge in roles if edge[0] != edge[1])
    place = {term: number for number, term in enumerate(ids)}
    part: dict[str, int] = {}
    for number, component in enumerate(components(rows)):
        if is_circular(component, rows):
            part.update((ids[node], number) for node in component)
    inside = [e for e in roles if e[0] != e[1] and e[0] in part and part.get(e[0]) == part.get(e[1])]
    above: dict[str, list[str]] = {}
    left_out: dict[Edge, tuple[str, ...]] = {}
    for child, parent in sorted(inside, key=lambda e: (-len({*roles[e]}), min(roles[e]), place[e[0]], place[e[1]])):
        way = _way(parent, child, above)
        if way:
            left_out[child, parent] = (child, *way)
        else:
            above.setdefault(child, []).append(parent)
    return left_out


def _graph(edges: Iterable[Edge]) -> tuple[list[str], list[list[int]]]:
    """Returns the concepts in code-point order, and for each the numbers of those it leads to, ascending."""
    drawn = sorted({*edges})
    ids = sorted({term for edge in drawn for term in edge})
    place = {term: number for number, term in enumerate(ids)}
    rows: list[list[int]] = [[] for _ in ids]
    for child, parent in drawn:
        rows[place[child]].append(place[parent])
    return ids, rows


def _way(start: str, end: str, above: Mapping[str, Sequence[str]]) -> list[str]:
    """Returns a shortest way upward from ``start`` to ``end``, both included, or an empty list."""
    came: dict[str, str] = {start: ""}
    waiting = [start]
    for node in waiting:  # grows while it is walked
        if node == end:
            way = [node]
            while came[way[-1]]:
                way.append(came[way[-1]])
            return way[::-1]
        for parent in above.get(node, ()):
            if parent not in came:
                came[parent] = node
                waiting.append(parent)
    return []
