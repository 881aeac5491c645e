// The op `accumulate`: folded inverted lists into one row of bounds a query.
//
// A block takes one (query, tile of cases) at a time. It finds by bisection the part of each list that falls into the
// tile, adds the entries up in shared memory, and writes the tile once: no sum touches global memory twice. Sums are of
// whole numbers, so the order in which warps add does not show.
//
// Bounds must stay below 2^31. A sum is kept in 32 bits without sign: the first addition that takes it to 2^31 or more
// starts below 2^31 and adds less than 2^31, so it does not wrap and is seen. The case is then marked, and the mark
// counts only where the case is wanted.

typedef long long i64;

#ifndef TILE
#define TILE 8192  // cases of a tile: 32 KiB of sums
#endif
#ifndef THREADS
#define THREADS 512
#endif
#define BLOCKS 3  // on a multiprocessor: leaves 40 registers for a thread, and none is spilled
#define WARPS (THREADS / 32)
#define LISTS (THREADS / 2)  // lists looked up at a time: one thread for each end
#define LIMIT (1LL << 31)

// Returns the first place in [low, high) whose case is at least `wanted`, or `high`.
__device__ __forceinline__ i64 first_from(const int* __restrict__ cases, i64 low, i64 high, i64 wanted) {
  while (low < high) {
    i64 middle = low + ((high - low) >> 1);
    if (cases[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

// ptr [F + 1], cases and best [entries], entities [N]: the folded lists. query_ptr [B + 1], query_lists [.],
// query_entities [B]. among [B, N] of 0 and 1, or null for all. bounds [B, N]: every cell is written. overflow [B]: set
// to 1 for queries with a bound of 2^31 or more, left alone otherwise.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) accumulate_kernel(
    const i64* __restrict__ ptr, const int* __restrict__ cases, const int* __restrict__ best,
    const int* __restrict__ entities, const i64* __restrict__ query_ptr, const int* __restrict__ query_lists,
    const int* __restrict__ query_entities, const unsigned char* __restrict__ among, int* __restrict__ bounds,
    int* __restrict__ overflow, i64 queries, i64 stored, i64 entity_value) {
  __shared__ unsigned sums[TILE];
  __shared__ unsigned marks[(TILE + 31) / 32];
  __shared__ i64 begin[LISTS];
  __shared__ i64 end[LISTS];
  const int thread = threadIdx.x, lane = thread & 31, warp = thread >> 5;
  const i64 tiles = (stored + TILE - 1) / TILE;

  // Queries lie along x, which runs fastest, so that neighbouring blocks read the same stretch of the lists.
  for (i64 tile = blockIdx.y; tile < tiles; tile += gridDim.y) {
    for (i64 query = blockIdx.x; query < queries; query += gridDim.x) {
      const i64 first = tile * TILE;
      const int width = (int)(stored - first < TILE ? stored - first : TILE);
      __syncthreads();  // the marks of the tile before have been read
      for (int at = thread; at < width; at += THREADS) sums[at] = 0;
      for (int at = thread; at < (TILE + 31) / 32; at += THREADS) marks[at] = 0;

      const i64 stop = query_ptr[query + 1];
      for (i64 at = query_ptr[query]; at < stop; at += LISTS) {
        const int count = (int)(stop - at < LISTS ? stop - at : LISTS);
        __syncthreads();  // sums are zero; the ends of the lists before have been read
        if (thread < 2 * count) {
          const int list = query_lists[at + (thread >> 1)];
          const i64 edge = first_from(cases, ptr[list], ptr[list + 1], first + (thread & 1 ? TILE : 0));
          if (thread & 1) end[thread >> 1] = edge;
          else begin[thread >> 1] = edge;
        }
        __syncthreads();
        // A warp takes a list; where there are fewer lists than warps, several warps share one.
        const int share = count < WARPS ? WARPS / count : 1;
        for (int part = warp; part < count * share; part += WARPS) {
          const int list = part % count;
          const i64 last = end[list];
          for (i64 entry = begin[list] + part / count * 32 + lane; entry < last; entry += 32 * share) {
            const int place = (int)(cases[entry] - first);
            const unsigned more = (unsigned)best[entry];
            const unsigned sum = atomicAdd(&sums[place], more) + more;
            if (sum >= (unsigned)LIMIT) atomicOr(&marks[place >> 5], 1u << (place & 31));
          }
        }
      }
      __syncthreads();

      const i64 own = query_entities[query];
      for (int at = thread; at < width; at += THREADS) {
        const i64 cell = query * stored + first + at;
        const bool wanted = among == nullptr || among[cell] != 0;
        const bool beyond = wanted && (marks[at >> 5] >> (at & 31) & 1u) != 0;
        i64 bound = wanted ? (i64)sums[at] : 0;
        if (bound > 0) {
          const i64 theirs = entities[first + at];
          bound += entity_value * (own < theirs ? own : theirs);
        }
        if (beyond || bound >= LIMIT) overflow[query] = 1;
        bounds[cell] = (int)bound;
      }
    }
  }
}
