// The op `assign`: the greatest total value of a one-to-one matching between the statements of a query and of a case.
//
// One warp takes one pair at a time. It joins the query's rows of the pair table with the case's kinds, which gives the
// hypotheses row by row, and then matches the query's statements one after another by shortest augmenting paths
// (Hungarian method, in whole numbers). A search touches only columns that can be reached, so that it never leaves a
// connected component. Whichever optimal matching is found, the total is the same.
//
// Invariants of the duals: row_dual[r] + column_dual[c] >= value of each hypothesis (r, c), with equality where r and c
// are partners; both are 0 or more; 0 for rows without a partner that were treated, and for columns without one. So
// their sum is the optimum.

typedef long long i64;

#define THREADS 128
#define BLOCKS 6  // on a multiprocessor: leaves 80 registers for a thread, and none is spilled
#define WARPS (THREADS / 32)
#ifndef POCKET
#define POCKET 4096  // bytes of shared memory that a warp has for its pair; greater pairs use scratch memory
#endif
#define ALL 0xffffffffu
#define FAR 0x7fffffffffffffffLL

// Bytes for a pair without its hypotheses, and for each of these. The launcher counts the same.
#define FIXED_BYTES(rows, columns) (8 + 20 * (i64)(rows) + 28 * (i64)(columns))
#define HYPOTHESIS_BYTES 12

struct Space {
  i64* row_start;       // [rows + 1], first hypothesis of each row
  i64* row_dual;        // [rows]
  i64* column_dual;     // [columns]
  i64* distance;        // [columns], from the row that is being matched; FAR where not reached
  i64* value;           // [room], of each hypothesis
  int* column;          // [room]
  int* row_partner;     // [rows], column, or -1
  int* column_partner;  // [columns], row, or -1
  int* reached_from;    // [columns], row before on the path
  int* reached;         // [columns], the columns reached; those settled stand first
};

__device__ __forceinline__ Space lay_out(char* base, int rows, int columns, i64 room) {
  Space space;
  space.row_start = (i64*)base;
  space.row_dual = space.row_start + rows + 1;
  space.column_dual = space.row_dual + rows;
  space.distance = space.column_dual + columns;
  space.value = space.distance + columns;
  space.column = (int*)(space.value + room);
  space.row_partner = space.column + room;
  space.column_partner = space.row_partner + rows;
  space.reached_from = space.column_partner + columns;
  space.reached = space.reached_from + columns;
  return space;
}

// Returns the first place in [low, high) that holds `wanted` or more, or `high`.
__device__ __forceinline__ i64 first_from(const int* __restrict__ held, i64 low, i64 high, int wanted) {
  while (low < high) {
    i64 middle = low + ((high - low) >> 1);
    if (held[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

// Number of set bits below this lane.
__device__ __forceinline__ int place_of(unsigned votes, int lane) { return __popc(votes & ((1u << lane) - 1u)); }

// Writes the hypotheses of a pair, as far as there is room, and returns how many there are. The shorter of (row of the
// table, kinds of the case) is looked up in the longer. Of equal kinds of a case the first counts, as in the reference.
__device__ __forceinline__ i64 join(
    const i64* __restrict__ table_ptr, const int* __restrict__ table_stored, const i64* __restrict__ table_value,
    const i64* __restrict__ query_rows, int rows, const int* __restrict__ kinds, int columns, const Space& space,
    i64 room, int lane) {
  i64 found = 0;
  for (int row = 0; row < rows; row++) {
    if (lane == 0) space.row_start[row] = found;
    const i64 number = query_rows[row], low = table_ptr[number], high = table_ptr[number + 1];
    const bool by_table = high - low < columns;
    const i64 steps = by_table ? high - low : columns;
    for (i64 step = 0; step < steps; step += 32) {
      const i64 at = step + lane;
      bool hit = at < steps;
      i64 entry = low + at, column = at;
      if (hit && by_table) {
        const int kind = table_stored[entry];
        column = first_from(kinds, 0, columns, kind);
        hit = column < columns && kinds[column] == kind;
      } else if (hit) {
        const int kind = kinds[column];
        entry = first_from(table_stored, low, high, kind);
        hit = entry < high && table_stored[entry] == kind && (column == 0 || kinds[column - 1] != kind);
      }
      const unsigned votes = __ballot_sync(ALL, hit);
      const i64 place = found + place_of(votes, lane);
      if (hit && place < room) {
        space.column[place] = (int)column;
        space.value[place] = table_value[entry];
      }
      found += __popc(votes);
    }
  }
  if (lane == 0) space.row_start[rows] = found;
  return found;
}

// Gives row `fresh` a partner, or takes one away from a row that can spare it best.
__device__ __forceinline__ void match(const Space& space, int fresh, int lane) {
  const i64 begin = space.row_start[fresh], end = space.row_start[fresh + 1];
  if (begin == end) return;
  i64 top = 0;  // the most that a column offers over its own dual
  for (i64 at = begin + lane; at < end; at += 32) {
    const i64 offer = space.value[at] - space.column_dual[space.column[at]];
    top = offer > top ? offer : top;
  }
  for (int step = 16; step; step >>= 1) {
    const i64 other = __shfl_xor_sync(ALL, top, step);
    top = other > top ? other : top;
  }

  int row = fresh, leaver = fresh, target = -1, reached = 0, settled = 0;
  i64 base = 0, dual = top, leave = top;  // leave: least cost of a reached row going without a partner
  i64 length;
  while (true) {
    const i64 stop = space.row_start[row + 1];
    for (i64 from = space.row_start[row]; from < stop; from += 32) {
      const i64 at = from + lane;
      bool first = false;
      int column = 0;
      if (at < stop) {  // a row holds each column once: no two lanes meet
        column = space.column[at];
        const i64 known = space.distance[column], now = base + dual + space.column_dual[column] - space.value[at];
        first = known == FAR;
        if (now < known) {  // never so for a settled column: paths only get longer
          space.distance[column] = now;
          space.reached_from[column] = row;
        }
      }
      const unsigned votes = __ballot_sync(ALL, first);
      if (first) space.reached[reached + place_of(votes, lane)] = column;
      reached += __popc(votes);
    }
    __syncwarp();

    i64 nearest = FAR;
    int place = 0x7fffffff;
    for (int at = settled + lane; at < reached; at += 32) {
      const i64 distance = space.distance[space.reached[at]];
      if (distance < nearest) {
        nearest = distance;
        place = at;
      }
    }
    for (int step = 16; step; step >>= 1) {
      const i64 distance = __shfl_xor_sync(ALL, nearest, step);
      const int at = __shfl_xor_sync(ALL, place, step);
      if (distance < nearest || (distance == nearest && at < place)) {
        nearest = distance;
        place = at;
      }
    }
    if (nearest >= leave) {
      length = leave;
      break;
    }
    const int column = space.reached[place];
    row = space.column_partner[column];
    if (row < 0) {
      length = nearest;
      target = column;
      break;
    }
    __syncwarp();  // every lane has read the column before its place changes
    if (lane == 0) {
      space.reached[place] = space.reached[settled];
      space.reached[settled] = column;
    }
    settled++;
    base = nearest;
    dual = space.row_dual[row];
    if (base + dual < leave) {
      leave = base + dual;
      leaver = row;
    }
  }

  __syncwarp();  // every lane has read what changes now
  for (int at = lane; at < settled; at += 32) {
    const int column = space.reached[at];
    const i64 rest = length - space.distance[column];
    space.column_dual[column] += rest;
    space.row_dual[space.column_partner[column]] -= rest;
  }
  for (int at = lane; at < reached; at += 32) space.distance[space.reached[at]] = FAR;
  __syncwarp();
  if (lane == 0) {
    space.row_dual[fresh] = top - length;
    if (target < 0 && leaver != fresh) {
      target = space.row_partner[leaver];
      space.row_partner[leaver] = -1;
    }
    while (target >= 0) {
      const int holder = space.reached_from[target], next = space.row_partner[holder];
      space.column_partner[target] = holder;
      space.row_partner[holder] = target;
      target = holder == fresh ? -1 : next;
    }
  }
  __syncwarp();
}

// table_*: the pair table. pair_query, pair_case [count]; a case of -1 is none. query_ptr, query_rows, case_ptr,
// case_kinds: statements of queries and cases. scratch: scratch_bytes for each warp of the grid, a multiple of 8; with 0
// bytes, pairs use shared memory. score [count]: pairs whose score is below 0 are taken, and keep it where the memory
// does not suffice, so that launches with more and more memory settle all of them.
extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) assign_kernel(
    const i64* __restrict__ table_ptr, const int* __restrict__ table_stored, const i64* __restrict__ table_value,
    const i64* __restrict__ pair_query, const i64* __restrict__ pair_case, const i64* __restrict__ query_ptr,
    const i64* __restrict__ query_rows, const i64* __restrict__ case_ptr, const int* __restrict__ case_kinds,
    char* scratch, i64 scratch_bytes, i64* __restrict__ score, i64 count, i64 entity_value) {
  __shared__ i64 pockets[WARPS][POCKET / 8];
  const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
  const i64 worker = (i64)blockIdx.x * WARPS + warp, workers = (i64)gridDim.x * WARPS;
  char* const memory = scratch_bytes ? scratch + worker * scratch_bytes : (char*)pockets[warp];
  const i64 bytes = scratch_bytes ? scratch_bytes : (i64)POCKET;
  for (i64 pair = worker; pair < count; pair += workers) {
    if (score[pair] >= 0) continue;
    const i64 query = pair_query[pair], number = pair_case[pair];
    if (number < 0) {
      if (lane == 0) score[pair] = 0;
      continue;
    }
    const i64 query_at = query_ptr[query], case_at = case_ptr[number];
    const int rows = (int)(query_ptr[query + 1] - query_at), columns = (int)(case_ptr[number + 1] - case_at);
    const i64 left = bytes - FIXED_BYTES(rows, columns);
    if (left < 0) continue;
    __syncwarp();  // the pair before is done with its memory

    const i64 room = left / HYPOTHESIS_BYTES;
    const Space space = lay_out(memory, rows, columns, room);
    const i64 found = join(table_ptr, table_stored, table_value, query_rows + query_at, rows, case_kinds + case_at,
                           columns, space, room, lane);
    if (found > room) continue;
    for (int at = lane; at < rows; at += 32) {
      space.row_dual[at] = 0;
      space.row_partner[at] = -1;
    }
    for (int at = lane; at < columns; at += 32) {
      space.column_dual[at] = 0;
      space.distance[at] = FAR;
      space.column_partner[at] = -1;
    }
    __syncwarp();
    for (int row = 0; row < rows; row++) match(space, row, lane);

    i64 total = 0;
    for (int at = lane; at < rows; at += 32) total += space.row_dual[at];
    for (int at = lane; at < columns; at += 32) total += space.column_dual[at];
    for (int step = 16; step; step >>= 1) total += __shfl_xor_sync(ALL, total, step);
    if (lane == 0) score[pair] = total ? entity_value + total : 0;
  }
}
