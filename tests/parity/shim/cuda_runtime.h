// The part of CUDA that our kernels use, on a CPU: each thread of a block is a fibre, blocks run one after another.
//
// A fibre runs until a barrier or a collective of its warp, or, at random, until an atomic. Which fibre goes on next is
// drawn from a seed: a kernel that lacks a barrier gives other results under some seed. Told as faults: a barrier that
// some threads pass and others wait for, lanes that meet at different collectives, and a lane that left while others of
// its warp wait. Blocks come in an order drawn from the seed too, and shared memory keeps what the block before left.
#pragma once
#include <ucontext.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

#define __global__
#define __device__
#define __forceinline__ inline
#define __restrict__
#define __launch_bounds__(...)
#define __shared__ static  // one block at a time

namespace emulation {
struct Index {
  unsigned x = 0, y = 0, z = 0;
};
}  // namespace emulation
inline emulation::Index threadIdx, blockIdx, blockDim, gridDim;

namespace emulation {
enum State { READY, AT_BLOCK, AT_WARP, GONE };
struct Fibre {
  ucontext_t context;
  std::vector<char> stack;
  State state = GONE;
  int collective = 0;
  uint64_t value = 0;
};
inline std::vector<Fibre> fibres;
inline ucontext_t scheduler;
inline unsigned current = 0;
inline uint64_t noise = 1;
inline const char* fault = nullptr;
inline long long only = -1;  // the one block that is run, of a grid that may be huge; all of them below 0

inline unsigned draw(unsigned below) {
  noise ^= noise << 13;
  noise ^= noise >> 7;
  noise ^= noise << 17;
  return (unsigned)((noise >> 16) % below);
}

inline void stop_here(State state, int collective) {
  Fibre& self = fibres[current];
  self.state = state;
  self.collective = collective;
  swapcontext(&self.context, &scheduler);
}

// Lets go the fibres in [first, last) if all of them wait in `state`; those that are gone count as waiting for a block.
inline bool release(unsigned first, unsigned last, State state) {
  unsigned waiting = 0, gone = 0;
  int collective = 0;
  for (unsigned at = first; at < last; at++) {
    if (fibres[at].state == GONE) gone++;
    else if (fibres[at].state != state) return false;
    else {
      if (waiting++ && fibres[at].collective != collective) fault = "lanes of a warp meet at different collectives";
      collective = fibres[at].collective;
    }
  }
  if (!waiting) return false;
  if (gone && state == AT_WARP) fault = "a lane left while others of its warp wait for it";
  for (unsigned at = first; at < last; at++)
    if (fibres[at].state == state) fibres[at].state = READY;
  return true;
}

template <class Kernel>
struct Entry {
  static inline const Kernel* kernel;
  static void run() {
    (*kernel)();
    stop_here(GONE, 0);
  }
};

// Runs every block of the grid; returns null, or what is wrong with the kernel.
template <class Kernel>
const char* launch(uint64_t seed, unsigned grid_x, unsigned grid_y, unsigned threads, const Kernel& kernel) {
  noise = seed * 0x9e3779b97f4a7c15ull + 0x2545f4914f6cdd1dull;
  fault = nullptr;
  blockDim.x = threads;
  gridDim.x = grid_x;
  gridDim.y = grid_y;
  if (fibres.size() < threads) fibres.resize(threads);
  Entry<Kernel>::kernel = &kernel;
  std::vector<unsigned> blocks(only < 0 ? grid_x * grid_y : 1), ready;
  for (unsigned at = 0; at < blocks.size(); at++) blocks[at] = only < 0 ? at : (unsigned)only;
  for (unsigned at = (unsigned)blocks.size(); at > 1; at--) std::swap(blocks[at - 1], blocks[draw(at)]);
  for (unsigned block : blocks) {
    blockIdx.x = block % grid_x;
    blockIdx.y = block / grid_x;
    for (unsigned at = 0; at < threads; at++) {
      Fibre& fibre = fibres[at];
      fibre.stack.resize(64 << 10);
      getcontext(&fibre.context);
      fibre.context.uc_stack.ss_sp = fibre.stack.data();
      fibre.context.uc_stack.ss_size = fibre.stack.size();
      fibre.context.uc_link = nullptr;
      makecontext(&fibre.context, (void (*)())Entry<Kernel>::run, 0);
      fibre.state = READY;
    }
    while (true) {
      ready.clear();
      bool alive = false;
      for (unsigned at = 0; at < threads; at++) {
        if (fibres[at].state == READY) ready.push_back(at);
        alive |= fibres[at].state != GONE;
      }
      if (!alive) break;
      if (ready.empty()) {
        bool moved = false;
        for (unsigned first = 0; first < threads; first += 32)
          moved |= release(first, first + 32 < threads ? first + 32 : threads, AT_WARP);
        if (!moved) moved = release(0, threads, AT_BLOCK);
        if (!moved) fault = "some threads wait at a barrier that others never reach";
        if (fault) return fault;
        continue;
      }
      // All that are ready go on, in an order of chance; they stop at random places only inside atomics.
      for (unsigned left = (unsigned)ready.size(); left; left--) {
        unsigned pick = draw(left);
        current = ready[pick];
        ready[pick] = ready[left - 1];
        threadIdx.x = current;
        swapcontext(&scheduler, &fibres[current].context);
      }
    }
  }
  return nullptr;
}

template <class T>
T exchange(int collective, T value, unsigned lane) {
  static_assert(sizeof(T) <= 8, "one word a lane");
  const unsigned self = current;
  fibres[self].value = 0;
  memcpy(&fibres[self].value, &value, sizeof value);
  stop_here(AT_WARP, collective);
  const uint64_t taken = fibres[(self & ~31u) | (lane & 31)].value;
  stop_here(AT_WARP, -collective);  // nobody writes the next value before all have read this one
  T result;
  memcpy(&result, &taken, sizeof result);
  return result;
}

// A place where another thread may come between.
inline void between() {
  if (draw(4) == 0) stop_here(READY, 0);
}
}  // namespace emulation

inline void __syncthreads() { emulation::stop_here(emulation::AT_BLOCK, 0); }
inline void __syncwarp(unsigned = ~0u) { emulation::stop_here(emulation::AT_WARP, 1); }
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return emulation::exchange(2, value, (emulation::current & 31) ^ (unsigned)mask);
}
inline unsigned __ballot_sync(unsigned, int vote) {
  const unsigned self = emulation::current;
  emulation::fibres[self].value = vote != 0;
  emulation::stop_here(emulation::AT_WARP, 3);
  unsigned votes = 0;
  for (unsigned lane = 0; lane < 32 && (self & ~31u) + lane < blockDim.x; lane++)
    votes |= (unsigned)emulation::fibres[(self & ~31u) + lane].value << lane;
  emulation::stop_here(emulation::AT_WARP, -3);
  return votes;
}
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
template <class T>
T atomicAdd(T* at, T more) {
  emulation::between();
  const T before = *at;
  *at = before + more;
  return before;
}
template <class T>
T atomicOr(T* at, T more) {
  emulation::between();
  const T before = *at;
  *at = before | more;
  return before;
}
