// Both kernels as plain functions of a shared library, for ctypes. Each returns null, or a fault of the kernel.
#include <utility>

#include "cuda_runtime.h"

namespace accumulate_source {
#include "accumulate.cu"
constexpr int threads = THREADS;
}  // namespace accumulate_source
#undef THREADS
#undef BLOCKS
#undef WARPS
namespace assign_source {
#include "assign.cu"
constexpr int threads = THREADS;
}  // namespace assign_source

extern "C" void run_only(long long block) { emulation::only = block; }

extern "C" const char* run_accumulate(
    uint64_t seed, int grid_x, int grid_y, const long long* ptr, const int* cases, const int* best,
    const int* entities, const long long* query_ptr, const int* query_lists, const int* query_entities,
    const unsigned char* among, int* bounds, int* overflow, long long queries, long long stored,
    long long entity_value) {
  return emulation::launch(seed, grid_x, grid_y, accumulate_source::threads, [=] {
    accumulate_source::accumulate_kernel(ptr, cases, best, entities, query_ptr, query_lists, query_entities, among,
                                         bounds, overflow, queries, stored, entity_value);
  });
}

extern "C" const char* run_assign(
    uint64_t seed, int grid_x, const long long* table_ptr, const int* table_stored, const long long* table_value,
    const long long* pair_query, const long long* pair_case, const long long* query_ptr, const long long* query_rows,
    const long long* case_ptr, const int* case_kinds, char* scratch, long long scratch_bytes, long long* score,
    long long count, long long entity_value) {
  return emulation::launch(seed, grid_x, 1, assign_source::threads, [=] {
    assign_source::assign_kernel(table_ptr, table_stored, table_value, pair_query, pair_case, query_ptr, query_rows,
                                 case_ptr, case_kinds, scratch, scratch_bytes, score, count, entity_value);
  });
}
