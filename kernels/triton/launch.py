"""Starts the Triton kernels of the op ``select``. Tensors are those of torch, all on one device."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

__all__ = ["CONFIGURATIONS", "Configuration", "select"]


class Configuration(NamedTuple):
    """The fixed launch configuration of one kernel."""

    constants: dict[str, int]
    warps: int


# One each, so that two runs take the same path. Runs of 1,024 hold the usual shortlists whole.
CONFIGURATIONS: Final = {
    "rank_keys_kernel": Configuration({"TILE": 1024}, 4),
    "shortlist_kernel": Configuration({"TILE": 2048}, 8),
    "sort_kernel": Configuration({"RUN": 1024, "ROWS": 128, "CHUNK": 32}, 4),
    "merge_kernel": Configuration({"RUN": 1024, "STEPS": 11, "ROWS": 128}, 4),
}

_MOST_ROWS = 65535  # of a grid along y


def select(
    bounds: Any,
    per_case: Any,
    self_query: Any,
    tie_rank: Any,
    limit: int,
    *,
    divide_by: str = "",
    factor_shift: int,
    quotient_shift: int,
    configurations: dict[str, Configuration] = CONFIGURATIONS,
    kernels: Any = None,
) -> tuple[Any, Any]:
    """Returns ``(cases int32 [B, L], keys int64 [B, L])``, key descending, then tie rank ascending; then -1 and 0.

    Args:
        bounds: int32 ``[B, N]``.
        per_case: int64 ``[N]``: factors, or the self-scores of the cases where ``divide_by`` says so.
        self_query: int64 ``[B]``.
        tie_rank: int32 ``[N]``, a permutation.
        limit: ``L``, at least 1.
        divide_by: ``max`` or ``min`` of the two self-scores; empty for factors.
        factor_shift: bits that the product with a factor is shifted down by.
        quotient_shift: bits that a bound is shifted up by before it is divided.
        configurations: other launch configurations, for tests.
        kernels: another copy of ``select.py``, for tests.
    """
    import torch

    if kernels is None:
        from . import select as kernels
    queries, stored = bounds.shape
    cases = torch.empty((queries, limit), dtype=torch.int32, device=bounds.device)
    keys = torch.empty((queries, limit), dtype=torch.int64, device=bounds.device)
    if not queries:
        return cases, keys
    if not stored:
        return cases.fill_(-1), keys.zero_()
    # Rows go along y of a grid, which is short: many queries go in parts.
    if queries > _MOST_ROWS:
        for start in range(0, queries, _MOST_ROWS):
            part = slice(start, start + _MOST_ROWS)
            cases[part], keys[part] = select(
                bounds[part],
                per_case,
                self_query[part],
                tie_rank,
                limit,
                divide_by=divide_by,
                factor_shift=factor_shift,
                quotient_shift=quotient_shift,
                configurations=configurations,
                kernels=kernels,
            )
        return cases, keys

    def start_kernel(name: str, grid: tuple[int, ...], *arguments: Any, **more: Any) -> None:
        how = configurations[name]
        getattr(kernels, name)[grid](*arguments, **how.constants, **more, num_warps=how.warps)

    def parts(name: str, constant: str, size: int) -> int:
        return -(-size // configurations[name].constants[constant])

    all_keys = torch.empty((queries, stored), dtype=torch.int64, device=bounds.device)
    start_kernel(
        "rank_keys_kernel",
        (parts("rank_keys_kernel", "TILE", stored), queries),
        bounds,
        per_case,
        self_query,
        all_keys,
        stored,
        BY_FACTOR=not divide_by,
        GREATER=divide_by == "max",
        FACTOR_SHIFT=factor_shift,
        QUOTIENT_SHIFT=quotient_shift,
    )
    count = torch.empty(queries, dtype=torch.int32, device=bounds.device)
    taken = [torch.empty_like(cases), torch.empty_like(keys), torch.empty_like(cases)]  # case, key, tie rank
    ordered = [torch.empty_like(t) for t in taken]
    start_kernel("shortlist_kernel", (queries,), all_keys, tie_rank, *taken, count, stored, limit)
    start_kernel("sort_kernel", (parts("sort_kernel", "ROWS", limit), queries), *taken, count, *ordered, limit)
    start_kernel("merge_kernel", (parts("merge_kernel", "ROWS", limit), queries), *ordered, count, cases, keys, limit)
    return cases, keys
