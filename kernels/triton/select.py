"""Device code of the op ``select``: the exact top ``L`` of every query, in four steps.

1. ``rank_keys_kernel``: bounds to rank keys, once; -1 for cases without a bound.
2. ``shortlist_kernel``: one program a query finds the L-th place by counting digits of 8 bits from the top, first of
   the key, then (where keys are equal) of the tie rank, and takes exactly the cases down to it.
3. ``sort_kernel``: puts each run of ``RUN`` taken cases in rank order; a place is the number of those before it.
4. ``merge_kernel``: the place of a case is the sum, over all runs, of the number of cases before it.

Nothing is sorted by the compiler's sort or topk: those on 64-bit keys compile to more than a megabyte. Loops over
loaded bounds are ``while`` loops, which Triton 3.6 and 3.9 both take. All order is by (key, tie rank), so no two cases
are equal and no order of execution shows.
"""

# Triton's language is not Python's typing: parameters are pointers and scalars of the device.
# mypy: ignore-errors

import triton
import triton.language as tl

__all__ = ["merge_kernel", "rank_keys_kernel", "shortlist_kernel", "sort_kernel"]


@triton.jit(do_not_specialize=["stored"])
def rank_keys_kernel(
    bounds,  # int32 [B, N]
    per_case,  # int64 [N]: factors where BY_FACTOR, else self-scores
    self_query,  # int64 [B]
    keys,  # int64 [B, N], written
    stored,  # N
    BY_FACTOR: tl.constexpr,
    GREATER: tl.constexpr,  # divide by the greater self-score; else by the smaller
    FACTOR_SHIFT: tl.constexpr,
    QUOTIENT_SHIFT: tl.constexpr,
    TILE: tl.constexpr,
):
    """Writes the rank key of each bound. Grid: (tiles of cases, B)."""
    row = tl.program_id(1).to(tl.int64)
    case = tl.program_id(0).to(tl.int64) * TILE + tl.arange(0, TILE)
    inside = case < stored
    bound = tl.load(bounds + row * stored + case, mask=inside, other=0).to(tl.int64)
    held = tl.load(per_case + case, mask=inside, other=1)
    if BY_FACTOR:
        key = (bound * held) >> FACTOR_SHIFT
    else:
        own = tl.load(self_query + row)
        divisor = tl.maximum(held, own) if GREATER else tl.minimum(held, own)
        key = (bound << QUOTIENT_SHIFT) // tl.maximum(divisor, 1)
    tl.store(keys + row * stored + case, tl.where(bound > 0, key, -1), mask=inside)


@triton.jit
def _settle(counts, need, prefix):
    """Returns ``prefix`` and the digit of the ``need``-th greatest, how many have it, how many of these are needed."""
    digit = tl.arange(0, 256)
    down_to = tl.cumsum(counts, 0, reverse=True)  # with this digit or a greater one
    found = tl.sum((down_to >= need).to(tl.int32), 0) - 1
    having = tl.sum(tl.where(digit == found, counts, 0), 0)
    above = tl.sum(tl.where(digit == found, down_to, 0), 0) - having
    return (prefix << 8) | found.to(tl.int64), having, need - above


@triton.jit(do_not_specialize=["stored", "limit"])
def shortlist_kernel(
    keys,  # int64 [B, N]
    tie_rank,  # int32 [N]
    taken_case,  # int32 [B, L], written up to the number taken
    taken_key,  # int64 [B, L], likewise
    taken_rank,  # int32 [B, L], likewise
    count,  # int32 [B], written: number taken
    stored,  # N
    limit,  # L
    TILE: tl.constexpr,
):
    """Takes the ``limit`` best cases of a query, in no order. Grid: (B,)."""
    row = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, TILE)
    keys += row * stored
    last = stored.to(tl.int64)

    able = tl.zeros([], tl.int32)
    top = tl.zeros([], tl.int64)
    start = tl.zeros([], tl.int64)
    while start < last:
        key = tl.load(keys + start + lane, mask=start + lane < last, other=-1)
        able += tl.sum((key >= 0).to(tl.int32), 0)
        top = tl.maximum(top, tl.max(key, 0))
        start += TILE

    need = tl.minimum(able, limit)
    floor = tl.zeros([], tl.int64)  # taken: keys above it, and those equal to it whose reversed rank reaches rank_floor
    rank_floor = tl.zeros([], tl.int64)
    if able > need:
        shift = tl.zeros([], tl.int32) + 56
        while (shift > 0) & ((top >> shift) == 0):
            shift -= 8
        having = able
        settled = False
        while not settled:
            counts = tl.zeros([256], tl.int32)
            start = tl.zeros([], tl.int64)
            while start < last:
                key = tl.load(keys + start + lane, mask=start + lane < last, other=-1)
                member = (key >= 0) & (((key >> shift) >> 8) == floor)
                counts += tl.histogram(((key >> shift) & 255).to(tl.int32), 256, mask=member)
                start += TILE
            floor, having, need = _settle(counts, need, floor)
            settled = (shift == 0) | (having == need)
            shift -= 8
        floor = floor << (shift + 8)

        if having > need:  # more cases of exactly this key than places: those of the smallest tie ranks
            shift = tl.zeros([], tl.int32) + 24
            settled = False
            while not settled:
                counts = tl.zeros([256], tl.int32)
                start = tl.zeros([], tl.int64)
                while start < last:
                    inside = start + lane < last
                    key = tl.load(keys + start + lane, mask=inside, other=-1)
                    back = 0x7FFFFFFF - tl.load(tie_rank + start + lane, mask=inside & (key == floor), other=0)
                    member = (key == floor) & (((back >> shift) >> 8).to(tl.int64) == rank_floor)
                    counts += tl.histogram((back >> shift) & 255, 256, mask=member)
                    start += TILE
                rank_floor, having, need = _settle(counts, need, rank_floor)
                settled = (shift == 0) | (having == need)
                shift -= 8
            rank_floor = rank_floor << (shift + 8)

    done = tl.zeros([], tl.int64)
    start = tl.zeros([], tl.int64)
    while start < last:
        inside = start + lane < last
        key = tl.load(keys + start + lane, mask=inside, other=-1)
        rank = tl.load(tie_rank + start + lane, mask=inside & (key >= floor), other=0)
        take = (key > floor) | ((key == floor) & ((0x7FFFFFFF - rank).to(tl.int64) >= rank_floor))
        place = row * limit + done + tl.cumsum(take.to(tl.int32), 0) - 1
        tl.store(taken_case + place, (start + lane).to(tl.int32), mask=take)
        tl.store(taken_key + place, key, mask=take)
        tl.store(taken_rank + place, rank, mask=take)
        done += tl.sum(take.to(tl.int32), 0)
        start += TILE
    tl.store(count + row, done.to(tl.int32))


@triton.jit(do_not_specialize=["limit"])
def sort_kernel(
    taken_case,  # int32 [B, L]
    taken_key,  # int64 [B, L]
    taken_rank,  # int32 [B, L]
    count,  # int32 [B]
    sorted_case,  # int32 [B, L], written up to count
    sorted_key,  # int64 [B, L], likewise
    sorted_rank,  # int32 [B, L], likewise
    limit,  # L
    RUN: tl.constexpr,  # a multiple of ROWS
    ROWS: tl.constexpr,
    CHUNK: tl.constexpr,
):
    """Puts each run of ``RUN`` taken cases in rank order. Grid: (parts of ``ROWS`` places, B)."""
    row = tl.program_id(1).to(tl.int64)
    base = row * limit
    held = tl.load(count + row).to(tl.int64)
    own = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    begin = tl.program_id(0).to(tl.int64) * ROWS // RUN * RUN
    end = tl.minimum(begin + RUN, held)
    inside = own < held
    key = tl.load(taken_key + base + own, mask=inside, other=0)
    rank = tl.load(taken_rank + base + own, mask=inside, other=0)
    place = tl.zeros([ROWS], tl.int32)
    start = begin
    while start < end:
        other = start + tl.arange(0, CHUNK)
        there = other < end
        other_key = tl.load(taken_key + base + other, mask=there, other=-1)
        other_rank = tl.load(taken_rank + base + other, mask=there, other=0)
        greater = other_key[None, :] > key[:, None]
        equal = other_key[None, :] == key[:, None]
        before = greater | (equal & (other_rank[None, :] < rank[:, None]))
        place += tl.sum(before.to(tl.int32), 1)
        start += CHUNK
    to = base + begin + place
    tl.store(sorted_case + to, tl.load(taken_case + base + own, mask=inside, other=0), mask=inside)
    tl.store(sorted_key + to, key, mask=inside)
    tl.store(sorted_rank + to, rank, mask=inside)


@triton.jit(do_not_specialize=["limit"])
def merge_kernel(
    sorted_case,  # int32 [B, L]
    sorted_key,  # int64 [B, L]
    sorted_rank,  # int32 [B, L]
    count,  # int32 [B]
    cases,  # int32 [B, L], every place written: -1 beyond count
    keys,  # int64 [B, L], likewise: 0
    limit,  # L
    RUN: tl.constexpr,
    STEPS: tl.constexpr,  # of a bisection in a run: 2^STEPS > RUN
    ROWS: tl.constexpr,
):
    """Writes the taken cases in rank order. Grid: (parts of ``ROWS`` places, B)."""
    row = tl.program_id(1).to(tl.int64)
    base = row * limit
    held = tl.load(count + row).to(tl.int64)
    own = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    inside = own < held
    key = tl.load(sorted_key + base + own, mask=inside, other=0)
    rank = tl.load(sorted_rank + base + own, mask=inside, other=0)
    place = tl.zeros([ROWS], tl.int64)
    begin = tl.zeros([], tl.int64)
    while begin < held:
        low = tl.zeros([ROWS], tl.int64)
        high = low + tl.minimum(begin + RUN, held) - begin
        for _ in tl.static_range(STEPS):
            going = inside & (low < high)
            middle = (low + high) >> 1
            other_key = tl.load(sorted_key + base + begin + middle, mask=going, other=0)
            other_rank = tl.load(sorted_rank + base + begin + middle, mask=going, other=0)
            before = (other_key > key) | ((other_key == key) & (other_rank < rank))
            low = tl.where(going & before, middle + 1, low)
            high = tl.where(going & (before == 0), middle, high)
        place += low
        begin += RUN
    case = tl.load(sorted_case + base + own, mask=inside, other=-1)
    to = base + tl.where(inside, place, own)
    tl.store(cases + to, case, mask=own < limit)
    tl.store(keys + to, key, mask=own < limit)
