"""Order and cycles of a directed graph, without recursion: chains are short in real files, not in hostile ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

__all__ = ["circle", "components", "is_circular", "spell"]

_SHOWN = 12  # ids of a cycle spelled out in a message; error objects hold all


def components(steps: Sequence[Sequence[int]]) -> list[list[int]]:
    """Returns the strongly connected components, each behind all that it leads to, its nodes ascending.

    Cost: linear in nodes and steps (Tarjan 1972).
    """
    found: list[list[int]] = []
    index = [-1] * len(steps)  # position in the walk
    low = [0] * len(steps)  # smallest position that the node reaches in an open component
    closed = [False] * len(steps)
    opened: list[int] = []
    count = 0
    for start in range(len(steps)):
        if index[start] >= 0:
            continue
        walk: list[tuple[int, Iterator[int]]] = []
        node: int | None = start
        while True:
            if node is not None:  # a node not seen before
                index[node] = low[node] = count
                count += 1
                opened.append(node)
                walk.append((node, iter(steps[node])))
            here, onward = walk[-1]
            node = None
            for target in onward:
                if index[target] < 0:
                    node = target
                    break
                if not closed[target]:
                    low[here] = min(low[here], index[target])
            if node is not None:
                continue
            walk.pop()
            if low[here] == index[here]:
                at = len(opened) - 1
                while opened[at] != here:
                    at -= 1
                found.append(sorted(opened[at:]))
                for member in opened[at:]:
                    closed[member] = True
                del opened[at:]
            if not walk:
                break
            low[walk[-1][0]] = min(low[walk[-1][0]], low[here])
    return found


def is_circular(component: Sequence[int], steps: Sequence[Sequence[int]]) -> bool:
    """Returns whether a component of ``components`` holds a cycle, perhaps a node that leads to itself."""
    return len(component) > 1 or component[0] in steps[component[0]]


def circle(component: Sequence[int], steps: Sequence[Sequence[int]]) -> list[int]:
    """Returns one cycle of a circular component, which starts and ends with its smallest node."""
    inside = set(component)
    walk: dict[int, int] = {}
    node = component[0]
    while node not in walk:
        walk[node] = len(walk)
        node = min(target for target in steps[node] if target in inside)
    cycle = list(walk)[walk[node] :]
    turn = cycle.index(min(cycle))
    return [*cycle[turn:], *cycle[: turn + 1]]


def spell(cycle: Sequence[str]) -> str:
    """Returns a path of ids as text, its middle left out where it is long."""
    if len(cycle) <= _SHOWN:
        return " -> ".join(cycle)
    half = _SHOWN // 2
    return f"{' -> '.join(cycle[:half])} -> ... -> {' -> '.join(cycle[-half:])} ({len(cycle) - 1} ids)"
