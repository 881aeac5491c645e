"""Order and cycles of a directed graph, without recursion: chains are short in real files, not in hostile ones."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["cycles", "settle", "spell"]

_SHOWN = 12  # ids of a cycle spelled out in a message; error objects hold all


def settle(steps: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Returns the nodes, each behind all its steps, and ascending those on a cycle or leading to one."""
    waiting = [len(targets) for targets in steps]
    users: list[list[int]] = [[] for _ in steps]
    for node, targets in enumerate(steps):
        for target in targets:
            users[target].append(node)
    order = [node for node, count in enumerate(waiting) if not count]
    for node in order:  # grows while it is read
        for user in users[node]:
            waiting[user] -= 1
            if not waiting[user]:
                order.append(user)
    return order, [node for node, count in enumerate(waiting) if count]


def cycles(steps: Sequence[Sequence[int]], stuck: Sequence[int]) -> list[list[int]]:
    """Returns disjoint cycles among the ``stuck`` nodes of ``settle``, at least one.

    Each starts and ends with its smallest node. Cutting them may leave others, for the next round.
    """
    remaining = set(stuck)
    seen: set[int] = set()
    found = []
    for node in stuck:
        walk: dict[int, int] = {}
        while node not in seen:
            seen.add(node)
            walk[node] = len(walk)
            node = min(target for target in steps[node] if target in remaining)
        if node in walk:
            cycle = list(walk)[walk[node] :]
            turn = cycle.index(min(cycle))
            found.append([*cycle[turn:], *cycle[: turn + 1]])
    return found


def spell(cycle: Sequence[str]) -> str:
    """Returns a path of ids as text, its middle left out where it is long."""
    if len(cycle) <= _SHOWN:
        return " -> ".join(cycle)
    half = _SHOWN // 2
    return f"{' -> '.join(cycle[:half])} -> ... -> {' -> '.join(cycle[-half:])} ({len(cycle) - 1} ids)"
