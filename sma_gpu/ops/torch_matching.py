"""Exact maximum-weight matchings of many small problems at once, as integer tensor code.

First, pairs that some best matching must have are settled, all at once: one that is worth at least the best other pair
of its row and the best other pair of its column together. Whatever a matching has in their place, exchanging it loses
nothing. What is left falls into components, which are padded to powers of two and solved side by side by shortest
augmenting paths (the Hungarian method in the form of Jonker and Volgenant 1987), step by step for all of a bucket.

A component with more than 64 items on its smaller side goes to the host's solver: the steps of one bucket are serial,
and their number grows with the square of that side. A batched auction needs hundreds of rounds even at 16 and was
dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .matching import best_of_matrix

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["best_totals", "solve"]

_PEELINGS = 8  # rounds of settling pairs; few problems need more than two
_LARGEST = 64  # items on the smaller side that the batched method takes
_CELLS = 1 << 22  # padded matrix cells solved at a time: 32 MiB; changes memory, never an answer
_FAR = 1 << 62


def best_totals(row: Tensor, column: Tensor, value: Tensor, owner: Tensor, owners: int) -> tuple[Tensor, int]:
    """Returns the greatest total value of a one-to-one matching for each owner, int64 ``[owners]``.

    The second number says how many components went to the host's solver.

    Args:
        row: int64 ``[E]``; no row belongs to two owners.
        column: int64 ``[E]``; likewise.
        value: int64 ``[E]``, above 0; each (row, column) stands once.
        owner: int64 ``[E]``.
        owners: number of owners.

    Determinism: the optimum is unique.
    Cost: a few passes over ``E``; then for each bucket of components about as many steps as its longest search has.
    """
    import torch

    totals = torch.zeros(owners, dtype=torch.int64, device=row.device)
    if not len(row):
        return totals, 0
    rows, columns = int(row.max()) + 1, int(column.max()) + 1
    for _ in range(_PEELINGS):
        lead_row, other_row = _two_best(row, value, rows)
        lead_column, other_column = _two_best(column, value, columns)
        edge = torch.arange(len(row), device=row.device)
        sure = (
            (lead_row[row] == edge) & (lead_column[column] == edge) & (value >= other_row[row] + other_column[column])
        )
        totals.scatter_add_(0, owner, torch.where(sure, value, 0))
        gone_row = torch.zeros(rows, dtype=torch.bool, device=row.device)
        gone_column = torch.zeros(columns, dtype=torch.bool, device=row.device)
        gone_row[row[sure]] = True
        gone_column[column[sure]] = True
        left = torch.nonzero(~(gone_row[row] | gone_column[column])).squeeze(1)
        before = len(row)
        row, column, value, owner = row[left], column[left], value[left], owner[left]
        if len(row) in (0, before):
            break
    return totals, _add_components(totals, row, column, value, owner) if len(row) else 0


def _two_best(group: Tensor, value: Tensor, size: int) -> tuple[Tensor, Tensor]:
    """Returns for each group its best edge, and the value of the best other edge (0 if there is none), ``[size]``."""
    import torch

    edge = torch.arange(len(group), device=group.device)
    best = torch.zeros(size, dtype=torch.int64, device=group.device).scatter_reduce_(0, group, value, "amax")
    lead = torch.full((size,), len(group), dtype=torch.int64, device=group.device)
    lead.scatter_reduce_(0, group, torch.where(value == best[group], edge, len(group)), "amin")
    rest = torch.where(lead[group] == edge, 0, value)
    return lead, torch.zeros_like(best).scatter_reduce_(0, group, rest, "amax")


def _add_components(totals: Tensor, row: Tensor, column: Tensor, value: Tensor, owner: Tensor) -> int:
    """Adds the best matching of every component of the edges to the total of its owner.

    Returns how many of them were solved on the host: after all others, whose work has been handed to the device then.
    """
    import torch

    _, row = torch.unique(row, return_inverse=True)
    _, column = torch.unique(column, return_inverse=True)
    rows, columns = int(row.max()) + 1, int(column.max()) + 1
    _, part_of_row = torch.unique(_labels(row, column, rows, columns), return_inverse=True)
    part_of_column = torch.zeros(columns, dtype=torch.int64, device=row.device)
    part_of_column[column] = part_of_row[row]
    part = part_of_row[row]
    parts = int(part.max()) + 1
    owner_of = torch.zeros(parts, dtype=torch.int64, device=row.device)
    owner_of[part] = owner
    high, at_row = _numbered(part_of_row, parts)
    wide, at_column = _numbered(part_of_column, parts)
    y, x = at_row[row], at_column[column]
    flip = high > wide  # the smaller side in front
    y, x = torch.where(flip[part], x, y), torch.where(flip[part], y, x)
    high, wide = torch.minimum(high, wide), torch.maximum(high, wide)

    powers = 2 ** torch.arange(32, device=row.device)
    code = torch.bucketize(high, powers) * 32 + torch.bucketize(wide, powers)
    on_host = 0
    for bucket in torch.unique(code).tolist():  # ascending, so that those for the host come last
        tall, broad = 1 << bucket // 32, 1 << bucket % 32
        members = torch.nonzero(code == bucket).squeeze(1)
        for some in torch.split(members, max(1, _CELLS // (tall * broad))):
            place = torch.full((parts,), -1, dtype=torch.int64, device=row.device)
            place[some] = torch.arange(len(some), device=row.device)
            mine = torch.nonzero(place[part] >= 0).squeeze(1)
            matrix = torch.zeros((len(some), tall, broad), dtype=torch.int64, device=row.device)
            matrix[place[part[mine]], y[mine], x[mine]] = value[mine]
            if tall > _LARGEST:
                solved = [best_of_matrix(m) for m in matrix.cpu().numpy()]
                total = torch.tensor(solved, dtype=torch.int64, device=row.device)
                on_host += len(solved)
            else:
                total = solve(matrix, high[some])
            totals.scatter_add_(0, owner_of[some], total)
    return on_host


def _numbered(part: Tensor, parts: int) -> tuple[Tensor, Tensor]:
    """Returns how many items each part has, int64 ``[parts]``, and for each item its place in its part."""
    import torch

    count = torch.bincount(part, minlength=parts)
    order = torch.argsort(part, stable=True)
    at = torch.empty_like(part)
    at[order] = torch.arange(len(part), device=part.device) - (torch.cumsum(count, 0) - count)[part[order]]
    return count, at


def _labels(row: Tensor, column: Tensor, rows: int, columns: int) -> Tensor:
    """Returns for each row the smallest row of its component, int64 ``[rows]``.

    Labels spread from row to column and back, halving their own paths, until nothing changes.
    """
    import torch

    label = torch.arange(rows, device=row.device)
    while True:
        at_column = torch.full((columns,), rows, dtype=torch.int64, device=row.device)
        at_column.scatter_reduce_(0, column, label[row], "amin")
        spread = label.clone().scatter_reduce_(0, row, at_column[column], "amin")
        spread = spread[spread]
        if torch.equal(spread, label):
            return label
        label = spread


def solve(values: Tensor, high: Tensor) -> Tensor:
    """Returns the greatest total of a one-to-one matching for each matrix, int64 ``[C]``.

    Prices ``u`` of rows and ``v`` of columns keep ``u + v >= value``, with equality on matched pairs and ``v = 0`` at
    free columns. It starts from each row's best value, matched where rows do not want the same column.

    Args:
        values: int64 ``[C, rows, columns]``, 0 or more, with at least as many columns as rows; 0 where no pair is.
        high: int64 ``[C]``, number of rows that count in each.
    """
    import torch

    count, rows, columns = values.shape
    device = values.device
    numbers = torch.arange(rows, device=device)
    counts = numbers < high[:, None]
    u, want = values.max(dim=2)
    v = torch.zeros((count, columns), dtype=torch.int64, device=device)
    claim = torch.where(counts, numbers, rows)
    row_of = torch.full((count, columns), rows, dtype=torch.int64, device=device)
    row_of.scatter_reduce_(1, want, claim, "amin")
    column_of = torch.where((row_of.gather(1, want) == numbers) & counts, want, -1)
    row_of[row_of == rows] = -1

    while True:
        open_ = counts & (column_of < 0)
        at = torch.nonzero(open_.any(dim=1)).squeeze(1)
        if not len(at):
            break
        start = open_[at].int().argmax(dim=1)
        _augment(values, u, v, row_of, column_of, at, start)
    matched = values.gather(2, column_of.clamp(min=0)[:, :, None]).squeeze(2)
    return torch.where(counts, matched, 0).sum(dim=1)


def _augment(
    values: Tensor, u: Tensor, v: Tensor, row_of: Tensor, column_of: Tensor, at: Tensor, start: Tensor
) -> None:
    """Matches one more row of each matrix ``at``, the row ``start``, and mends prices; all in place.

    A search for the shortest path to a free column, in the slack of ``u + v - value``, in all matrices at once.
    """
    import torch

    every = torch.arange(len(at), device=at.device)
    prices = v[at]
    distance = u[at, start][:, None] + prices - values[at, start]
    way = start[:, None].expand_as(distance).clone()
    scanned = torch.zeros_like(distance, dtype=torch.bool)
    searching = torch.ones(len(at), dtype=torch.bool, device=at.device)
    end, length = torch.zeros_like(start), torch.zeros_like(start)
    while True:
        near, column = torch.where(scanned, _FAR, distance).min(dim=1)
        row = row_of[at, column]
        arrived = searching & (row < 0)
        end, length = torch.where(arrived, column, end), torch.where(arrived, near, length)
        searching &= row >= 0
        if not searching.any():
            break
        row = row.clamp(min=0)
        scanned[every, column] |= searching
        reached = (near + u[at, row])[:, None] + prices - values[at, row]
        shorter = searching[:, None] & ~scanned & (reached < distance)
        distance = torch.where(shorter, reached, distance)
        way = torch.where(shorter, row[:, None], way)

    gain = torch.where(scanned, length[:, None] - distance, 0)
    v[at] = prices + gain
    spent = torch.zeros_like(u[at]).scatter_add_(1, row_of[at].clamp(min=0), gain)
    spent[every, start] += length
    u[at] -= spent

    column, walking = end, every
    while len(walking):
        here = at[walking]
        row = way[walking, column]
        before = column_of[here, row]
        row_of[here, column] = row
        column_of[here, row] = column
        more = torch.nonzero(row != start[walking]).squeeze(1)
        walking, column = walking[more], before[more]
